import preset from '../../tsdown.preset.ts';

export default { ...preset, entry: { index: 'src/index.ts', testing: 'src/testing/index.ts' } };

import preset from '../../tsdown.preset.ts';

export default {
  ...preset,
  entry: { index: 'src/index.ts', internal: 'src/internal.ts', testing: 'src/testing/index.ts' },
};

import preset from '../../tsdown.preset.ts';

// The scripts are part of the program, as text.
export default { ...preset, loader: { '.lua': 'text' } };

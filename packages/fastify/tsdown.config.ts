export { default } from '../../tsdown.preset.ts';

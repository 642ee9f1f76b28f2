import { defineConfig, type UserConfig } from 'tsdown';

/** How every published package is built. */
const preset: UserConfig = defineConfig({
  entry: 'src/index.ts',
  format: ['esm', 'cjs'],
  platform: 'node',
  target: 'node20',
  dts: true,
  sourcemap: true,
});

export default preset;

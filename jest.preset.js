export default {
  testEnvironment: 'node',
  // Packages load each other's sources: no build before a test, and stack traces in TypeScript.
  testEnvironmentOptions: { customExportConditions: ['@floodgate/source', 'node', 'node-addons'] },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  // swc only strips the types; `tsc` checks them, in the typecheck task.
  transform: {
    '\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } }],
    '\\.lua$': '<rootDir>/../../jest.lua.cjs',
  },
  // No test is about how long it takes, and a busy machine takes long.
  testTimeout: 60_000,
  // The default, babel, reports branches that exist only in swc's output.
  coverageProvider: 'v8',
};

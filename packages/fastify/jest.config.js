import preset from '../../jest.preset.js';

const [[, swc]] = Object.entries(preset.transform);

export default {
  ...preset,
  // Fastify's `inject` requires the package cookie, an ES module, which jest can do only from Node.js 24.9 on.
  transform: { ...preset.transform, '/cookie/.+\\.js$': swc },
  transformIgnorePatterns: ['/node_modules/(?!(.+/)?cookie/)'],
};

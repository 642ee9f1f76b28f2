import type { RequestListener } from 'node:http';
import { pipeline } from 'node:stream';
import { type DenialHandler, rateLimit } from '@floodgate/express';
import type express from 'express';
import type { RequestHandler } from 'express';
import type { Place, Trust } from '../scenario.ts';
import { answerRaw, boom, brokenStream, EVENTS, forbidden, type SetUp } from './set-up.ts';

const TRUST_PROXY: Readonly<Record<Trust, unknown>> = {
  none: false,
  'one-hop': 1,
  loopback: '127.0.0.0/8',
  elsewhere: '10.0.0.0/8',
  all: true,
};

export function expressApp(make: typeof express, setUp: SetUp): RequestListener {
  const app = make();
  app.set('trust proxy', TRUST_PROXY[setUp.trust]);
  app.use((_, response, next) => {
    response.set(setUp.before);
    next();
  });

  const limiters = setUp.limiters.map(({ on, options, handler }) => ({
    on,
    limiter: rateLimit({ ...setUp.common, ...options, ...(handler && { handler: slowDown }) }),
  }));
  const limits = (place: Place): RequestHandler[] =>
    limiters.filter(({ on }) => on.includes(place)).map(({ limiter }) => limiter);
  for (const limiter of limits('app')) app.use(limiter);

  app.get('/hello', ...limits('/hello'), (_, response) => void response.send('hello'));
  app.options('/hello', (_, response) => void response.status(204).end());
  app.get('/json', ...limits('/json'), (_, response) => void response.json({ ok: true }));
  app.post('/echo', ...limits('/echo'), (request, response) => void request.pipe(response));
  app.get('/users/:id', ...limits('/users/:id'), ({ params }, response) => {
    response.send(`user ${params.id}`);
  });
  app.get('/login', ...limits('/login'), (_, response) => void response.send('welcome'));
  app.get('/key', ...limits('/key'), tellKey);
  app.get('/boom', ...limits('/boom'), boom);
  app.get('/forbidden', ...limits('/forbidden'), forbidden);
  app.get('/stream', ...limits('/stream'), (_, response) => {
    response.type('text/event-stream');
    for (const event of EVENTS) response.write(event);
    response.end();
  });
  app.get('/broken', ...limits('/broken'), (_, response) => {
    pipeline(brokenStream(), response, () => {});
  });
  app.get('/hang', ...limits('/hang'), () => {});
  app.get('/raw', ...limits('/raw'), answerRaw);
  app.get(
    '/not-modified',
    ...limits('/not-modified'),
    (_, response) => void response.status(304).end(),
  );
  app.get('/empty', ...limits('/empty'), (_, response) => void response.status(204).end());
  app.get('/cached', ...limits('/cached'), (_, response) => {
    response.set('Cache-Control', 'public, max-age=60').send('cached');
  });

  const api = make.Router();
  for (const limiter of limits('api')) api.use(limiter);
  api.get('/things/:id', ...limits('/api/things/:id'), tellKey);
  app.use('/api', api);
  return app;
}

const tellKey: RequestHandler = ({ rateLimit }, response) => {
  response.send(rateLimit?.tightest.key ?? 'none');
};

const slowDown: DenialHandler = ({ rateLimit }, response) => {
  response.json({ slowDown: rateLimit?.tightest.policy });
};

// Imported before a sample: port 3000 becomes a free one, of which the parent is told, and the clock stands still at
// the time that the document shows, so that every header and every body comes out as it does there.
import { type AddressInfo, Server } from 'node:net';

const { SAMPLE_TIME } = process.env;
if (SAMPLE_TIME !== undefined) Date.now = () => Number(SAMPLE_TIME);

const listen = Server.prototype.listen;
Server.prototype.listen = function listenOnFreePort(this: Server, ...args: unknown[]): Server {
  const [first, ...rest] = args;
  // Fastify tells the port in an object.
  const port = typeof first === 'object' ? (first as { readonly port?: unknown }).port : first;
  if (port !== 3000) return listen.apply(this, args as never);
  this.once('listening', () => process.send?.((this.address() as AddressInfo).port));
  return listen.apply(this, [{ port: 0, host: '127.0.0.1' }, ...rest] as never);
};

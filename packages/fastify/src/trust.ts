import { trustOf } from '@floodgate/http';
import type { FastifyRequest } from 'fastify';

// Fastify does not tell whose word it takes on a client's address: what it makes of a request tells.

/** Whose word Fastify takes. A number of proxies is believed by its first versions; newer ones then trust nobody. */
export function trustedProxiesOf(request: FastifyRequest): 'none' | 'some' | 'all' {
  if (request.ips === undefined) return 'none';
  if (isNumber(request.server) && !isTrusted(request, '192.0.2.1', 1)) return 'none';
  return trustOf((address, hops) => isTrusted(request, address, hops));
}

/** Whether Fastify believes a peer, so many times in a row. */
export function isTrusted(
  request: FastifyRequest,
  address: string | undefined,
  hops: number,
): boolean {
  const forwarded = Array(hops).fill(address ?? '192.0.2.1');
  const raw = {
    socket: { remoteAddress: address },
    headers: { 'x-forwarded-for': forwarded.join() },
  };
  const asked: FastifyRequest = Object.create(request, { raw: { value: raw } });
  return asked.ips?.length === hops + 1;
}

/** Whether `trustProxy` is a number. The options of a server are found by a symbol that is Fastify's own. */
function isNumber(server: object): boolean {
  for (let owner: object | null = server; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const symbols = Object.getOwnPropertySymbols(owner);
    const symbol = symbols.find(({ description }) => description === 'fastify.options');
    if (symbol === undefined) continue;
    const { trustProxy } = Reflect.get(owner, symbol) as { readonly trustProxy?: unknown };
    return typeof trustProxy === 'number';
  }
  return false;
}

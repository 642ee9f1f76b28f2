import { isIPv6 } from 'node:net';
import { invalid } from '@floodgate/core/internal';
import ipaddr from 'ipaddr.js';

/** How many leading bits of an IPv6 address count, unless told otherwise: what one site is commonly given. */
export const IPV6_PREFIX = 56;

/**
 * The one spelling of a client's address, or undefined where the text is none. Ports, brackets and zones go; an
 * IPv4-mapped address becomes the IPv4 address that it is; an IPv6 address becomes the network of its first
 * `ipv6Prefix` bits, since who has one address there has them all.
 *
 * @example
 * canonicalAddress('::FFFF:cb00:7107') // '203.0.113.7'
 * canonicalAddress('[2001:DB8:0:ab12::1]:443') // '2001:db8:0:ab00::/56'
 */
export function canonicalAddress(
  text: string,
  ipv6Prefix: number = IPV6_PREFIX,
): string | undefined {
  // Nearly every address is one of these two: what an IPv4 socket reports, and what a dual-stack socket does.
  if (ipv4Number(text) !== undefined) return text;
  if (text.startsWith('::ffff:') && ipv4Number(text.slice(7)) !== undefined) return text.slice(7);

  const bare = withoutPort(text.trim());
  if (ipv4Number(bare) !== undefined) return bare;
  const address = parseIpv6(bare);
  if (address === undefined) return undefined;
  if (isMapped(address)) return address.toIPv4Address().toString();
  if (ipv6Prefix === 128) return address.toRFC5952String();
  return `${networkOf(address, ipv6Prefix).toRFC5952String()}/${ipv6Prefix}`;
}

/** What {@link fromAddresses} asks of a request: Express, Fastify and Koa all have it, found as their proxy settings say. */
export interface HasAddress {
  readonly ip?: string | undefined;
}

/**
 * A function for `skip` or `when`: whether the client's address is one of these addresses and ranges. IPv4 entries
 * match IPv4-mapped peers too; an IPv6 range, `::/0` included, covers no IPv4 address.
 *
 * @example
 * rateLimit({ limit: 100, window: '1m', skip: fromAddresses(['10.0.0.0/8', '::1']) })
 * @throws FloodgateError `FLOODGATE_INVALID_OPTION` for an entry that is neither an address nor a range
 */
export function fromAddresses(entries: readonly string[]): (request: HasAddress) => boolean {
  if (!Array.isArray(entries)) {
    throw invalid('FLOODGATE_INVALID_OPTION', 'fromAddresses', 'a list of addresses', entries);
  }
  const ranges = entries.map(readRange);
  const ipv4Ranges = ranges.filter((range) => range.kind === 'ipv4');
  const ipv6Ranges = ranges.filter((range) => range.kind === 'ipv6');

  return function isFromAddresses(request) {
    const address = canonicalAddress(request.ip ?? '', 128);
    if (address === undefined) return false;
    const number = ipv4Number(address);
    if (number !== undefined) {
      return ipv4Ranges.some(({ first, last }) => first <= number && number <= last);
    }
    const parsed = ipaddr.IPv6.parse(address);
    return ipv6Ranges.some(({ network, prefix }) => parsed.match(network, prefix));
  };
}

type Range =
  | { readonly kind: 'ipv4'; readonly first: number; readonly last: number }
  | { readonly kind: 'ipv6'; readonly network: ipaddr.IPv6; readonly prefix: number };

function readRange(entry: string, index: number): Range {
  const [text, bits, ...rest] = typeof entry === 'string' ? entry.split('/') : [];
  const prefix = bits === undefined || !/^\d{1,3}$/.test(bits) ? Number.NaN : Number(bits);
  const isRange = bits !== undefined;
  if (text !== undefined && rest.length === 0 && !(isRange && Number.isNaN(prefix))) {
    const number = ipv4Number(text);
    if (number !== undefined) {
      const range = ipv4Range(number, isRange ? prefix : 32);
      if (range !== undefined) return range;
    } else {
      const range = ipv6Range(parseIpv6(text), isRange ? prefix : 128);
      if (range !== undefined) return range;
    }
  }
  throw invalid(
    'FLOODGATE_INVALID_OPTION',
    `fromAddresses[${index}]`,
    "an address or a range such as '192.0.2.1', '10.0.0.0/8', '2001:db8::/32'",
    entry,
  );
}

function ipv4Range(number: number, prefix: number): Range | undefined {
  if (prefix > 32) return undefined;
  const size = 2 ** (32 - prefix);
  const first = number - (number % size);
  return { kind: 'ipv4', first, last: first + size - 1 };
}

function ipv6Range(network: ipaddr.IPv6 | undefined, prefix: number): Range | undefined {
  if (network === undefined || prefix > 128) return undefined;
  if (prefix >= 96 && isMapped(network)) {
    const ipv4 = ipv4Number(network.toIPv4Address().toString());
    return ipv4 === undefined ? undefined : ipv4Range(ipv4, prefix - 96);
  }
  return { kind: 'ipv6', network, prefix };
}

/**
 * The number of an IPv4 address, or undefined. Only the dotted form in decimal is one: `010.0.0.1`, which some
 * programs read as octal, is not.
 */
function ipv4Number(text: string): number | undefined {
  let number = 0;
  let octet = -1;
  let dots = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) {
      if (octet === 0) return undefined;
      octet = octet === -1 ? code - 48 : octet * 10 + code - 48;
      if (octet > 255) return undefined;
    } else if (code === 46 && octet !== -1 && dots < 3) {
      number = number * 256 + octet;
      octet = -1;
      dots += 1;
    } else {
      return undefined;
    }
  }
  return dots === 3 && octet !== -1 ? number * 256 + octet : undefined;
}

/** `192.0.2.1:80` and `[2001:db8::1]:80` without their ports, `[2001:db8::1]` without its brackets. */
function withoutPort(text: string): string {
  if (text.startsWith('[')) return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? text;
  // More than one colon is an IPv6 address, which has no port unless it has brackets.
  const hasOneColon = text.includes(':') && text.indexOf(':') === text.lastIndexOf(':');
  return hasOneColon ? text.replace(/:\d+$/, '') : text;
}

function parseIpv6(text: string): ipaddr.IPv6 | undefined {
  // The parser is more lenient than the standard in what it takes for an embedded IPv4 address.
  if (!isIPv6(text)) return undefined;
  const bare = text.includes('%') ? text.slice(0, text.indexOf('%')) : text;
  return ipaddr.IPv6.parse(bare.includes('.') ? withoutDots(bare) : bare);
}

/** The same address, its last 32 bits in hexadecimal: `::1.2.3.4` is `::102:304`, not `::ffff:1.2.3.4`. */
function withoutDots(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const number = ipv4Number(text.slice(start)) ?? 0;
  return `${text.slice(0, start)}${(number >>> 16).toString(16)}:${(number & 0xffff).toString(16)}`;
}

/** Whether it is an IPv4 address in IPv6 clothes, `::ffff:0:0/96`. Faster than to ask for all kinds of ranges. */
function isMapped({ parts }: ipaddr.IPv6): boolean {
  return parts[5] === 0xffff && parts.slice(0, 5).every((part) => part === 0);
}

function networkOf(address: ipaddr.IPv6, prefix: number): ipaddr.IPv6 {
  return new ipaddr.IPv6(
    address.parts.map((part, i) => {
      const hostBits = Math.min(16, Math.max(0, 16 * (i + 1) - prefix));
      return part & (0xffff << hostBits);
    }),
  );
}

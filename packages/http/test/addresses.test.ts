import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalAddress } from '../src/addresses.ts';
import { fromAddresses } from '../src/index.ts';

describe("a client's address", () => {
  test.each<[string, string]>([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:51234', '203.0.113.7'],
    ['203.0.113.7:5', '203.0.113.7'],
    [' 203.0.113.7 ', '203.0.113.7'],
    ['[203.0.113.7]:5', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    // Not mapped, only written with dots: the same address as `::102:304`.
    ['::1.2.3.4', '::/56'],
    ['::FFFF:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['::FFFF:CB00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['0000:0000:0000:0000:0000:ffff:cb00:7107', '203.0.113.7'],
    ['[::ffff:203.0.113.7]:443', '203.0.113.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['2001:db8:0:ab12::1', '2001:db8:0:ab00::/56'],
    ['[2001:db8:0:ab12::1]:443', '2001:db8:0:ab00::/56'],
    ['[2001:db8:0:ab12::1]', '2001:db8:0:ab00::/56'],
    ['2001:DB8:0:AB12:0:0:0:1', '2001:db8:0:ab00::/56'],
    ['2001:db8:0:ab12::1%eth0', '2001:db8:0:ab00::/56'],
    ['::1', '::/56'],
    ['64:ff9b::203.0.113.7', '64:ff9b::/56'],
  ])('%j is %j', (text, address) => {
    expect(canonicalAddress(text)).toBe(address);
  });

  test.each([
    '',
    'localhost',
    'undefined',
    'unknown',
    '_hidden',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '1.2.3.',
    '.1.2.3',
    '1..2.3',
    '010.0.0.1',
    '1.2.3.04',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4:',
    '1.2.3.4:x',
    '1.2.3.4, 5.6.7.8',
    '::ffff:1.2.3.256',
    '::ffff:01.2.3.4',
    '2001:db8',
    '2001:db8::1::2',
    '[2001:db8::1',
    '2001:db8::1]:443',
    '2001:db8::1/64',
    'g::1',
  ])('%j is none', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });

  test.each<[number, string]>([
    [1, '8000::/1'],
    [16, 'ffff::/16'],
    [48, 'ffff:ffff:ffff::/48'],
    [56, 'ffff:ffff:ffff:ff00::/56'],
    [64, 'ffff:ffff:ffff:ffff::/64'],
    [127, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127'],
    [128, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ])('counts by its first %i bits as %j', (prefix, address) => {
    expect(canonicalAddress('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', prefix)).toBe(address);
  });

  test('is shared by all of one /56, and by nobody else', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, groups, (one, other) => {
        const sameSite = [...one.slice(0, 3), mix(one[3], other[3]), ...other.slice(4)];
        const [a, b, c] = [one, other, sameSite].map((parts) => canonicalAddress(text(parts)));
        expect(c).toBe(a);
        expect(b === a).toBe(site(one) === site(other));
      }),
    );
  });

  test('has one spelling for each address, and is its own', () => {
    const group = fc.constantFrom('0', '0000', '1', 'ab', 'AB', '00ff', 'ffff');
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (parts) => {
        const address = canonicalAddress(parts.join(':'), 128);
        const long = parts.map((part) => part.padStart(4, '0').toUpperCase()).join(':');
        expect(canonicalAddress(long, 128)).toBe(address);
        expect(canonicalAddress(address ?? '', 128)).toBe(address);
      }),
    );
  });
});

describe('fromAddresses', () => {
  const isLocal = fromAddresses(['10.0.0.0/8', '192.0.2.1', '::1', '2001:db8::/32']);

  test.each<[string | undefined, boolean]>([
    ['10.0.0.0', true],
    ['10.255.255.255', true],
    ['9.255.255.255', false],
    ['11.0.0.0', false],
    ['::ffff:10.1.2.3', true],
    ['::ffff:a01:203', true],
    ['192.0.2.1', true],
    ['192.0.2.1:80', true],
    ['192.0.2.2', false],
    ['::1', true],
    ['::2', false],
    ['127.0.0.1', false],
    ['2001:db8:ffff::1', true],
    ['2001:db9::1', false],
    ['', false],
    ['unknown', false],
    [undefined, false],
  ])('%j: %j', (ip, expected) => {
    expect(isLocal({ ip })).toBe(expected);
  });

  test.each<[string[], string, boolean]>([
    [['127.0.0.1'], '::ffff:127.0.0.1', true],
    [['127.0.0.1'], '::1', false],
    [['::/0'], '127.0.0.1', false],
    [['::/0'], '::ffff:127.0.0.1', false],
    [['::/0'], '2001:db8::1', true],
    [['0.0.0.0/0'], '203.0.113.7', true],
    [['0.0.0.0/0'], '::1', false],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['::ffff:10.0.0.0/104'], '11.1.2.3', false],
    [['::ffff:192.0.2.1'], '192.0.2.1', true],
    [['10.1.2.3/8'], '10.9.9.9', true],
    [['203.0.113.7/32'], '203.0.113.7', true],
    [[], '203.0.113.7', false],
  ])('of %j covers %j: %j', (entries, ip, expected) => {
    expect(fromAddresses(entries)({ ip })).toBe(expected);
  });

  test.each<unknown>([
    ['10.0.0.0/33'],
    ['10.0.0.0/-1'],
    ['10.0.0.0/'],
    ['10.0.0.0/8/8'],
    ['10.0.0/8'],
    ['::/129'],
    ['localhost'],
    [''],
    [null],
    '10.0.0.0/8',
    undefined,
  ])('refuses %j when it is made', (entries) => {
    expect(() => fromAddresses(entries as string[])).toThrow(
      expect.objectContaining({
        code: 'FLOODGATE_INVALID_OPTION',
        message: expect.stringContaining('fromAddresses'),
      }),
    );
  });
});

function text(parts: readonly (number | undefined)[]): string {
  return parts.map((part) => (part ?? 0).toString(16)).join(':');
}

/** The first 8 bits of one group and the last 8 of another: a /56 ends between them. */
function mix(high = 0, low = 0): number {
  return (high & 0xff00) | (low & 0x00ff);
}

function site([a, b, c, d = 0]: readonly number[]): string {
  return [a, b, c, d & 0xff00].join(':');
}

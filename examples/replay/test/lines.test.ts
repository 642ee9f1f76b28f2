import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linesOf } from '../src/lines.ts';

async function lines(chunks: Iterable<Buffer>): Promise<string[]> {
  async function* stream(): AsyncGenerator<Buffer> {
    yield* chunks;
  }
  const all: string[] = [];
  for await (const line of linesOf(stream())) all.push(line);
  return all;
}

test('lines are the same wherever the pieces of a file are cut', async () => {
  const line = fc.stringMatching(/^[^\r\n]{0,20}$/);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 10 }),
      fc.array(fc.nat({ max: 300 })),
      async (ended, cuts) => {
        const file = Buffer.from(ended.flat().join(''), 'utf8');
        const edges = [0, ...cuts.filter((cut) => cut < file.length), file.length];
        edges.sort((a, b) => a - b);
        const chunks = edges.slice(1).map((end, i) => file.subarray(edges[i], end));
        const expected = ended.map(([text]) => Buffer.from(text, 'utf8').toString('latin1'));
        expect(await lines(chunks)).toEqual(expected);
      },
    ),
  );
});

test('the last line needs no end', async () => {
  expect(await lines([Buffer.from('a\nb')])).toEqual(['a', 'b']);
  expect(await lines([Buffer.from('a\nb\n')])).toEqual(['a', 'b']);
  expect(await lines([])).toEqual([]);
});

test('only a line feed ends a line, not what Unicode calls an end', async () => {
  const text = 'a\u2028b\u2029c\rd\u0085e';
  expect(await lines([Buffer.from(`${text}\nf`)])).toEqual([
    Buffer.from(text).toString('latin1'),
    'f',
  ]);
});

test('a line without an end does not fill the memory', async () => {
  const chunk = Buffer.alloc(1_000_000, 'a');
  function* endless(): Generator<Buffer> {
    for (let i = 0; i < 1000; i += 1) yield chunk;
    yield Buffer.from('\nb\n');
  }
  const [long, short] = await lines(endless());
  expect(long?.length).toBeLessThan(100_000);
  expect(short).toBe('b');
});

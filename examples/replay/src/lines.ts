/** Longer than any server writes: what is cut here is no line of a log, and must not fill the memory. */
const LONGEST_LINE = 65_536;

/**
 * The lines of a file of any size, one at a time, however its bytes come in pieces. Each byte is one character, as
 * Node.js reads the head of a request.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = chunk.toString('latin1');
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      yield withoutReturn(rest + text.slice(start, end));
      rest = '';
      start = end + 1;
    }
    rest = (rest + text.slice(start)).slice(0, LONGEST_LINE);
  }
  if (rest !== '') yield withoutReturn(rest);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

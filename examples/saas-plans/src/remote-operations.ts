import type { Inspection, Operations, Whose } from './operations.ts';

/** Where the server is that holds the counts, and what opens its operator's routes. */
export interface Remote {
  readonly url: string;
  readonly token: string;
}

const LONGEST_WAIT_MS = 10_000;

/** By the routes of a server, since counts in its memory are out of a script's reach. */
export function operationsBy({ url, token }: Remote): Operations {
  async function send(method: string, path: string, body?: object): Promise<Response | undefined> {
    const response = await fetch(new URL(path, url), {
      method,
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    const { code, message } = await errorOf(response);
    if (code === 'NOBODY') return undefined;
    throw new Error(message);
  }
  const isDone = async (sent: Promise<unknown>): Promise<boolean> => (await sent) !== undefined;
  return {
    async inspect(whose) {
      const response = await send('GET', pathOf(whose));
      return response && ((await response.json()) as Inspection);
    },
    block: (whose, duration) => isDone(send('POST', `${pathOf(whose)}/block`, { duration })),
    unblock: (whose) => isDone(send('DELETE', `${pathOf(whose)}/block`)),
    reset: (whose) => isDone(send('DELETE', pathOf(whose))),
  };
}

function pathOf({ kind, id }: Whose): string {
  return `/${kind === 'user' ? 'limits' : 'key-limits'}/${encodeURIComponent(id)}`;
}

/** What the server says is wrong; or, where something else listens there, that it is something else. */
async function errorOf(response: Response): Promise<{ code?: string; message: string }> {
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    return { code: error.code, message: error.message };
  } catch {
    return { message: `Expected the server's answer, got status ${response.status}` };
  }
}

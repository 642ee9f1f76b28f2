import type { RequestView } from '../src/index.ts';

/** A request as a test describes it. */
export interface TestRequest {
  readonly method?: string;
  readonly address?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly route?: string;
  readonly trustedProxies?: 'none' | 'some' | 'all';
  readonly isPeerTrusted?: boolean;
  user?: string | number | undefined;
}

/** The view of a request that no framework made. Its end is told by hand. */
export class TestView implements RequestView<TestRequest> {
  readonly request: TestRequest;
  readonly raw: object;
  responseEnd = { status: 200, completed: true };
  isClosed = false;
  /** What the response's headers are so far, by their names in lower case. */
  readonly responseHeaders: Record<string, string> = {};
  readonly #listeners = new Set<() => void>();

  /** `raw` is that of another view, where several limiters meet one request. */
  constructor(request: TestRequest = {}, raw: object = {}) {
    this.request = request;
    this.raw = raw;
  }

  get method(): string {
    return this.request.method ?? 'GET';
  }

  get address(): string | undefined {
    return 'address' in this.request ? this.request.address : '203.0.113.7';
  }

  get route(): string | undefined {
    return this.request.route;
  }

  get trustedProxies(): 'none' | 'some' | 'all' {
    return this.request.trustedProxies ?? 'none';
  }

  get isPeerTrusted(): boolean {
    return this.request.isPeerTrusted ?? false;
  }

  /** How many wait for the end of the response. */
  get listeners(): number {
    return this.#listeners.size;
  }

  header(name: string): string | undefined {
    return this.request.headers?.[name];
  }

  responseHeader(name: string): string | undefined {
    return this.responseHeaders[name];
  }

  onClose(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.isClosed = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}

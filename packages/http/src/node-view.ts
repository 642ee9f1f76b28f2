import type { IncomingMessage, ServerResponse } from 'node:http';
import { headerOf, onResponseClose, responseEndOf } from './node-http.ts';
import type { ResponseEnd } from './options.ts';
import type { RequestView } from './request-view.ts';

/** A request and its response as Node.js has them: as much of a view as all frameworks on its server have alike. */
export abstract class NodeView<Request> implements RequestView<Request> {
  readonly request: Request;
  readonly raw: IncomingMessage;
  protected readonly response: ServerResponse;
  abstract readonly address: RequestView<Request>['address'];
  abstract readonly route: RequestView<Request>['route'];
  abstract readonly trustedProxies: RequestView<Request>['trustedProxies'];
  abstract readonly isPeerTrusted: RequestView<Request>['isPeerTrusted'];

  constructor(request: Request, raw: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.raw = raw;
    this.response = response;
  }

  get method(): string {
    return this.raw.method as string;
  }

  get isClosed(): boolean {
    return this.response.closed || this.raw.socket.destroyed;
  }

  get responseEnd(): ResponseEnd {
    return responseEndOf(this.response);
  }

  header(name: string): string | undefined {
    return headerOf(this.raw, name);
  }

  responseHeader(name: string): string | undefined {
    const value = this.response.getHeader(name);
    return Array.isArray(value) ? value.join(', ') : value?.toString();
  }

  onClose(listener: () => void): () => void {
    return onResponseClose(this.response, listener);
  }
}

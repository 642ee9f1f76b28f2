import type { ErrorRequestHandler, Request, Response } from 'express';

export function sendError(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}

export function answerNotFound({ method, baseUrl, path }: Request, response: Response): void {
  sendError(response, 404, 'NOT_FOUND', `There is no ${method} ${baseUrl}${path}.`);
}

/** A client's mistake is told to it, one of ours to the log. */
export function answerErrors(log: (line: string) => void): ErrorRequestHandler {
  return (error: Error & { readonly status?: number }, _request, response, next) => {
    if (response.headersSent) {
      next(error);
    } else if (error.status !== undefined && error.status < 500) {
      sendError(response, error.status, 'BAD_REQUEST', error.message);
    } else {
      log(`failed  ${error.message}`);
      sendError(response, 500, 'INTERNAL_ERROR', 'Something went wrong on our side.');
    }
  };
}

import type { ErrorRequestHandler } from 'express';

/** Answers every error with a 500 that says its code, and keeps it in a list. */
export function tellErrors(seen: unknown[] = []): ErrorRequestHandler {
  // Express knows an error handler by its four parameters.
  return (error, _request, response, _next) => {
    seen.push(error);
    response.status(500).json({ code: error?.code });
  };
}

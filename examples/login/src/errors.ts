import type { NextFunction, Request, Response } from 'express';

export function sendError(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}

export function answerNotFound({ method, path }: Request, response: Response): void {
  sendError(response, 404, 'NOT_FOUND', `There is no ${method} ${path}.`);
}

/** Express knows an error handler by its four parameters. */
export function answerError(
  error: Error & { readonly status?: number; readonly expose?: boolean },
  _request: Request,
  response: Response,
  next: NextFunction,
): void {
  // A body that is no JSON, say. What is nobody's fault but ours goes to Express, which logs it and answers 500.
  if (response.headersSent || error.expose !== true) next(error);
  else sendError(response, error.status ?? 400, 'BAD_REQUEST', error.message);
}

import type { Context, Next } from 'koa';

/** Lets scripts of every origin in, as `@koa/cors` does in a larger application. */
export async function cors(ctx: Context, next: Next): Promise<void> {
  ctx.set('Access-Control-Allow-Origin', '*');
  if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') {
    await next();
    return;
  }
  ctx.set('Access-Control-Allow-Methods', 'GET, POST');
  ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type');
  ctx.status = 204;
}

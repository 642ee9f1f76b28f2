// Older versions, installed beside the newest: the types of the newest fit them, as far as the apps go.

declare module 'express4' {
  import express from 'express';
  export default express;
}

declare module 'koa2' {
  import Koa from 'koa';
  export default Koa;
}

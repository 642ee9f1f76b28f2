import express from 'express';
import express4 from 'express4';
import { fastify } from 'fastify';
import { fastify as fastify50 } from 'fastify50';
import Koa from 'koa';
import Koa2 from 'koa2';
import type { Framework } from '../frameworks.ts';
import { expressApp } from './express.ts';
import { fastifyApp } from './fastify.ts';
import { koaApp } from './koa.ts';
import type { MakeApp } from './set-up.ts';

export const makeApp: Readonly<Record<Framework, MakeApp>> = {
  'Express 4': (setUp) => expressApp(express4, setUp),
  'Express 5': (setUp) => expressApp(express, setUp),
  'Fastify 5.0': (setUp) => fastifyApp(fastify50 as unknown as typeof fastify, setUp),
  'Fastify 5': (setUp) => fastifyApp(fastify, setUp),
  'Koa 2': (setUp) => koaApp(Koa2, setUp),
  'Koa 3': (setUp) => koaApp(Koa, setUp),
};

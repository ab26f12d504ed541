// The wire objects by name, for documents that refer to them; what each one is stands in its own file.
import type { TSchema } from 'typebox';
import * as certificate from './certificate.ts';
import * as cluster from './cluster.ts';
import * as container from './container.ts';
import * as containerExec from './container-exec.ts';
import * as envelope from './envelope.ts';
import * as event from './event.ts';
import * as image from './image.ts';
import * as network from './network.ts';
import * as operation from './operation.ts';
import * as pool from './pool.ts';
import * as profile from './profile.ts';
import * as server from './server.ts';
import * as snapshot from './snapshot.ts';
import * as volume from './volume.ts';

const modules: readonly object[] = [
  envelope,
  server,
  certificate,
  container,
  containerExec,
  snapshot,
  image,
  network,
  operation,
  event,
  profile,
  pool,
  volume,
  cluster,
];

/** Every exported schema: those begin with a capital, all else (tables, lists of words) does not. */
export const schemas: ReadonlyMap<string, TSchema> = new Map(
  modules
    .flatMap((module) => Object.entries(module) as [string, TSchema][])
    .filter(([name, value]) => /^[A-Z]/.test(name) && typeof value === 'object'),
);

// The wire objects by name, for documents that refer to them; each has its own file.
import type { TSchema } from 'typebox';
import * as certificate from '../server/certificate.ts';
import * as cluster from '../cluster/cluster.ts';
import * as container from '../container/container.ts';
import * as containerExec from '../container/container-exec.ts';
import * as envelope from '../envelope.ts';
import * as event from '../event.ts';
import * as image from '../image/image.ts';
import * as network from '../network/network.ts';
import * as networkAcl from '../network/network-acl.ts';
import * as operation from '../operation.ts';
import * as pool from '../storage/pool.ts';
import * as project from '../project/project.ts';
import * as profile from '../container/profile.ts';
import * as recovery from '../server/recovery.ts';
import * as server from '../server/server.ts';
import * as snapshot from '../container/snapshot.ts';
import * as volume from '../storage/volume.ts';
import * as warning from '../server/warning.ts';

const modules: readonly object[] = [
  envelope,
  server,
  recovery,
  certificate,
  container,
  containerExec,
  snapshot,
  image,
  network,
  networkAcl,
  operation,
  event,
  profile,
  pool,
  volume,
  cluster,
  project,
  warning,
];

/** Every exported schema: their names begin with a capital, unlike other exports (tables, lists of words). */
export const schemas: ReadonlyMap<string, TSchema> = new Map(
  modules
    .flatMap((module) => Object.entries(module) as [string, TSchema][])
    .filter(([name, value]) => /^[A-Z]/.test(name) && typeof value === 'object'),
);

// The initial objects for the writers: two pools, of which one syncs its volumes, an image and a container in each pool.
import { randomBytes } from 'node:crypto';
import { call } from '../../support/daemons/daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { sha256 } from '../../support/images/remotes.ts';
import type { Server } from './writer.ts';

export const pools = { plain: 'plain', synced: 'synced' } as const;
/** In the plain and in the synced pool; each has a file `/content`. */
export const containers = { plain: 'in-plain', synced: 'in-synced' } as const;

const content = randomBytes(100_000);
export const contentSum = sha256(content);
const image = tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory, { name: 'rootfs/content', content });
export const baseImage = sha256(image);

export async function prepare(server: Server): Promise<void> {
  await request(server, 'POST', '/1.0/images', image);
  for (const kind of ['plain', 'synced'] as const) {
    const config: Record<string, string> = kind === 'synced' ? { 'sync.volumes': 'true' } : {};
    await request(server, 'POST', '/1.0/storage-pools', { name: pools[kind], driver: 'dir', config });
    await request(server, 'POST', '/1.0/containers', containerIn(pools[kind], containers[kind]));
  }
}

export function containerIn(pool: string, name: string): object {
  const devices = { root: { type: 'disk', path: '/', pool } };
  return { name, source: { type: 'image', fingerprint: baseImage }, devices };
}

/** Sends a change and waits for its end; returns the ended operation. */
export async function request(
  server: Pick<Server, 'socketPath'>,
  method: string,
  path: string,
  body?: object | Buffer | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const started = await call(server, method, path, body, headers);
  const what = `${method} ${path}`;
  if (started.status >= 300) throw new Error(`${what} answered ${started.status}: ${started.bytes.toString()}`);
  if (started.body?.type !== 'async') return {};
  const { metadata } = await call(server, 'GET', `${started.body.operation}/wait`);
  if (metadata?.status !== 'Success') throw new Error(`${what} ended as ${metadata?.status}: ${metadata?.err}`);
  return (metadata.metadata ?? {}) as Record<string, unknown>;
}

/** SHA-256 of the body of a GET; throws with the answer when it is an error. */
export async function sumOf(server: Pick<Server, 'socketPath'>, path: string): Promise<string> {
  const { status, bytes } = await call(server, 'GET', path);
  if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${bytes.toString().slice(0, 500)}`);
  return sha256(bytes);
}

/** The difference from the acknowledged content. */
export async function differs(
  server: Pick<Server, 'socketPath'>,
  path: string,
  wanted: string,
): Promise<string | undefined> {
  const found = await sumOf(server, path);
  return found === wanted ? undefined : `the content has the SHA-256 ${found} instead of ${wanted}`;
}

// Renames that the pool refuses, because files without a record have the new name or those of the volume are lost: they leave nothing to be
// undone, so that the object can be deleted.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
const pool = join(daemon.dir, 'storage-pools/default');
const volumes = '/1.0/storage-pools/default/volumes/custom';
let count = 0;

interface Renamed {
  readonly path: string;
  /** Where files of that name would be. */
  readonly filesOf: (name: string) => string;
}

async function volume(): Promise<Renamed & { readonly name: string }> {
  const name = `v${(count += 1)}`;
  await daemon.call('POST', volumes, { name });
  return { name, path: `${volumes}/${name}`, filesOf: (other) => join(pool, 'custom', other === '' ? name : other) };
}

async function container(): Promise<Renamed & { readonly name: string }> {
  const name = `c${(count += 1)}`;
  await createContainer(daemon, name);
  const filesOf = (other: string): string => join(pool, 'containers', other === '' ? name : other);
  return { name, path: `/1.0/containers/${name}`, filesOf };
}

async function snapshotOf({ name, path }: Renamed & { readonly name: string }, folder: string): Promise<Renamed> {
  await daemon.ok('POST', `${path}/snapshots`, { name: 's' });
  const filesOf = (other: string): string => join(pool, folder, name, other === '' ? 's' : other);
  return { path: `${path}/snapshots/s`, filesOf };
}

/** The status of a request, or the end of its operation. */
async function end(method: string, path: string, body?: object): Promise<string> {
  const answer = await daemon.call(method, path, body);
  if (answer.status !== 202) return answer.status < 400 ? '' : String(answer.metadata.message);
  return (await daemon.wait(String(answer.body.operation))).err;
}

describe.each([
  ['a custom volume', volume],
  ['a container', container],
  ['a snapshot of a custom volume', async () => snapshotOf(await volume(), 'custom-snapshots')],
  ['a snapshot of a container', async () => snapshotOf(await container(), 'containers-snapshots')],
] as const)('%s', (_what, make) => {
  test('can be deleted after a rename onto files without a record, which stay', async () => {
    const { path, filesOf } = await make();
    const taken = `taken${(count += 1)}`;
    mkdirSync(filesOf(taken));
    expect(await end('POST', path, { name: taken })).toMatch(/exist/);
    expect(await end('DELETE', path)).toBe('');
    expect((await daemon.call('GET', path)).status).toBe(404);
    expect(readdirSync(dirname(filesOf(taken)))).toContain(taken);
  });

  test('is deleted although its files were lost before a rename', async () => {
    const { path, filesOf } = await make();
    rmSync(filesOf(''), { recursive: true });
    expect(await end('POST', path, { name: `other${(count += 1)}` })).not.toBe('');
    expect(await end('DELETE', path)).toBe('');
    expect((await daemon.call('GET', path)).status).toBe(404);
  });
});

// Refreshed copies of custom volumes: on one server and between two, between storage drivers.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { createContainer } from '../../../../support/daemons/daemon.ts';
import { describeTree, twoDaemons, type Side, type TwoDaemons } from '../../../../support/daemons/two-daemons.ts';

const noBtrfs = await btrfsMissing();
if (noBtrfs !== undefined) console.log(`skipped: refreshing volumes of btrfs pools: ${noBtrfs}`);

const pairs = [
  ['dir', 'dir'],
  ...(noBtrfs === undefined
    ? ([
        ['btrfs', 'btrfs'],
        ['dir', 'btrfs'],
      ] as const)
    : []),
] as const;

const volumes = '/1.0/storage-pools/default/volumes/custom';
const dirOf = ({ daemon }: Side, ...rest: string[]): string => join(daemon.dir, 'storage-pools/default', ...rest);
const snapshotNames = async ({ daemon }: Side, name: string): Promise<string[]> =>
  (await daemon.get(`${volumes}/${name}/snapshots?recursion=1`)).map((one: { name: string }) => one.name.split('/')[1]);

/** Snapshots s0 and s1. */
async function original(side: Side, name: string): Promise<void> {
  expect((await side.daemon.call('POST', volumes, { name, config: { 'user.of': 'the original' } })).status).toBe(200);
  const at = (...path: string[]): string => dirOf(side, 'custom', name, ...path);
  mkdirSync(at('folder'));
  writeFileSync(at('folder/file'), 'then');
  writeFileSync(at('stays'), 'stays');
  for (const snapshot of ['s0', 's1']) {
    await side.daemon.ok('POST', `${volumes}/${name}/snapshots`, { name: snapshot, description: `of ${name}` });
    writeFileSync(at(`after-${snapshot}`), snapshot);
  }
}

/** s0 is deleted, s1 is replaced under its name, s2 is added; files change before and after. */
async function evolve(side: Side, name: string): Promise<void> {
  const at = (...path: string[]): string => dirOf(side, 'custom', name, ...path);
  for (const snapshot of ['s0', 's1']) await side.daemon.ok('DELETE', `${volumes}/${name}/snapshots/${snapshot}`);
  rmSync(at('folder'), { recursive: true });
  writeFileSync(at('folder'), 'a file where a folder was');
  for (const snapshot of ['s1', 's2']) {
    await side.daemon.ok('POST', `${volumes}/${name}/snapshots`, { name: snapshot, description: 'later' });
    writeFileSync(at(`again-${snapshot}`), snapshot);
  }
}

async function expectSame(a: Side, name: string, b: Side, copy: string): Promise<void> {
  expect(describeTree(dirOf(b, 'custom', copy))).toBe(describeTree(dirOf(a, 'custom', name)));
  expect(await snapshotNames(b, copy)).toEqual(await snapshotNames(a, name));
  for (const snapshot of await snapshotNames(a, name)) {
    const [theirs, ours] = [dirOf(a, 'custom-snapshots', name, snapshot), dirOf(b, 'custom-snapshots', copy, snapshot)];
    expect([snapshot, describeTree(ours)]).toEqual([snapshot, describeTree(theirs)]);
    const description = async (side: Side, of: string): Promise<unknown> =>
      (await side.daemon.get(`${volumes}/${of}/snapshots/${snapshot}`)).description;
    expect(await description(b, copy)).toBe(await description(a, name));
  }
}

/** The source of a copy that the target pulls. */
async function offered({ daemon, address, certificate }: Side, name: string): Promise<object> {
  const { metadata, body } = await daemon.call('POST', `${volumes}/${name}`, { name, migration: true });
  const operation = `https://${address}${body.operation}`;
  return { type: 'migration', mode: 'pull', operation, certificate, secrets: metadata.metadata };
}

describe.each(pairs)('from %s to %s', (...drivers) => {
  let two: TwoDaemons;
  beforeAll(async () => {
    two = await twoDaemons({ drivers });
  });
  afterAll(() => two.cleanUp());

  const pull = async (name: string, copy: string, more: object = {}): Promise<unknown> =>
    two.b.daemon.ok('POST', volumes, {
      name: copy,
      source: { ...(await offered(two.a, name)), refresh: true, ...more },
    });

  test('a copy on another server gets what differs, and keeps its own config', async () => {
    const { a, b } = two;
    await original(a, 'v');
    // The first time it is an ordinary copy.
    await pull('v', 'copy');
    await expectSame(a, 'v', b, 'copy');
    expect((await b.daemon.call('PATCH', `${volumes}/copy`, { config: { 'user.of': 'the copy' } })).status).toBe(200);
    writeFileSync(dirOf(b, 'custom/copy/stray'), 'goes');
    await b.daemon.ok('POST', `${volumes}/copy/snapshots`, { name: 'stale' });
    await evolve(a, 'v');
    await pull('v', 'copy');
    await expectSame(a, 'v', b, 'copy');
    expect((await b.daemon.get(`${volumes}/copy`)).config).toMatchObject({ 'user.of': 'the copy' });
    // A second refresh finds nothing to do.
    await pull('v', 'copy');
    await expectSame(a, 'v', b, 'copy');
    writeFileSync(dirOf(a, 'custom/v/stays'), 'alone');
    await pull('v', 'copy', { volume_only: true });
    expect(await snapshotNames(b, 'copy')).toEqual([]);
    expect(describeTree(dirOf(b, 'custom/copy'))).toBe(describeTree(dirOf(a, 'custom/v')));
  });

  test('a copy on the same server gets what differs, also from a snapshot', async () => {
    const { a } = two;
    const copy = (of: string): Promise<unknown> =>
      a.daemon.ok('POST', volumes, {
        name: 'here',
        source: { type: 'copy', name: of, pool: 'default', refresh: true },
      });
    await original(a, 'w');
    await copy('w');
    await evolve(a, 'w');
    await copy('w');
    await expectSame(a, 'w', a, 'here');
    await copy('w/s1');
    expect(await snapshotNames(a, 'here')).toEqual([]);
    expect(describeTree(dirOf(a, 'custom/here'))).toBe(describeTree(dirOf(a, 'custom-snapshots/w/s1')));
  });

  test('a refresh from itself, of a volume in use and of a source that is not there changes nothing', async () => {
    const { a, b } = two;
    await original(a, 'x');
    await pull('x', 'used');
    const refresh = (side: Side, name: string, source: object) =>
      side.daemon.call('POST', volumes, { name, source: { refresh: true, ...source } });
    const itself = await refresh(a, 'x', { type: 'copy', name: 'x', pool: 'default' });
    expect([itself.status, itself.bytes.toString()]).toEqual([400, expect.stringContaining('from itself')]);
    const through = await refresh(a, 'x', await offered(a, 'x'));
    expect((await a.daemon.wait(through.body.operation as string)).err).toContain('from itself');
    expect((await refresh(b, 'used', { type: 'copy', name: 'nothing', pool: 'default' })).status).toBe(404);
    const devices = { data: { type: 'disk', pool: 'default', source: 'used', path: '/data' } };
    await createContainer(b.daemon, 'user', { devices });
    await b.daemon.ok('PUT', '/1.0/containers/user/state', { action: 'start' });
    const inUse = await refresh(b, 'used', { type: 'migration', mode: 'push' });
    const why = expect.stringMatching(/used by running containers \(user\): stop/);
    expect([inUse.status, inUse.bytes.toString()]).toEqual([400, why]);
    expect(await snapshotNames(b, 'used')).toEqual(['s0', 's1']);
    await b.daemon.ok('PUT', '/1.0/containers/user/state', { action: 'stop', force: true });
  });
});

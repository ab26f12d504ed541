// Custom volumes move between two daemons, pulled and pushed, with their snapshots; and the sagas of their arrival are proven.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../../server/drivers/storage/btrfs/btrfs.ts';
import { describeTree, twoDaemons, type Side, type TwoDaemons } from '../../../../support/daemons/two-daemons.ts';

const noBtrfs = await btrfsMissing();
if (noBtrfs !== undefined) console.log(`skipped: volumes between btrfs pools: ${noBtrfs}`);

const pairs = [['dir', 'dir'], ...(noBtrfs === undefined ? ([['btrfs', 'btrfs']] as const) : [])] as const;

const volumes = '/1.0/storage-pools/default/volumes';
const old = { description: 'a day ago', expires_at: '2030-01-01T00:00:00Z' };
const dirOf = ({ daemon }: Side, ...rest: string[]): string => join(daemon.dir, 'storage-pools/default', ...rest);

describe.each(pairs)('from %s to %s', (...drivers) => {
  let two: TwoDaemons;
  let names = 0;
  beforeAll(async () => {
    two = await twoDaemons({ drivers });
  });
  afterAll(() => two.cleanUp());

  async function filled(): Promise<string> {
    const name = `v${(names += 1)}`;
    const { daemon } = two.a;
    const config = { 'user.note': 'kept' };
    expect((await daemon.call('POST', volumes, { name, type: 'custom', description: 'old', config })).status).toBe(200);
    mkdirSync(dirOf(two.a, 'custom', name, 'folder'));
    writeFileSync(dirOf(two.a, 'custom', name, 'folder/file'), 'then');
    await daemon.ok('POST', `${volumes}/custom/${name}/snapshots`, { name: 's', ...old });
    writeFileSync(dirOf(two.a, 'custom', name, 'folder/file'), 'now');
    return name;
  }

  async function expectSame(name: string, copy: string): Promise<void> {
    expect(describeTree(dirOf(two.b, 'custom', copy))).toBe(describeTree(dirOf(two.a, 'custom', name)));
    const [snapshot, original] = [two.b, two.a].map((side, index) =>
      describeTree(dirOf(side, 'custom-snapshots', index === 0 ? copy : name, 's')),
    );
    expect(snapshot).toBe(original);
    expect(await two.b.daemon.get(`${volumes}/custom/${copy}`)).toMatchObject({
      description: 'old',
      config: { 'user.note': 'kept' },
    });
    expect(await two.b.daemon.get(`${volumes}/custom/${copy}/snapshots/s`)).toMatchObject(old);
  }

  test('a volume is pulled', async () => {
    const name = await filled();
    // What the new pool says about its volumes is for one that arrives, too.
    const ofPool = (expiry: string): Promise<{ readonly status: number }> =>
      two.b.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'volume.snapshots.expiry': expiry } });
    expect((await ofPool('3d')).status).toBe(200);
    const source = await two.a.daemon.call('POST', `${volumes}/custom/${name}`, { name, migration: true });
    expect(Object.keys(source.metadata.metadata as object).toSorted()).toEqual(['control', 'fs']);
    const operation = `https://${two.a.address}${source.body.operation}`;
    const pull = { type: 'migration', mode: 'pull', operation, certificate: two.a.certificate };
    await two.b.daemon.ok('POST', volumes, {
      name: 'pulled',
      type: 'custom',
      source: { ...pull, secrets: source.metadata.metadata },
    });
    expect((await two.a.daemon.wait(source.body.operation as string)).status).toBe('Success');
    await expectSame(name, 'pulled');
    const { config } = await two.b.daemon.get(`${volumes}/custom/pulled`);
    expect(config).toMatchObject({ 'snapshots.expiry': '3d' });
    expect((await ofPool('')).status).toBe(200);
    writeFileSync(dirOf(two.b, 'custom/pulled/folder/file'), 'written here');
    expect((await two.b.daemon.call('PUT', `${volumes}/custom/pulled`, { restore: 's' })).status).toBe(200);
  });

  test('a volume is pushed', async () => {
    const name = await filled();
    const target = await two.b.daemon.call('POST', `${volumes}/custom`, {
      name: 'pushed',
      source: { type: 'migration', mode: 'push' },
    });
    const operation = `https://${two.b.address}${target.body.operation}`;
    await two.a.daemon.ok('POST', `${volumes}/custom/${name}`, {
      name,
      migration: true,
      target: { operation, certificate: two.b.certificate, secrets: target.metadata.metadata },
    });
    expect((await two.b.daemon.wait(target.body.operation as string)).err).toBe('');
    await expectSame(name, 'pushed');
  });

  test('an impossible transfer is refused: other types, names in use, sizes that the pool cannot hold', async () => {
    const name = await filled();
    const create = async (body: object, type = 'custom') =>
      (await two.b.daemon.call('POST', volumes, { type, source: { type: 'migration', mode: 'push' }, ...body })).status;
    expect(await create({ name: 'x' }, 'container')).toBe(400);
    expect(await create({ name: 'a/b' })).toBe(400);
    expect(await create({ name: 'x', config: { nonsense: '1' } })).toBe(400);
    await two.b.daemon.call('POST', volumes, { name: 'taken', type: 'custom' });
    expect(await create({ name: 'taken' })).toBe(409);
    const migrate = async (path: string) =>
      (await two.a.daemon.call('POST', path, { name: 'x', migration: true })).status;
    expect(await migrate(`${volumes}/custom/nothing`)).toBe(404);
    expect(await migrate(`${volumes}/container/${name}`)).toBe(400);
    expect(existsSync(dirOf(two.b, 'custom/x'))).toBe(false);
  });
});

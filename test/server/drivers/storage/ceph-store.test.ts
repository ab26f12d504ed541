// The commands that the ceph driver runs for each change, and what failed ones leave. On a cluster in memory: each real command takes
// long, up to seconds on a busy cluster.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PoolSpec } from '../../../../server/drivers/storage/driver.ts';
import { imageName } from '../../../../server/drivers/storage/ceph/names.ts';
import { CephStore } from '../../../../server/drivers/storage/ceph/store.ts';
import { codeOf } from '../../../conformance/storage-world.ts';
import { FakeCeph } from '../../../support/drivers/fake-ceph.ts';

const pool: PoolSpec = { name: 'p', driver: 'ceph', config: { 'ceph.osd.pool_name': 'osd' } };
const mebi = 1_048_576;
const image = 'images/one';
const long = `custom/${'n'.repeat(100)}`;
let ceph: FakeCeph;
let store: CephStore;
beforeEach(async () => {
  ceph = new FakeCeph();
  ceph.install();
  store = new CephStore({ list: async () => [], map: async () => '/dev/rbd0', unmap: async () => {} });
  // It asks once for the id of the cluster.
  await store.mapped(pool);
  ceph.taken();
});
afterEach(() => ceph.uninstall());
const verbs = (): readonly string[] =>
  ceph.taken().map((line) =>
    line
      .split(' ')
      .slice(0, /snap/.test(line) ? 3 : 2)
      .join(' '),
  );
const names = (): readonly string[] => [...ceph.images.keys()].toSorted();

test('a container of an image that has one already is one command, the first one four', async () => {
  await store.create(pool, image, mebi);
  ceph.taken();
  await store.clone(pool, image, 'containers/a');
  expect(verbs()).toEqual(['rbd clone', 'rbd snap create', 'rbd snap protect', 'rbd clone']);
  await store.clone(pool, image, 'containers/b');
  expect(verbs()).toEqual(['rbd clone']);
  // A crash in the middle left its snapshot without protection.
  ceph.images.get('images:one')?.snapshots.set('sealed', false);
  await store.clone(pool, image, 'containers/c');
  expect(names()).toEqual(['containers:a', 'containers:b', 'containers:c', 'images:one']);
  expect(await codeOf(store.clone(pool, 'images/none', 'containers/d'))).toBe('NotFound');
});

test('a clone of a volume is flattened when its chain gets too long for the kernel', async () => {
  await store.create(pool, 'custom/0', mebi);
  for (let step = 1; step <= 12; step += 1) await store.clone(pool, `custom/${step - 1}`, `custom/${step}`);
  expect(ceph.taken().filter((line) => line.startsWith('rbd flatten'))).toEqual([]);
  ceph.fails = (line) => (line.startsWith('rbd flatten') ? 5 : undefined);
  expect(await codeOf(store.clone(pool, 'custom/12', 'custom/13'))).toBe('Failed');
  expect(ceph.taken().at(-1)).toBe('rbd flatten custom:13');
});

test('a volume without clones or an origin goes with four commands, others with what they leave', async () => {
  await store.create(pool, 'custom/a', mebi);
  await store.create(pool, 'custom/b', mebi);
  await store.clone(pool, 'custom/a', 'custom/copy');
  ceph.taken();
  await store.remove(pool, 'custom/b');
  expect(verbs()).toEqual(['rbd ls', 'rbd rename', 'rbd resize', 'rbd rm']);
  await store.remove(pool, 'custom/a');
  expect(names().map((name) => name.replace(/:[0-9a-f-]{36}$/, ''))).toEqual(['custom:copy', 'deleted']);
  await store.remove(pool, 'custom/copy');
  expect(names()).toEqual([]);
});

test('a removal that failed half way is ended by the next one, with the mark of its name', async () => {
  await store.create(pool, long, mebi);
  await store.clone(pool, long, 'custom/copy');
  ceph.fails = (line) => (line.startsWith('rbd resize deleted:') ? 5 : undefined);
  expect(await codeOf(store.remove(pool, long))).toBe('Failed');
  expect(ceph.marks.size).toBe(1);
  ceph.fails = () => undefined;
  await store.remove(pool, long);
  expect([...ceph.marks]).toEqual([]);
  await store.remove(pool, 'custom/copy');
  expect(names()).toEqual([]);
});

test('an image that a client has still open is gone at once, and removed once it is closed', async () => {
  for (const id of ['custom/a', 'custom/b', 'custom/c']) await store.create(pool, id, mebi);
  await store.clone(pool, 'custom/b', 'custom/copy');
  ceph.fails = (line) => (line.startsWith('rbd rm deleted:') ? 16 : undefined);
  await store.remove(pool, 'custom/a');
  expect((await store.list(pool)).map(({ id }) => id).toSorted()).toEqual(['custom/b', 'custom/c', 'custom/copy']);
  // Other removals try it again, and end.
  await store.remove(pool, 'custom/copy');
  expect(await store.sweep(pool)).toEqual([expect.stringMatching(/^deleted:/), expect.stringMatching(/^deleted:/)]);
  ceph.fails = () => undefined;
  expect(await store.sweep(pool)).toEqual([]);
  expect(names()).toEqual(['custom:b', 'custom:c']);
  // What cannot be renamed keeps its data.
  ceph.fails = (line) => (line.startsWith('rbd rename') ? 16 : undefined);
  expect(await codeOf(store.remove(pool, 'custom/c'))).toBe('InUse');
  expect(ceph.images.get('custom:c')?.bytes).toBe(mebi);
});

test('a clone that failed leaves no mark, and its snapshot goes with the next removal', async () => {
  await store.create(pool, 'custom/a', mebi);
  ceph.fails = (line) => (line.startsWith('rbd clone') ? 5 : undefined);
  expect(await codeOf(store.clone(pool, 'custom/a', long))).toBe('Failed');
  ceph.fails = () => undefined;
  expect([...ceph.marks]).toEqual([]);
  await store.create(pool, 'custom/b', mebi);
  await store.clone(pool, 'custom/b', 'custom/c');
  await store.remove(pool, 'custom/c');
  expect([...ceph.images.values()].map(({ snapshots }) => snapshots.size)).toEqual([0, 0]);
  expect(names()).toEqual(['custom:a', 'custom:b']);
  expect(imageName('custom/a')).toBe('custom:a');
});

// Storage pools of the driver dir over the real daemon (spec 2.13, 4.12).
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createContainer, type Json, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const daemon = await seededDaemon();
const elsewhere = tempFolder('gtya-pools-');

let count = 0;
const fresh = (): string => `pool${(count += 1)}`;
const create = (body: object): ReturnType<TestDaemon['call']> =>
  daemon.call('POST', '/1.0/storage-pools', { driver: 'dir', ...body });
const paths = (body: Json): string[] => (body.metadata.details as { path: string }[]).map((each) => each.path);

describe('creating a pool', () => {
  test('creating a pool without a source makes a separate directory', async () => {
    const name = fresh();
    const answer = await create({ name, description: 'd' });
    expect([answer.status, answer.headers.location]).toEqual([200, `/1.0/storage-pools/${name}`]);
    const pool = await daemon.get(`/1.0/storage-pools/${name}`);
    expect(pool).toEqual({
      name,
      description: 'd',
      driver: 'dir',
      config: { source: join(daemon.dir, 'storage-pools', name) },
      status: 'Created',
      locations: ['none'],
      used_by: [],
    });
    expect(existsSync(pool.config.source as string)).toBe(true);
  });

  test('creating a pool in a directory with files is refused, and the files stay', async () => {
    const source = join(elsewhere, 'full');
    await mkdir(source);
    await writeFile(join(source, 'precious'), 'data');
    const answer = await create({ name: 'full', config: { source } });
    expect(answer.status).toBe(400);
    expect(answer.body.metadata.message).toMatch(/not empty/);
    expect(await readFile(join(source, 'precious'), 'utf8')).toBe('data');
    expect((await daemon.call('GET', '/1.0/storage-pools/full')).status).toBe(404);
  });

  test('over the directory of another pool is refused, and that pool is unchanged', async () => {
    const [one, two] = [fresh(), fresh()];
    const source = join(elsewhere, one);
    await mkdir(source);
    expect((await create({ name: one, config: { source } })).status).toBe(200);
    await createContainer(daemon, 'kept', { devices: { root: { type: 'disk', path: '/', pool: one } } });
    expect((await create({ name: two, config: { source } })).status).toBe(400);
    expect(existsSync(join(source, 'containers/kept/rootfs'))).toBe(true);
  });

  test('over the directory of a pool that is still empty is refused as well', async () => {
    const [one, two] = [fresh(), fresh()];
    const source = join(elsewhere, one);
    await mkdir(source);
    expect((await create({ name: one, config: { source } })).status).toBe(200);
    expect((await create({ name: two, config: { source } })).status).toBe(400);
    expect((await daemon.call('GET', `/1.0/storage-pools/${one}/resources`)).status).toBe(200);
    await createContainer(daemon, 'onone', { devices: { root: { type: 'disk', path: '/', pool: one } } });
  });

  test('creating a pool in a missing directory, or in the state of the daemon, is refused', async () => {
    for (const source of [join(elsewhere, 'missing'), join(daemon.dir, 'images'), '/', 'relative']) {
      expect([source, (await create({ name: 'bad', config: { source } })).status]).toEqual([source, 400]);
    }
    expect(existsSync(join(daemon.dir, 'images'))).toBe(true);
  });

  test.each([
    [{ name: '' }, ['name']],
    [{ name: 'a/b' }, ['name']],
    [{ name: 'x', driver: 'zfss' }, ['driver']],
    [{ name: 'x', driver: 'ceph' }, ['driver']],
    [{ name: 'x', config: { sorce: '/x' } }, ['config.sorce']],
    [{ name: 'x', config: { size: '1GB' } }, ['config.size']],
    [{ name: 'x', config: { 'rsync.bwlimit': 'fast' } }, ['config.rsync.bwlimit']],
  ])('with %j names the wrong place', async (body, wrong) => {
    const answer = await create(body);
    expect([answer.status, paths(answer.body)]).toEqual([400, wrong]);
  });

  test('creating a pool with a name in use answers 409; of ten at once one succeeds', async () => {
    const name = fresh();
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name })));
    expect(answers.map((answer) => answer.status).filter((status) => status === 200)).toHaveLength(1);
    expect(answers.every((answer) => answer.status === 200 || answer.status === 409)).toBe(true);
    expect((await daemon.get(`/1.0/storage-pools/${name}`)).status).toBe('Created');
  });
});

describe('changing a pool', () => {
  test('PUT must keep the source, PATCH merges, old ETags are refused', async () => {
    const name = fresh();
    await create({ name });
    const path = `/1.0/storage-pools/${name}`;
    const first = await daemon.call('GET', path);
    const { config } = first.metadata;
    expect(
      (await daemon.call('PUT', path, { config: { ...config, 'rsync.bwlimit': '1MB' }, description: 'x' })).status,
    ).toBe(200);
    expect((await daemon.call('PATCH', path, { config: { 'user.a': 'b' } })).status).toBe(200);
    expect(await daemon.get(path)).toMatchObject({
      description: 'x',
      config: { ...config, 'rsync.bwlimit': '1MB', 'user.a': 'b' },
    });
    const moved = await daemon.call('PATCH', path, { config: { source: '/elsewhere' } });
    expect([moved.status, paths(moved.body)]).toEqual([400, ['config.source']]);
    const lost = await daemon.call('PUT', path, { config: {} });
    expect([lost.status, paths(lost.body)]).toEqual([400, ['config.source']]);
    expect((await daemon.call('PUT', path, { config }, { 'if-match': String(first.headers.etag) })).status).toBe(412);
    expect((await daemon.call('PATCH', '/1.0/storage-pools/nobody', {})).status).toBe(404);
  });

  test('a pool cannot be renamed: 400', async () => {
    expect((await daemon.call('POST', '/1.0/storage-pools/default', { name: 'x' })).status).toBe(400);
  });
});

describe('using and deleting a pool', () => {
  test('used_by has containers and profiles; in use it is not deleted', async () => {
    const name = fresh();
    await create({ name });
    const root = { type: 'disk', path: '/', pool: name };
    await createContainer(daemon, `c-${name}`, { devices: { root } });
    await daemon.call('POST', '/1.0/profiles', { name: `p-${name}`, devices: { root } });
    expect((await daemon.get(`/1.0/storage-pools/${name}`)).used_by).toEqual([
      `/1.0/containers/c-${name}`,
      `/1.0/profiles/p-${name}`,
    ]);
    const refused = await daemon.call('DELETE', `/1.0/storage-pools/${name}`);
    expect([refused.status, refused.body.metadata.code]).toEqual([400, 'inUse']);
    await daemon.ok('DELETE', `/1.0/containers/c-${name}`);
    expect((await daemon.call('DELETE', `/1.0/storage-pools/${name}`)).status).toBe(400);
    await daemon.call('DELETE', `/1.0/profiles/p-${name}`);
    const deleted = await daemon.call('DELETE', `/1.0/storage-pools/${name}`);
    expect([deleted.status, deleted.body.type]).toEqual([200, 'sync']);
    expect(existsSync(join(daemon.dir, 'storage-pools', name))).toBe(false);
    expect((await daemon.call('DELETE', `/1.0/storage-pools/${name}`)).status).toBe(404);
  });

  test('images unpacked in it count as users, but are deleted with it', async () => {
    const name = fresh();
    await create({ name });
    const image = await daemon.ok(
      'POST',
      '/1.0/images',
      tarOf({ ...metadataFile, content: `${goodMetadata}#${name}\n` }, rootfsDirectory),
    );
    const fingerprint = String(image.metadata?.['fingerprint']);
    const devices = { root: { type: 'disk', path: '/', pool: name } };
    await createContainer(daemon, `c-${name}`, { source: { type: 'image', fingerprint }, devices });
    const users = [`/1.0/containers/c-${name}`, `/1.0/images/${fingerprint}`];
    expect((await daemon.get(`/1.0/storage-pools/${name}`)).used_by).toEqual(users);
    const all = (await daemon.get('/1.0/storage-pools?recursion=1')) as Json[];
    expect(all.find((pool) => pool.name === name).used_by).toEqual(users);
    await daemon.ok('DELETE', `/1.0/containers/c-${name}`);
    expect((await daemon.call('DELETE', `/1.0/storage-pools/${name}`)).status).toBe(200);
    expect((await daemon.call('GET', `/1.0/images/${fingerprint}`)).status).toBe(200);
  });

  test('a directory given by the user stays when its pool is deleted', async () => {
    const name = fresh();
    const source = join(elsewhere, name);
    await mkdir(source);
    await create({ name, config: { source } });
    expect((await daemon.call('DELETE', `/1.0/storage-pools/${name}`)).status).toBe(200);
    expect(existsSync(source)).toBe(true);
    expect((await create({ name, config: { source } })).status).toBe(200);
  });

  test('resources are the figures of the file system below', async () => {
    const { space, inodes } = await daemon.get('/1.0/storage-pools/default/resources');
    expect(space.total).toBeGreaterThan(space.used);
    expect(space.used).toBeGreaterThan(0);
    expect(inodes.total).toBeGreaterThanOrEqual(inodes.used);
    expect((await daemon.call('GET', '/1.0/storage-pools/nobody/resources')).status).toBe(404);
  });

  test('a pool deleted while a container is created on it never leaves a container without its pool', async () => {
    for (let round = 0; round < 10; round += 1) {
      const name = fresh();
      await create({ name });
      const [deleted, created] = await Promise.all([
        daemon.call('DELETE', `/1.0/storage-pools/${name}`),
        daemon.call('POST', '/1.0/containers', {
          name: `r-${name}`,
          source: { type: 'none' },
          devices: { root: { type: 'disk', path: '/', pool: name } },
        }),
      ]);
      const made = created.status === 202 && (await daemon.wait(created.body.operation as string)).status === 'Success';
      expect([deleted.status < 300, made].filter(Boolean)).toHaveLength(1);
    }
  });
});

// Custom volumes of projects: what each sees and uses, copies and moves between projects, and that no project finds another's.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { btrfsMissing } from '../../../../server/drivers/storage/btrfs/btrfs.ts';
import { lifecycleOf, type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: volumes of projects on btrfs: ${noBtrfs}`);
const drivers = noBtrfs === undefined ? ['dir', 'btrfs'] : ['dir'];

const daemon = await seededDaemon();
beforeAll(async () => {
  for (const name of ['dir', 'second']) await daemon.call('POST', '/1.0/storage-pools', { name, driver: 'dir' });
  if (noBtrfs === undefined)
    await daemon.call('POST', '/1.0/storage-pools', { name: 'btrfs', driver: 'btrfs', config: { size: '256MiB' } });
  for (const name of ['red', 'blue']) await makeProject(daemon, name);
  await makeProject(daemon, 'shared', { 'features.storage.volumes': 'false' });
  await makeProject(daemon, 'lender', { 'features.profiles': 'false' });
});

const at = (path: string, project: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(project)}`;
const volumes = (pool: string, ...rest: string[]): string => ['/1.0/storage-pools', pool, 'volumes', ...rest].join('/');
const custom = (pool: string, name: string, project: string, ...rest: string[]): string =>
  at(volumes(pool, 'custom', name, ...rest), project);
const disk = (pool: string, source: string) => ({ data: { type: 'disk', path: '/mnt', pool, source } });
let count = 0;
const fresh = (): string => `v${(count += 1)}`;
async function made(project: string, pool: string, name = fresh(), more: object = {}): Promise<string> {
  const answer = await daemon.call('POST', at(volumes(pool, 'custom'), project), { name, ...more });
  expect([answer.status, answer.metadata]).toEqual([200, {}]);
  return name;
}
const fileOf = (pool: string, name: string): string => join(daemon.dir, 'storage-pools', pool, 'custom', name, 'file');
const write = (pool: string, name: string, text: string): void => writeFileSync(fileOf(pool, name), text);
const read = (pool: string, name: string): string => readFileSync(fileOf(pool, name), 'utf8');
const listed = async (pool: string, project: string): Promise<string[]> =>
  (await daemon.get(at(volumes(pool, 'custom'), project))) as string[];
const succeeded = async (answer: Answer): Promise<void> => {
  expect([answer.status, answer.metadata?.message]).toEqual([202, undefined]);
  expect(await daemon.wait(answer.body.operation as string)).toMatchObject({ status: 'Success', err: '' });
};
const devicesOf = async (name: string, project: string): Promise<Json> =>
  (await daemon.get(at(`/1.0/containers/${name}`, project))).devices;

describe.each(drivers)('on a pool of driver %s', (pool) => {
  test('volumes of one name in two projects are two volumes', async () => {
    const name = await made('red', pool, fresh(), { config: { 'user.of': 'red' } });
    await made('blue', pool, name);
    await made('default', pool, name);
    write(pool, `red%${name}`, 'red');
    write(pool, `blue%${name}`, 'blue');
    expect(await daemon.get(custom(pool, name, 'red'))).toMatchObject({
      name,
      project: 'red',
      config: { 'user.of': 'red' },
    });
    expect((await daemon.get(custom(pool, name, 'blue'))).config).toEqual({});
    expect(await listed(pool, 'red')).toContain(`${volumes(pool, 'custom', name)}?project=red`);
    expect((await listed(pool, 'red')).filter((url) => !url.endsWith('?project=red'))).toEqual([]);
    expect(await listed(pool, 'default')).toContain(volumes(pool, 'custom', name));
    const all = (await daemon.get(`${volumes(pool, 'custom')}?recursion=1&all-projects=true`)) as Json[];
    expect(
      all
        .filter((each) => each.name === name)
        .map((each) => each.project as string)
        .toSorted(),
    ).toEqual(['blue', 'default', 'red']);
    expect((await daemon.call('DELETE', custom(pool, name, 'red'))).status).toBe(200);
    expect((await daemon.call('GET', custom(pool, name, 'red'))).status).toBe(404);
    expect(read(pool, `blue%${name}`)).toBe('blue');
  });

  test('snapshots are taken, restored, renamed and deleted in their project', async () => {
    const name = await made('red', pool);
    await made('blue', pool, name);
    write(pool, `red%${name}`, 'then');
    await daemon.ok('POST', custom(pool, name, 'red', 'snapshots'), { name: 's' });
    expect(await daemon.get(custom(pool, name, 'red', 'snapshots'))).toEqual([
      `${volumes(pool, 'custom', name)}/snapshots/s?project=red`,
    ]);
    expect(await daemon.get(at(`${volumes(pool, 'custom', name)}/snapshots?recursion=1`, 'red'))).toMatchObject([
      { name: `${name}/s` },
    ]);
    expect(await daemon.get(custom(pool, name, 'blue', 'snapshots'))).toEqual([]);
    write(pool, `red%${name}`, 'now');
    expect((await daemon.call('PUT', custom(pool, name, 'red'), { restore: 's' })).status).toBe(200);
    expect(read(pool, `red%${name}`)).toBe('then');
    expect((await daemon.call('PUT', custom(pool, name, 'blue'), { restore: 's' })).status).toBe(404);
    await daemon.ok('POST', custom(pool, name, 'red', 'snapshots', 's'), { name: 't' });
    await daemon.ok('DELETE', custom(pool, name, 'red', 'snapshots', 't'));
    expect(await daemon.get(custom(pool, name, 'red', 'snapshots'))).toEqual([]);
  });

  test('a rename stays in the project, and devices there follow', async () => {
    const name = await made('red', pool);
    await made('blue', pool, name);
    for (const project of ['red', 'blue'])
      await makeContainerIn(daemon, project, `u${name}`, { devices: disk(pool, name) });
    const answer = await daemon.call('POST', custom(pool, name, 'red'), { name: `${name}x` });
    expect([answer.status, answer.headers.location]).toEqual([200, custom(pool, `${name}x`, 'red')]);
    expect((await devicesOf(`u${name}`, 'red')).data.source).toBe(`${name}x`);
    expect((await devicesOf(`u${name}`, 'blue')).data.source).toBe(name);
    expect((await daemon.get(custom(pool, `${name}x`, 'red'))).used_by).toEqual([
      `/1.0/containers/u${name}?project=red`,
    ]);
    expect((await daemon.get(custom(pool, name, 'blue'))).used_by).toEqual([`/1.0/containers/u${name}?project=blue`]);
    expect((await daemon.get(`/1.0/storage-pools/${pool}`)).used_by).toEqual(
      expect.arrayContaining([custom(pool, `${name}x`, 'red'), custom(pool, name, 'blue')]),
    );
  });

  test('a copy from another project brings content and snapshots', async () => {
    const name = await made('red', pool);
    write(pool, `red%${name}`, 'then');
    await daemon.ok('POST', custom(pool, name, 'red', 'snapshots'), { name: 's' });
    write(pool, `red%${name}`, 'now');
    const copy = (body: object): Promise<Answer> => daemon.call('POST', at(volumes(pool, 'custom'), 'blue'), body);
    await succeeded(await copy({ name, source: { name, pool, project: 'red' } }));
    await succeeded(await copy({ name: `${name}s`, source: { name: `${name}/s`, pool, project: 'red' } }));
    expect([read(pool, `blue%${name}`), read(pool, `blue%${name}s`)]).toEqual(['now', 'then']);
    expect(await daemon.get(custom(pool, name, 'blue', 'snapshots'))).toHaveLength(1);
    expect(read(pool, `red%${name}`)).toBe('now');
    expect((await copy({ name: fresh(), source: { name, pool } })).status).toBe(202);
    expect((await copy({ name: fresh(), source: { name: 'none', pool, project: 'red' } })).status).toBe(404);
    expect((await copy({ name: fresh(), source: { name, pool, project: 'nowhere' } })).status).toBe(404);
  });

  test.each([false, true])('a move into another project includes everything (another pool: %s)', async (away) => {
    const to = away ? 'second' : pool;
    const name = await made('red', pool);
    write(pool, `red%${name}`, 'then');
    await daemon.ok('POST', custom(pool, name, 'red', 'snapshots'), { name: 's' });
    const listening = await daemon.listen('lifecycle&project=red');
    await succeeded(await daemon.call('POST', custom(pool, name, 'red'), { name, pool: to, project: 'blue' }));
    const event = await listening.next((each) => lifecycleOf(each).action === 'storage-volume-renamed');
    expect(lifecycleOf(event)).toMatchObject({
      source: custom(pool, name, 'red'),
      context: { new_name: name, new_project: 'blue' },
    });
    listening.close();
    expect((await daemon.call('GET', custom(pool, name, 'red'))).status).toBe(404);
    expect(await daemon.get(custom(to, name, 'blue'))).toMatchObject({ name, project: 'blue' });
    expect(read(to, `blue%${name}`)).toBe('then');
    expect(await daemon.get(custom(to, name, 'blue', 'snapshots'))).toHaveLength(1);
    expect((await daemon.call('PUT', custom(to, name, 'blue'), { restore: 's' })).status).toBe(200);
  });

  test('a move out of its project is refused while something uses it, and into a taken name', async () => {
    const [used, taken] = [await made('red', pool), await made('red', pool)];
    await made('blue', pool, taken);
    await makeContainerIn(daemon, 'red', `m${used}`, { devices: disk(pool, used) });
    const move = (name: string, project: string): Promise<Answer> =>
      daemon.call('POST', custom(pool, name, 'red'), { name, project });
    const refused = await move(used, 'blue');
    expect([refused.status, refused.metadata.message]).toEqual([
      400,
      `The storage volume ${pool}/${used} is in use by container m${used}`,
    ]);
    expect((await move(taken, 'blue')).status).toBe(409);
    expect((await move(taken, 'nowhere')).status).toBe(404);
    expect((await daemon.get(custom(pool, used, 'red'))).used_by).toHaveLength(1);
  });
});

describe('a volume of another project', () => {
  const ways: readonly (readonly [string, (name: string) => readonly [string, string, object?]])[] = [
    ['get', (name) => ['GET', volumes('dir', 'custom', name)]],
    ['qualified get', (name) => ['GET', volumes('dir', 'custom', `red%25${name}`)]],
    ['qualified twice', (name) => ['GET', volumes('dir', 'custom', `blue%25red%25${name}`)]],
    ['other separator', (name) => ['GET', volumes('dir', 'custom', `..%2Fcustom%2Fred%25${name}`)]],
    ['put', (name) => ['PUT', volumes('dir', 'custom', name), {}]],
    ['patch', (name) => ['PATCH', volumes('dir', 'custom', name), { description: 'x' }]],
    ['delete', (name) => ['DELETE', volumes('dir', 'custom', name)]],
    ['rename', (name) => ['POST', volumes('dir', 'custom', name), { name: 'mine' }]],
    ['move', (name) => ['POST', volumes('dir', 'custom', name), { name: 'mine', project: 'blue', pool: 'second' }]],
    ['migration', (name) => ['POST', volumes('dir', 'custom', name), { name, migration: true }]],
    ['snapshots', (name) => ['GET', volumes('dir', 'custom', name, 'snapshots')]],
    ['snapshot', (name) => ['POST', volumes('dir', 'custom', name, 'snapshots'), { name: 't' }]],
    ['snapshot read', (name) => ['GET', volumes('dir', 'custom', name, 'snapshots', 's')]],
    ['copy', (name) => ['POST', volumes('dir', 'custom'), { name: 'mine', source: { name, pool: 'dir' } }]],
    [
      'copy by its qualified name',
      (name) => ['POST', volumes('dir', 'custom'), { name: 'mine', source: { name: `red%${name}` } }],
    ],
    [
      'copy of a snapshot',
      (name) => ['POST', volumes('dir', 'custom'), { name: 'mine', source: { name: `${name}/s` } }],
    ],
    [
      'copy through the name of a pool',
      (name) => ['POST', volumes('dir', 'custom'), { name: 'mine', source: { name, pool: `dir/red%${name}` } }],
    ],
    [
      'disk',
      (name) => ['POST', '/1.0/containers', { name: 'c', source: { type: 'none' }, devices: disk('dir', name) }],
    ],
    [
      'disk by its qualified name',
      (name) => [
        'POST',
        '/1.0/containers',
        { name: 'c', source: { type: 'none' }, devices: disk('dir', `red%${name}`) },
      ],
    ],
    ['disk of a container that is there', (name) => ['PATCH', '/1.0/containers/there', { devices: disk('dir', name) }]],
  ];
  test.each(ways)('is answered like a missing one: %s', async (_title, ask) => {
    const name = await made('red', 'dir');
    write('dir', `red%${name}`, 'mine');
    await daemon.ok('POST', custom('dir', name, 'red', 'snapshots'), { name: 's' });
    if ((await daemon.call('GET', at('/1.0/containers/there', 'blue'))).status === 404)
      await makeContainerIn(daemon, 'blue', 'there');
    const before = await daemon.get(custom('dir', name, 'red'));
    const answers: unknown[] = [];
    for (const each of [name, 'none-at-all']) {
      const [method, path, body] = ask(each);
      const answer = await daemon.call(method, at(path, 'blue'), body);
      // A container is refused in its operation.
      const { err } = answer.status === 202 ? await daemon.wait(answer.body.operation as string) : { err: undefined };
      answers.push([
        err === undefined ? answer.status : 404,
        (err ?? answer.bytes.toString()).replaceAll(each, 'VOLUME'),
      ]);
    }
    expect(answers[0]).toEqual([404, expect.stringContaining('was not found')]);
    expect(answers[0]).toEqual(answers[1]);
    expect(await daemon.get(custom('dir', name, 'red'))).toEqual(before);
    expect(read('dir', `red%${name}`)).toBe('mine');
    expect((await daemon.get(custom('dir', name, 'red', 'snapshots'))) as string[]).toHaveLength(1);
  });

  test('cannot be created under a name of another project', async () => {
    for (const name of ['red%x', 'a/b', '..', 'a b'])
      expect((await daemon.call('POST', at(volumes('dir', 'custom'), 'blue'), { name })).status).toBe(400);
  });

  test('does not show in the list of its pool', async () => {
    const name = await made('red', 'dir');
    await makeContainerIn(daemon, 'red', `c${name}`);
    for (const path of [volumes('dir'), volumes('default'), volumes('dir', 'custom'), volumes('default', 'container')])
      expect(
        ((await daemon.get(at(path, 'blue'))) as string[]).filter((url) => !url.endsWith('?project=blue')),
      ).toEqual([]);
    expect(await daemon.get(at(volumes('default', 'container'), 'red'))).toContain(
      `${volumes('default', 'container', `c${name}`)}?project=red`,
    );
    expect((await daemon.call('GET', at(volumes('default', 'container', `c${name}`), 'blue'))).status).toBe(404);
  });
});

describe('a project without volumes of its own', () => {
  test('uses those of the project default', async () => {
    const name = await made('shared', 'dir');
    expect(await listed('dir', 'default')).toContain(volumes('dir', 'custom', name));
    expect(await listed('dir', 'shared')).toEqual(await listed('dir', 'default'));
    await makeContainerIn(daemon, 'shared', 'user', { devices: disk('dir', name) });
    expect((await daemon.get(volumes('dir', 'custom', name))).used_by).toEqual(['/1.0/containers/user?project=shared']);
    expect((await daemon.call('POST', custom('dir', name, 'shared'), { name: `${name}x` })).status).toBe(200);
    expect((await devicesOf('user', 'shared')).data.source).toBe(`${name}x`);
    expect((await daemon.call('DELETE', volumes('dir', 'custom', `${name}x`))).status).toBe(400);
  });
});

test('a profile of the project default means volumes of the project whose containers have it', async () => {
  const name = await made('lender', 'dir');
  await made('default', 'dir', name);
  await daemon.call('POST', '/1.0/profiles', { name: 'lent', devices: disk('dir', name) });
  await makeContainerIn(daemon, 'lender', 'borrower', { profiles: ['default', 'lent'] });
  expect((await daemon.get(custom('dir', name, 'lender'))).used_by).toEqual([
    '/1.0/containers/borrower?project=lender',
  ]);
  expect((await daemon.get(volumes('dir', 'custom', name))).used_by).toEqual(['/1.0/profiles/lent']);
  // The profile belongs to another project and cannot follow.
  const refused = await daemon.call('POST', custom('dir', name, 'lender'), { name: `${name}x` });
  expect([refused.status, refused.metadata.message]).toEqual([400, expect.stringContaining('borrower')]);
  expect((await daemon.call('POST', volumes('dir', 'custom', name), { name: `${name}x` })).status).toBe(200);
  expect((await daemon.get('/1.0/profiles/lent')).devices.data.source).toBe(`${name}x`);
});

// Containers that move between members of a cluster with everything they have, and are on one member at any moment.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

interface Lifecycle {
  readonly action: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

describe.skipIf(etcdMissing() !== undefined)('moving containers between members', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let two: TestMember;
  let three: TestMember;

  beforeAll(async () => {
    cluster = await makeCluster(3);
    [one, two, three] = cluster.members as [TestMember, TestMember, TestMember];
    for (const name of ['default', 'other']) await sent('POST', '/1.0/storage-pools', { name, driver: 'dir' });
  });
  afterAll(() => cluster.cleanUp());

  const sent = async (method: string, path: string, body?: object): Promise<void> => {
    const { status, bytes } = await one.call(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${bytes.toString()}`);
  };
  /** Directories of containers in the pools of a member. */
  const leftovers = ({ dir }: TestMember): string[] =>
    ['default', 'other'].flatMap((pool) => {
      const at = `${dir}/storage-pools/${pool}`;
      return ['containers', 'containers-snapshots'].flatMap((kind) =>
        existsSync(`${at}/${kind}`) ? readdirSync(`${at}/${kind}`) : [],
      );
    });
  const empty = (name: string, more: object = {}) => ({
    name,
    source: { type: 'none' },
    devices: { root: { type: 'disk', path: '/', pool: 'default' } },
    ...more,
  });
  const create = (member: TestMember, name: string, more: object = {}) =>
    one.ok('POST', `/1.0/containers?target=${member.name}`, empty(name, more));
  const move = (name: string, to: TestMember, body: object = {}, by = one) =>
    by.ok('POST', `/1.0/containers/${name}?target=${to.name}`, { name, migration: true, ...body });
  const refused = async (name: string, target: string, body: object = {}) => {
    const answer = await one.call('POST', `/1.0/containers/${name}?target=${target}`, {
      name,
      migration: true,
      ...body,
    });
    return { status: answer.status, text: answer.bytes.toString() };
  };

  test('a change that waits for a move is made at the new place', async () => {
    await create(two, 'a0');
    const asked = await one.call('POST', '/1.0/containers/a0?target=m3', { name: 'a0', migration: true });
    const waiting = one.call('PATCH', '/1.0/containers/a0', { description: 'came along' });
    const forced = one.call('PUT', '/1.0/containers/a0/state', { action: 'start' });
    await one.get(`/1.0/operations/${asked.body.metadata.id}/wait`);
    expect(await waiting).toMatchObject({ status: 200 });
    const { status, err } = await one.get(`/1.0/operations/${(await forced).body.metadata.id}/wait`);
    if (status !== 'Success') expect(err).toContain('moved to another member of the cluster');
    expect(await one.get('/1.0/containers/a0')).toMatchObject({ location: 'm3', description: 'came along' });
    await one.ok('PUT', '/1.0/containers/a0/state', { action: 'stop', force: true }).catch(() => {});
    await one.ok('DELETE', '/1.0/containers/a0');
  });

  test('a container moves with config, addresses, snapshots, files and times, and the old member has no leftovers', async () => {
    await create(two, 'a1', {
      description: 'first',
      config: { 'user.color': 'red', 'boot.autostart': 'false' },
      devices: { root: { type: 'disk', path: '/', pool: 'default' }, eth0: { type: 'nic', nictype: 'p2p' } },
    });
    await one.call('POST', '/1.0/containers/a1/files?path=/mark', Buffer.from('early'));
    await one.ok('POST', '/1.0/containers/a1/snapshots', { name: 's1' });
    await one.call('POST', '/1.0/containers/a1/files?path=/mark', Buffer.from('late'));
    await one.ok('POST', '/1.0/containers/a1/snapshots', { name: 's0' });
    const before = await one.get('/1.0/containers/a1');
    const snapshots = await one.get('/1.0/containers/a1/snapshots?recursion=1');
    const seen: unknown[] = [];
    const asked = await one.call('POST', '/1.0/containers/a1?target=m3', { name: 'a1', migration: true });
    expect(asked.body.metadata).toMatchObject({ description: 'Moving container', class: 'task', location: 'm2' });
    seen.push((await one.call('GET', '/1.0/containers/a1')).status);
    await one.get(`/1.0/operations/${asked.body.metadata.id}/wait`);
    expect(seen).toEqual([200]);
    const { location, ...after } = await one.get('/1.0/containers/a1');
    expect(location).toBe('m3');
    expect(after).toEqual(without(before, 'location'));
    expect(after.config['volatile.eth0.hwaddr']).toBe(before.config['volatile.eth0.hwaddr']);
    expect(after.config['user.color']).toBe('red');
    for (const member of cluster.members)
      expect(await member.get('/1.0/containers?recursion=1')).toMatchObject([{ name: 'a1', location: 'm3' }]);
    const moved = await one.get('/1.0/containers/a1/snapshots?recursion=1');
    expect(moved.map(plain)).toEqual(snapshots.map(plain));
    expect((await one.call('GET', '/1.0/containers/a1/files?path=/mark')).bytes.toString()).toBe('late');
    await one.ok('PUT', '/1.0/containers/a1', { restore: 's1' });
    expect((await one.call('GET', '/1.0/containers/a1/files?path=/mark')).bytes.toString()).toBe('early');
    expect(leftovers(two)).toEqual([]);
    await one.ok('PUT', '/1.0/containers/a1/state', { action: 'start' });
    expect((await one.get('/1.0/containers/a1')).status).toBe('Running');
    await one.ok('PUT', '/1.0/containers/a1/state', { action: 'stop', force: true });
    await one.ok('DELETE', '/1.0/containers/a1');
    for (const member of [two, three]) expect(leftovers(member)).toEqual([]);
  });

  test('a running container moves live and keeps running, is refused without live, and leaves nothing behind', async () => {
    await create(two, 'live');
    await one.ok('PUT', '/1.0/containers/live/state', { action: 'start' });
    expect(await refused('live', 'm3')).toMatchObject({ status: 400, text: expect.stringContaining('running') });
    await move('live', three, { live: true });
    expect(await one.get('/1.0/containers/live')).toMatchObject({ location: 'm3', status: 'Running', stateful: false });
    expect(leftovers(two)).not.toContain('live');
    await one.ok('PUT', '/1.0/containers/live/state', { action: 'stop', force: true });
    await one.ok('DELETE', '/1.0/containers/live');
  });

  test('a container moves there and back, under another name, into another pool, without snapshots, to a group', async () => {
    await create(one, 'b1');
    await one.ok('POST', '/1.0/containers/b1/snapshots', { name: 's' });
    await move('b1', two, { name: 'b2', pool: 'other' }, three);
    expect((await one.call('GET', '/1.0/containers/b1')).status).toBe(404);
    expect(await one.get('/1.0/containers/b2')).toMatchObject({ location: 'm2', devices: { root: { pool: 'other' } } });
    expect(await one.get('/1.0/containers/b2/snapshots')).toEqual(['/1.0/containers/b2/snapshots/s']);
    await move('b2', one, { name: 'b1', container_only: true });
    expect(await one.get('/1.0/containers/b1/snapshots')).toEqual([]);
    await create(two, 'b2');
    await one.ok('POST', '/1.0/containers/b1?target=@default', { migration: true });
    expect((await one.get('/1.0/containers/b1')).location).not.toBe('m1');
    for (const name of ['b1', 'b2']) await one.ok('DELETE', `/1.0/containers/${name}`);
    for (const member of cluster.members) expect(leftovers(member)).toEqual([]);
  });

  test('a container moves to another member and project at once, where another container has its name', async () => {
    await sent('POST', '/1.0/projects', { name: 'blue', config: { 'features.profiles': 'false' } });
    await create(one, 'c1');
    await move('c1', two, { project: 'blue' });
    // The project is full, but a move within it needs no more room.
    await sent('PATCH', '/1.0/projects/blue', { config: { 'limits.containers': '1' } });
    await create(one, 'c2');
    expect(await failure('c2', 'm2', { project: 'blue' })).toContain('limits.containers');
    await one.ok('DELETE', '/1.0/containers/c2');
    expect((await one.call('GET', '/1.0/containers/c1')).status).toBe(404);
    expect(await one.get('/1.0/containers/c1?project=blue')).toMatchObject({ location: 'm2' });
    await create(one, 'c1');
    await one.ok('POST', '/1.0/containers/c1?target=m3&project=blue', { migration: true });
    expect((await one.get('/1.0/containers/c1')).location).toBe('m1');
    expect((await one.get('/1.0/containers/c1?project=blue')).location).toBe('m3');
    expect((await refused('c1', 'm3', { project: 'blue' })).status).toBe(409);
    await one.ok('DELETE', '/1.0/containers/c1');
    await one.ok('DELETE', '/1.0/containers/c1?project=blue');
    await sent('DELETE', '/1.0/projects/blue');
  });

  test('clients get an event with the new place', async () => {
    await create(one, 'd1');
    const heard = await three.listen('lifecycle');
    await move('d1', two);
    await move('d1', three, { name: 'd2' });
    const at = (action: string, location: string) =>
      heard.next(({ metadata }) => {
        const { action: found, context } = metadata as Lifecycle;
        return found === action && context?.['location'] === location;
      });
    await at('container-updated', 'm2');
    expect(((await at('container-renamed', 'm3')).metadata as Lifecycle).context).toMatchObject({ new_name: 'd2' });
    heard.close();
    await one.ok('DELETE', '/1.0/containers/d2');
  });

  test('a move that cannot succeed is refused before it begins, and the container stays unchanged', async () => {
    await create(two, 'e1');
    await create(one, 'e2');
    expect((await refused('e1', 'm2')).text).toContain('is on the member m2 already');
    expect((await refused('e1', 'm9')).status).toBe(404);
    expect((await refused('e9', 'm3')).status).toBe(404);
    expect((await refused('e1', 'm3', { name: 'e2' })).status).toBe(409);
    expect((await refused('e1', 'm3', { name: 'not a name' })).status).toBe(400);
    expect((await refused('e1', 'm3', { pool: 'none' })).text).toContain('m3 has no storage pool none');
    await one.ok('PUT', '/1.0/containers/e1/state', { action: 'start' });
    const running = await refused('e1', 'm3');
    expect(running.status).toBe(400);
    expect(running.text).toContain('stop it before moving it to m3');
    await one.ok('PUT', '/1.0/containers/e1/state', { action: 'stop', force: true });
    await one.ok('POST', '/1.0/containers/e1/backups', { name: 'b' });
    expect((await refused('e1', 'm3')).text).toContain('has backups, which are stored on this member (b)');
    await one.ok('DELETE', '/1.0/containers/e1/backups/b');
    await sent('POST', '/1.0/storage-pools/default/volumes?target=m2', { name: 'v', type: 'custom' });
    await sent('PATCH', '/1.0/containers/e1', {
      devices: { data: { type: 'disk', pool: 'default', source: 'v', path: '/data' } },
    });
    expect(await failure('e1', 'm3')).toContain('default/v');
    expect(await one.get('/1.0/containers/e1')).toMatchObject({ location: 'm2', status: 'Stopped' });
    for (const name of ['e1', 'e2']) await one.ok('DELETE', `/1.0/containers/${name}`);
    await sent('DELETE', '/1.0/storage-pools/default/volumes/custom/v?target=m2');
    expect(leftovers(three)).toEqual([]);
  });

  test('a conflicting file on the other member ends the move and stays', async () => {
    await create(one, 'f1');
    const at = `${three.dir}/storage-pools/default/containers/f1`;
    mkdirSync(at, { recursive: true });
    writeFileSync(`${at}/foreign`, 'x');
    expect(await failure('f1', 'm3')).toContain('already exists');
    expect(leftovers(three)).toEqual(['f1']);
    rmSync(at, { recursive: true });
    await move('f1', two);
    await one.ok('DELETE', '/1.0/containers/f1');
  });

  test('files on shared storage stay in place, and the old member does not delete them', async () => {
    const source = `${one.dir}-shared`;
    mkdirSync(source);
    try {
      await sent('POST', '/1.0/storage-pools', {
        name: 'nfs',
        driver: 'dir',
        config: { source, 'source.shared': 'true' },
      });
      await create(one, 'g1', { devices: { root: { type: 'disk', path: '/', pool: 'nfs' } } });
      await one.call('POST', '/1.0/containers/g1/files?path=/mark', Buffer.from('early'));
      await one.ok('POST', '/1.0/containers/g1/snapshots', { name: 's' });
      await one.call('POST', '/1.0/containers/g1/files?path=/mark', Buffer.from('late'));
      await move('g1', three, { name: 'g2' });
      expect(readdirSync(`${source}/containers`)).toEqual(['g2']);
      await move('g2', one, { name: 'g1' });
      await move('g1', two);
      expect((await one.get('/1.0/containers/g1')).location).toBe('m2');
      await one.restart();
      expect((await one.call('GET', '/1.0/containers/g1/files?path=/mark')).bytes.toString()).toBe('late');
      await one.ok('PUT', '/1.0/containers/g1', { restore: 's' });
      expect((await one.call('GET', '/1.0/containers/g1/files?path=/mark')).bytes.toString()).toBe('early');
      await move('g1', one, { pool: 'default' });
      expect(readdirSync(`${source}/containers`)).toEqual([]);
      expect((await one.call('GET', '/1.0/containers/g1/files?path=/mark')).bytes.toString()).toBe('early');
      await one.ok('DELETE', '/1.0/containers/g1');
      await sent('DELETE', '/1.0/storage-pools/nfs');
    } finally {
      rmSync(source, { recursive: true });
    }
  });

  test('only members send containers to each other', async () => {
    const body = {
      name: 'x',
      uuid: 'x',
      to: 'x',
      pool: 'default',
      container_only: false,
      operation: 'x',
      secrets: { control: 'a', fs: 'b' },
    };
    expect(await one.call('POST', '/internal/cluster/arrivals', body)).toMatchObject({ status: 403 });
    const headers = { 'x-gantry-from': 'm2', 'x-gantry-dialect': 'svc' };
    expect(await one.call('POST', '/internal/cluster/arrivals', body, headers)).toMatchObject({ status: 403 });
  });

  const without = (object: object, key: string) =>
    Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
  const plain = ({ config, ...rest }: { readonly config: Record<string, string> }) => ({
    ...without(rest, 'expanded_config'),
    config: Object.fromEntries(Object.entries(config).filter(([key]) => !key.includes('idmap'))),
  });

  /** Why the request or its operation failed. */
  const failure = async (name: string, target: string, body: object = {}): Promise<string> => {
    const wanted = { name, migration: true, ...body };
    const asked = await one.call('POST', `/1.0/containers/${name}?target=${target}`, wanted);
    if (asked.status !== 202) return asked.bytes.toString();
    return (await one.get(`/1.0/operations/${asked.body.metadata.id}/wait`)).err;
  };
});

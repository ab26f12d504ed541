// The stock `lxc` on a gantryd cluster: copies between members, and the verbs of `lxc cluster` over the socket and TLS, which work or
// are refused with the reason.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { makePair } from '../../support/daemons/tls.ts';

const missing = clientMissing('lxc') ?? etcdMissing();
if (missing !== undefined) console.log(`skipped: lxc cluster: ${missing}`);

describe.skipIf(missing !== undefined)('lxc cluster', () => {
  const work = tempFolder('gtlc-');
  let cluster: TestCluster;
  let one: TestMember;
  let three: TestMember;
  let lxc: ReturnType<typeof lxcClient>;

  beforeAll(async () => {
    cluster = await makeCluster(3, 1, (name) => {
      mkdirSync(join(work, name));
      return { lxd: { socket: join(work, name, 'unix.socket') } };
    });
    const [first, , third] = cluster.members;
    if (first === undefined || third === undefined) throw new Error('the cluster has no three members');
    [one, three] = [first, third];
    lxc = lxcClient(join(work, 'm1'), work);
  });
  afterAll(() => cluster.cleanUp());

  const refusal = async (...words: readonly string[]): Promise<string> => {
    const ran = await lxc.run(words);
    expect([words, ran.code]).toEqual([words, 1]);
    return ran.stderr;
  };
  const listed = async (remote: string): Promise<string[][]> =>
    (await lxc('cluster', 'list', remote, '-f', 'csv'))
      .trim()
      .split('\n')
      .map((line) => line.split(','));

  // As the documentation forms a cluster: only its own address listens.
  describe('copy --target', () => {
    const shown = async (name: string) => await one.get(`/1.0/containers/${name}`);
    beforeAll(async () => {
      await one.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
      const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
      const near = { name: 'near', source: { type: 'none' }, devices, config: { 'user.a': 'b' } };
      await one.ok('POST', '/1.0/containers?target=m1', near);
      await one.ok('POST', '/1.0/containers/near/snapshots', { name: 's1' });
      await one.ok('POST', '/1.0/containers?target=m2', { name: 'far', source: { type: 'none' }, devices });
    });
    afterAll(async () => {
      for (const url of (await one.get('/1.0/containers')) as string[]) await one.ok('DELETE', url);
      await one.call('DELETE', '/1.0/storage-pools/p');
    });

    test('is announced as cluster_internal_copy, and the server names the address of its members', async () => {
      const { api_extensions: extensions, environment } = await one.get('/1.0');
      expect(extensions).toContain('cluster_internal_copy');
      expect(environment.addresses).toEqual([one.address]);
    });

    test('copies a container with its config and snapshots from the contacted member to another one', async () => {
      await lxc('copy', 'near', 'near2', '--target', 'm2');
      expect(await shown('near2')).toMatchObject({ location: 'm2', config: { 'user.a': 'b' } });
      expect(await one.get('/1.0/containers/near2/snapshots')).toHaveLength(1);
      await lxc('copy', 'near/s1', 'near3', '--target', 'm3');
      expect(await shown('near3')).toMatchObject({ location: 'm3' });
    });

    test('copies a container of another member to a third one, to the contacted one, and within its member', async () => {
      for (const target of ['m3', 'm1', 'm2']) {
        await lxc('copy', 'far', `far-${target}`, '--target', target);
        expect(await shown(`far-${target}`)).toMatchObject({ location: target });
      }
      await lxc('copy', 'far', 'far-any');
      expect((await shown('far-any')).location).toBe('m2');
    });
  });

  test('storage volume copy and move take a volume to another member, though only their own addresses listen', async () => {
    await one.call('POST', '/1.0/storage-pools', { name: 'q', driver: 'dir' });
    await lxc('storage', 'volume', 'create', 'q', 'data', '--target', 'm2');
    await lxc('storage', 'volume', 'snapshot', 'q', 'data', 's1', '--target', 'm2');
    await lxc('storage', 'volume', 'copy', 'q/data', 'q/copy', '--target', 'm2', '--destination-target', 'm3');
    await lxc('storage', 'volume', 'copy', 'q/data', 'q/found', '--destination-target', 'm1');
    await lxc('storage', 'volume', 'move', 'q/copy', 'q/moved', '--target', 'm3', '--destination-target', 'm1');
    const volumes = (await one.get('/1.0/storage-pools/q/volumes?recursion=1')) as { name: string; location: string }[];
    expect(volumes.map(({ name, location }) => `${name} ${location}`).toSorted()).toEqual([
      'data m2',
      'data/s1 m2',
      'found m1',
      'found/s1 m1',
      'moved m1',
      'moved/s1 m1',
    ]);
    for (const { name, location } of volumes)
      if (!name.includes('/'))
        await one.call('DELETE', `/1.0/storage-pools/q/volumes/custom/${name}?target=${location}`);
    await one.call('DELETE', '/1.0/storage-pools/q');
  });

  test('remote add makes a remote of the address of a member', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await lxc('config', 'set', `core.https_address=${address}`, 'core.trust_password=pw');
    await lxc('remote', 'add', 'far', `https://${address}`, '--accept-certificate', '--password', 'pw');
  });

  test('list and show tell names, addresses, roles, architecture and status', async () => {
    expect((await listed('far:')).map(([name, url, , , , , status]) => [name, url, status])).toEqual(
      cluster.members.map(({ name, address }) => [name, `https://${address}`, 'ONLINE']),
    );
    const shown = await lxc('cluster', 'show', 'far:m2');
    for (const line of [
      'roles:\n- database',
      'failure_domain: default',
      'description: ""',
      'architecture: x86_64',
      'status: Online',
      'message: Fully operational',
    ])
      expect(shown).toContain(line);
    expect(await refusal('cluster', 'show', 'far:nobody')).toContain('There is no cluster member nobody');
  });

  test('update-certificate gives all members another certificate, and refuses a mismatched one', async () => {
    const pair = await makePair('other', { subjectAltNames: ['127.0.0.1'], usage: 'server' });
    const [cert, key] = [join(work, 'other.crt'), join(work, 'other.key')];
    writeFileSync(cert, pair.certPem);
    writeFileSync(key, readFileSync(join(one.dir, 'cluster.key')));
    expect(await refusal('cluster', 'update-certificate', 'far:', cert, key)).toContain('must be the key');
    writeFileSync(key, pair.keyPem);
    await lxc('cluster', 'update-certificate', 'far:', cert, key);
    for (const { dir } of cluster.members)
      await until(() => Promise.resolve(readFileSync(join(dir, 'cluster.crt'), 'utf8') === pair.certPem));
    // The client pins the new one from now on.
    expect((await listed('far:')).map(([name]) => name)).toEqual(['m1', 'm2', 'm3']);
  });

  test('enable is refused in a cluster', async () => {
    expect(await refusal('cluster', 'enable', 'again')).toContain('already clustered');
  });

  test('add makes a token that is listed until revoke-token withdraws it', async () => {
    const token = (await lxc('cluster', 'add', 'far:new')).trim().split('\n').at(-1) ?? '';
    expect(JSON.parse(Buffer.from(token, 'base64').toString())).toMatchObject({ server_name: 'new' });
    expect(await lxc('cluster', 'list-tokens', 'far:', '-f', 'csv')).toContain(`new,${token.slice(0, 20)}`);
    await lxc('cluster', 'revoke-token', 'far:new');
    await until(async () => (await lxc('cluster', 'list-tokens', 'far:', '-f', 'csv')).trim() === '');
    expect(await refusal('cluster', 'revoke-token', 'far:new')).toContain('No cluster join token');
    expect(await refusal('cluster', 'add', 'far:m2')).toContain('m2');
  });

  test('a host joins with a token of lxc in place of the password, like an LXD preseed, and is removed', async () => {
    const host = await makeDaemon();
    onTestFinished(() => host.cleanUp());
    const token = (await lxc('cluster', 'add', 'far:new')).trim().split('\n').at(-1);
    await host.ok('PUT', '/1.0/cluster', {
      server_name: 'new',
      enabled: true,
      server_address: `127.0.0.1:${await freePort()}`,
      cluster_address: one.address,
      cluster_certificate: readFileSync(join(one.dir, 'cluster.crt'), 'utf8'),
      cluster_password: token,
    });
    await until(async () => (await listed('far:')).some(([name]) => name === 'new'));
    await lxc('cluster', 'remove', 'far:new');
    expect(await host.get('/1.0/cluster')).toMatchObject({ enabled: false });
    expect((await listed('far:')).map(([name]) => name)).toEqual(['m1', 'm2', 'm3']);
  });

  test('rename takes effect on every member at once', async () => {
    await lxc('cluster', 'rename', 'm2', 'second');
    expect(await three.get('/1.0/cluster/members')).toContain('/1.0/cluster/members/second');
    expect(await refusal('cluster', 'rename', 'second', 'm1')).toContain('m1');
    await lxc('cluster', 'rename', 'second', 'm2');
    expect(await refusal('cluster', 'rename', 'nobody', 'x')).toContain('There is no cluster member nobody');
  });

  test('evacuate and restore, and move --target, take a container to another member and back', async () => {
    await lxc('storage', 'create', 'local:default', 'dir');
    await one.ok('POST', '/1.0/containers?target=m2', {
      name: 'web',
      source: { type: 'none' },
      devices: { root: { type: 'disk', path: '/', pool: 'default' } },
    });
    const place = async (): Promise<string> => (await lxc('list', 'far:', '-f', 'csv', '-c', 'nsL')).trim();
    expect(await place()).toBe('web,STOPPED,m2');
    await lxc('move', 'far:web', '--target', 'm3');
    expect(await place()).toBe('web,STOPPED,m3');
    await lxc('move', 'web', 'site', '--target', 'm2');
    expect(await place()).toBe('site,STOPPED,m2');
    await lxc('start', 'far:site');
    await lxc('move', 'far:site', '--target', 'm3');
    expect(await place()).toBe('site,RUNNING,m3');
    await lxc('move', 'far:site', '--target', 'm2');
    await lxc('cluster', 'evacuate', 'far:m2', '--force');
    expect((await listed('far:'))[1]?.[6]).toBe('EVACUATED');
    expect(await place()).toMatch(/^site,RUNNING,m[13]$/);
    await lxc('cluster', 'restore', 'm2', '--force');
    expect((await listed('local:'))[1]?.[6]).toBe('ONLINE');
    expect(await place()).toBe('site,RUNNING,m2');
    await lxc('delete', 'site', '--force');
    await lxc('profile', 'device', 'remove', 'default', 'root').catch(() => {});
    await lxc('storage', 'delete', 'default');
  });

  test('remove ends when the member has left, --force removes a lost one, and the member itself accepts the request', async () => {
    expect(await refusal('cluster', 'remove', 'far:nobody')).toContain('There is no cluster member nobody');
    await lxcClient(join(work, 'm3'), join(work, 'm3'))('cluster', 'remove', 'm3');
    expect((await listed('far:')).map(([name]) => name)).toEqual(['m1', 'm2']);
    expect(await three.get('/1.0/cluster')).toMatchObject({ enabled: false });
    await cluster.members[1]?.stop();
    await until(async () => (await listed('local:'))[1]?.[6] === 'OFFLINE');
    expect(await refusal('cluster', 'remove', 'm2')).toContain('with force it is removed');
    await lxc('cluster', 'remove', 'm2', '--force', '--yes');
    expect((await listed('far:')).map(([name]) => name)).toEqual(['m1']);
    expect(await refusal('cluster', 'remove', 'm1', '--force', '--yes')).toContain('the only one of its cluster');
  });
});

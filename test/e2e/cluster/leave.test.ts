// A member that leaves its cluster is a single host, also after a restart.
import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../support/cluster/members.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { cli } from '../../support/cli/io.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = etcdMissing() ?? busyboxMissing();

describe.skipIf(missing !== undefined)('leaving a cluster', () => {
  let cluster: TestCluster;
  let one: TestMember;
  let dir: string;
  beforeAll(async () => {
    dir = tempFolder('gantry-leave-');
    cluster = await makeCluster(1);
    one = cluster.members[0] ?? expect.unreachable();
  });
  afterAll(() => cluster?.cleanUp());

  /** The fingerprint of an uploaded image, and its path on the member. */
  async function upload(member: TestMember, word: string): Promise<readonly [fingerprint: string, path: string]> {
    const metadata = `architecture: x86_64\ncreation_date: 1700000000\nproperties: {os: ${word}}\n`;
    const { metadataPath, fingerprint } = await buildBusyboxImage(join(dir, word), {
      metadata,
      busybox: { withoutPrograms: true },
    });
    const headers = { 'content-type': 'application/octet-stream' };
    await member.ok('POST', '/1.0/images', await readFile(metadataPath), headers);
    return [fingerprint, join(member.dir, 'images', fingerprint)];
  }

  const names = async (member: TestMember) => member.get('/1.0/cluster/members');
  const urlOf = ({ name }: TestMember): string => `/1.0/cluster/members/${name}`;
  const membershipOf = (member: TestMember) => join(member.dir, 'cluster', 'membership.json');
  const root = { type: 'disk', path: '/', pool: 'default' };

  test('an empty member is a single host with its own certificate after its removal, keeps the shared objects, and can join again', async () => {
    const two = await cluster.add('m3');
    await one.call('POST', '/1.0/profiles', { name: 'shared', config: { 'user.a': 'b' } });
    await one.call('PATCH', '/1.0', { config: { 'user.whole': 'x' } });
    const print = async (member: TestMember) =>
      (await member.get('/1.0')).environment.certificate_fingerprint as string;
    const common = await print(one);
    expect(await print(two)).toBe(common);
    await one.ok('DELETE', urlOf(two));

    expect(await names(one)).not.toContain(urlOf(two));
    await until(async () => (await print(two)) !== common);
    expect(await print(one)).toBe(common);
    const alone = async () => {
      expect(await two.get('/1.0/cluster')).toMatchObject({ enabled: false, server_name: '' });
      expect((await two.get('/1.0')).environment).toMatchObject({ server_clustered: false });
      expect((await two.get('/1.0')).config).toMatchObject({ 'user.whole': 'x' });
      expect(await two.get('/1.0/profiles/shared')).toMatchObject({ config: { 'user.a': 'b' } });
    };
    await alone();
    expect(existsSync(membershipOf(two))).toBe(false);
    await two.call('POST', '/1.0/profiles', { name: 'own' });
    await one.call('POST', '/1.0/profiles', { name: 'others' });
    expect(await two.get('/1.0/profiles')).not.toContain('/1.0/profiles/others');
    expect(await one.get('/1.0/profiles')).not.toContain('/1.0/profiles/own');

    await two.restart();
    await alone();
    expect(await two.get('/1.0/profiles')).toContain('/1.0/profiles/own');
    await two.call('DELETE', '/1.0/profiles/own');

    const asked = await one.call('POST', '/1.0/cluster/members', { server_name: 'again' });
    await two.ok('PUT', '/1.0/cluster', {
      server_name: 'again',
      enabled: true,
      server_address: two.address,
      cluster_token: tokenOf(asked.body.metadata.metadata as Record<string, unknown>),
    });
    await until(async () => ((await names(one)) as string[]).includes('/1.0/cluster/members/again'));
    expect(await two.get('/1.0/cluster')).toMatchObject({ enabled: true, server_name: 'again' });
  });

  describe('a member that stays', () => {
    let two: TestMember;
    beforeAll(async () => void (two = await cluster.add('m2')));

    test('a copy of the state directory of a member starts neither beside it nor on another host, and does no harm', async () => {
      const copy = join(dir, 'copy');
      await cp(two.dir, copy, { recursive: true, filter: (path) => !path.endsWith('.socket') });
      const start = () => startDaemon({ stateDir: copy, runtime: 'sim', log: silentLog });
      await expect(start()).rejects.toThrow(`Another process listens at ${two.address}, the address of this member`);
      const membership = JSON.parse(await readFile(join(copy, 'cluster', 'membership.json'), 'utf8')) as object;
      const elsewhere = JSON.stringify({ ...membership, address: '192.0.2.1:8443' });
      await writeFile(join(copy, 'cluster', 'membership.json'), elsewhere);
      await expect(start()).rejects.toThrow('This host does not have the address 192.0.2.1:8443 of its member');
      expect((await two.call('POST', '/1.0/profiles', { name: 'alive' })).status).toBe(200);
      expect(await one.get('/1.0/profiles')).toContain('/1.0/profiles/alive');
    });

    test('a member with a container stays, names the container, and continues to work', async () => {
      await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
      await two.ok('POST', '/1.0/containers?target=m2', { name: 'c1', source: { type: 'none' }, devices: { root } });
      expect(await one.get('/1.0/containers/c1')).toMatchObject({ location: 'm2' });
      const refused = await one.call('DELETE', '/1.0/cluster/members/m2');
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([
        400,
        expect.stringContaining('The member m2 still has the container c1'),
      ]);
      expect(await names(two)).toContain(urlOf(two));
    });

    test('clients cannot use the endpoint for a member that leaves by itself, not even through another member', async () => {
      for (const path of ['/1.0/cluster', '/1.0/cluster?target=m2']) {
        const answer = await one.call('PUT', path, { server_name: '', enabled: false });
        expect(answer.status).toBe(400);
      }
      expect(await names(one)).toContain(urlOf(two));
      expect(existsSync(membershipOf(two))).toBe(true);
    });
  });

  describe('a member that leaves', () => {
    test('a host that is removed by force while it joins writes nothing to the cluster, and is single or reports the removal', async () => {
      for (const delayMs of isLongRun ? [0, 5, 10, 20, 40] : [0, 20]) {
        const host = await makeDaemon();
        try {
          const { body } = await one.call('POST', '/1.0/cluster/members', { server_name: 'late' });
          const token = tokenOf(body.metadata.metadata as Record<string, unknown>);
          const server_address = `127.0.0.1:${await freePort()}`;
          const sent = { server_name: 'late', enabled: true, server_address, cluster_token: token };
          const joining = host.run('PUT', '/1.0/cluster', sent);
          await until(async () => ((await names(one)) as string[]).includes('/1.0/cluster/members/late'));
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          await one.ok('DELETE', '/1.0/cluster/members/late?force=1');
          const joined = await joining;
          expect(await names(one)).not.toContain('/1.0/cluster/members/late');
          await host.call('POST', '/1.0/profiles', { name: 'ghost' });
          expect(await one.get('/1.0/profiles')).not.toContain('/1.0/profiles/ghost');
          if (joined.status === 'Success')
            await until(async () => {
              const { enabled } = await host.get('/1.0/cluster');
              return enabled === false || host.logged.join('\n').includes('This host was removed from its cluster');
            });
          else expect(joined.err).toMatch(/was removed from the cluster while|has shut this daemon out/);
        } finally {
          await host.cleanUp();
        }
      }
    });

    test('force alone does not remove an online member with a container; with --yes it is removed and becomes read-only', async () => {
      const third = await cluster.add('m4');
      await third.ok('POST', '/1.0/containers?target=m4', { name: 'c2', source: { type: 'none' }, devices: { root } });
      await until(async () => (await one.get('/1.0/containers')).includes('/1.0/containers/c2'));
      const gantry = (...words: readonly string[]) =>
        cli(['cluster', 'remove', 'm4', ...words, '--host', `unix://${one.socketPath}`]);
      const refused = await gantry('--force');
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringMatching(/m4 still has the container c2: evacuate it first.*It is online.*--force --yes/s),
      ]);
      expect(await names(one)).toContain(urlOf(third));
      expect(await gantry('--yes')).toMatchObject({ code: 64 });

      expect(await gantry('--force', '--yes')).toMatchObject({ code: 0 });
      expect(await names(one)).not.toContain(urlOf(third));
      await until(async () => (await third.call('GET', '/1.0/profiles')).headers['x-svc-stale'] === 'true');
      const change = await third.call('POST', '/1.0/profiles', { name: 'zombie' });
      expect([change.status, change.metadata]).toMatchObject([
        500,
        { code: 'unavailable', message: expect.stringMatching(/was removed from its cluster, so it is read-only/) },
      ]);
      const shown = await cli(['get', 'profiles', '--host', `unix://${third.socketPath}`]);
      expect([shown.code, shown.stderr]).toEqual([0, expect.stringContaining('was removed from its cluster')]);
      expect((await third.get('/1.0')).environment.read_only).toContain('was removed from its cluster');
    });

    test('an image that only the member has is copied before it leaves', async () => {
      const two = await cluster.add('m5');
      await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '1' } });
      const [image] = await upload(two, 'alone');
      await two.call('POST', '/1.0/images/aliases', { name: 'kept', target: image });
      await one.ok('DELETE', urlOf(two));
      expect(await one.get('/1.0/images/aliases/kept')).toMatchObject({ target: image });
      expect(await one.get(`/1.0/images/${image}`)).toMatchObject({ properties: { os: 'alone' } });
      expect((await one.call('GET', `/1.0/images/${image}/export`)).status).toBe(200);
    });

    test('a member with the only copy of an image that cannot be copied stays and says why; with force it leaves', async () => {
      const two = await cluster.add('m6');
      await one.call('PATCH', '/1.0', { config: { 'cluster.images_minimal_replica': '1' } });
      const [image, path] = await upload(two, 'damaged');
      await writeFile(path, 'nothing of it');
      const ended = await one.call('DELETE', urlOf(two)).then(({ body }) => one.get(`${body.operation}/wait`));
      expect(ended).toMatchObject({
        status_code: 400,
        err: expect.stringMatching(
          /^The member m6 has the only copy of the image .* cannot be copied to \w+: .*force/s,
        ),
      });
      expect(await names(two)).toContain(urlOf(two));
      await one.ok('DELETE', `${urlOf(two)}?force=1`);
      expect(await names(one)).not.toContain(urlOf(two));
      expect((await one.call('GET', `/1.0/images/${image}`)).status).toBe(404);
    });

    test('a host that was removed while offline no longer starts as a member, and says what to do', async () => {
      const two = await cluster.add('m7');
      await two
        .restart(async () => {
          await until(async () => (await one.get(urlOf(two))).status !== 'Online');
          await one.ok('DELETE', `${urlOf(two)}?force=1`);
        })
        .then(
          () => expect.unreachable('it started'),
          (error: unknown) => expect(String(error)).toMatch(/was removed from its cluster.*gantryd cluster leave/s),
        );
    });
  });
});

// A tenant is the other server of a migration into its own project: its offers and data reach neither the host nor other projects.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import {
  connect,
  directory,
  file,
  gone,
  machine,
  type Met,
  node,
  offerOf,
  refreshAs,
  type Sent,
  sendTo,
  snapshotOf,
  volumeOffer,
} from '../../../support/hostile/hostile-source.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';
import { tarOf, type TarPiece } from '../../../support/images/hostile.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn('skipped: device nodes, owners and btrfs need root');

const suite = useSharedHost('got');
const { outside, fresh } = suite;
const own = '?project=mine';
const volumeOf = (name: string, kind = 'containers'): string =>
  join(suite.host.admin.dir, 'storage-pools/default', kind, `mine%${name}`);

const tree = (...more: readonly TarPiece[]): Buffer => tarOf(directory('./'), directory('./rootfs/'), ...more);
const send = (name: string, sent: Sent): Promise<Met> => sendTo(suite, name, sent);

async function isNotMade(name: string): Promise<void> {
  expect((await suite.host.tenant('GET', `/1.0/containers/${name}${own}`)).status).toBe(404);
  expect(existsSync(volumeOf(name))).toBe(false);
  expect(existsSync(volumeOf(name, 'containers-snapshots'))).toBe(false);
  expect(await suite.host.others()).toBe(suite.before);
}

const configs: readonly (readonly [string, string])[] = [
  ['security.privileged', 'true'],
  ['security.nesting', 'true'],
  ['raw.lxc', 'lxc.mount.entry = /etc mnt none bind'],
  ['raw.apparmor', 'mount,'],
  ['raw.seccomp', '2'],
  ['raw.idmap', 'both 0 0'],
  ['linux.kernel_modules', 'loop'],
  ['security.idmap.base', '0'],
  ['security.syscalls.intercept.mount', 'true'],
];
const devices: readonly (readonly [string, Record<string, string>])[] = [
  ['a path of the host', { type: 'disk', path: '/m', source: '/etc' }],
  ['the bridge of others', { type: 'nic', network: 'secretnet' }],
  ['memory of the host', { type: 'unix-char', path: '/dev/mem' }],
  ['a proxy to the host', { type: 'proxy', listen: 'tcp:0.0.0.0:81', connect: 'tcp:127.0.0.1:22' }],
  ['an interface of the host', { type: 'nic', nictype: 'physical', parent: 'lo' }],
  ['the address of the victim', { type: 'nic', network: 'lan', 'ipv4.address': '10.9.8.77' }],
  ['the volume of the victim', { type: 'disk', path: '/m', pool: 'default', source: 'vol' }],
];

describe('an offer is refused', () => {
  test.each(configs)('an offer with the key %s', async (key, value) => {
    const name = fresh();
    const object = { ...machine, config: { [key]: value } };
    expect((await send(name, { offer: offerOf({ object }) })).err).toMatch(new RegExp(`config\\.${key}[ :]`));
    await isNotMade(name);
  });

  test.each(devices)('an offer with %s', async (_what, device) => {
    const name = fresh();
    const object = { ...machine, devices: { d: device } };
    expect((await send(name, { offer: offerOf({ object }) })).err).toMatch(/does not allow|not found|another project/);
    await isNotMade(name);
  });

  test.each(['hidden', 'theirs%hidden', 'default/hidden'])(
    'an offer with the profile %s of others',
    async (profile) => {
      const name = fresh();
      const object = { ...machine, profiles: [profile] };
      expect((await send(name, { offer: offerOf({ object }) })).err).toContain(`there is no profile ${profile}`);
      await isNotMade(name);
    },
  );

  test('an offer with names of snapshots that contain paths', async () => {
    for (const snapshot of ['../../theirs%victim', 'a/b', 'theirs%victim/snap', '..', '']) {
      const name = fresh();
      const { err } = await send(name, { offer: offerOf({ snapshots: [snapshotOf(snapshot)] }) });
      expect(err).toContain('Invalid snapshot name');
      await isNotMade(name);
    }
  });

  test('an offer with a checkpoint, which root of the host would execute', async () => {
    const name = fresh();
    const asked = await send(name, { body: { source: { type: 'migration', mode: 'push', live: true } }, offer: {} });
    expect([asked.status, asked.err]).toEqual([
      403,
      expect.stringMatching(/checkpoint.*restricted\.containers\.lowlevel/),
    ]);
    const offered = await send(name, { offer: offerOf({ live: true }) });
    expect(offered.err).toMatch(/checkpoint.*restricted\.containers\.lowlevel/);
    await isNotMade(name);
  });

  test('an offer with a stream of btrfs, which could write elsewhere', async () => {
    const name = fresh();
    expect((await send(name, { offer: offerOf({ formats: ['btrfs'] }) })).err).toMatch(/btrfs.*takes tar/);
    await isNotMade(name);
  });

  test('an offer larger than the container may be, or with snapshots where those are not allowed', async () => {
    const path = '/1.0/projects/mine';
    const patch = (config: object) => suite.host.admin.call('PATCH', path, { config });
    await patch({ 'limits.containers': '1' });
    expect((await send(fresh(), { offer: offerOf() })).err).toContain('limits.containers');
    await patch({ 'limits.containers': '', 'restricted.snapshots': 'block' });
    const name = fresh();
    const snapshots = [snapshotOf('s')];
    const met = await send(name, { offer: offerOf({ snapshots }), streams: [tree(), tree()] });
    expect(met.err).toContain('restricted.snapshots');
    await patch({ 'restricted.snapshots': 'allow' });
    await isNotMade(name);
  });
});

describe('data that a tenant sends', () => {
  const take = async (...parts: readonly TarPiece[]): Promise<string> => {
    const name = fresh();
    expect((await send(name, { offer: offerOf(), streams: [tree(...parts)] })).err).toBe('');
    return name;
  };

  test('server-kept keys are not accepted, whoever sends them', async () => {
    const config = {
      'volatile.idmap.base': '0',
      'volatile.idmap.next': '[{"Isuid":true,"Isgid":true,"Hostid":0,"Nsid":0,"Maprange":65536}]',
      'volatile.last_state.idmap': '[{"Isuid":true,"Isgid":true,"Hostid":0,"Nsid":0,"Maprange":65536}]',
      'volatile.uuid': 'x',
      'volatile.eth0.host_name': 'lo',
      'volatile.cloud-init.instance-id': 'x\\nuser-data: y',
    };
    const name = fresh();
    const snapshots = [snapshotOf('s', { config })];
    const offer = offerOf({ object: { ...machine, config }, snapshots });
    expect((await send(name, { offer, streams: [tree(), tree()] })).err).toBe('');
    const shown = await suite.host.tenant('GET', `/1.0/containers/${name}${own}`);
    const saved = await suite.host.tenant('GET', `/1.0/containers/${name}/snapshots/s${own}`);
    for (const found of [shown.metadata.config, saved.metadata.config] as Record<string, string>[]) {
      const kept = Object.keys(found).filter((key) => key.startsWith('volatile.'));
      expect(
        kept.filter(
          (key) =>
            !/^volatile\.(apply_template|last_state\.idmap|idmap\.(base|next)|cloud-init\.instance-id|.*hwaddr)$/.test(
              key,
            ),
        ),
      ).toEqual([]);
      // The daemon's own, not what was sent.
      expect(found['volatile.idmap.next'] ?? '').not.toContain('"Hostid":0,');
      expect(found['volatile.last_state.idmap']).toBe('[]');
      expect(found['volatile.cloud-init.instance-id'] ?? '').toMatch(/^([0-9a-f-]{36})?$/);
    }
  });

  test('a snapshot with privileges is recorded, and neither restored nor copied', async () => {
    const name = fresh();
    const snapshots = [snapshotOf('s', { config: { 'security.privileged': 'true' }, devices: { d: devices[0]?.[1] } })];
    const { err } = await send(name, { offer: offerOf({ snapshots }), streams: [tree(), tree()] });
    expect(err).toBe('');
    const back = await suite.host.tenant('PUT', `/1.0/containers/${name}${own}`, { restore: 's' });
    expect([back.status, back.metadata.message]).toEqual([403, expect.stringContaining('config.security.privileged')]);
    const source = { type: 'copy', source: `${name}/s` };
    const copied = await suite.host.tenant('POST', `/1.0/containers${own}`, { name: 'copied', source });
    expect([copied.status, copied.metadata.message]).toEqual([
      403,
      expect.stringContaining('config.security.privileged'),
    ]);
  });

  test('checkpoints of snapshots are not accepted, and neither is anything foreign to a volume', async () => {
    const name = fresh();
    const parts = tree(directory('./state/'), file('./state/inventory.img'), file('./backup.yaml'), file('./rootfs/a'));
    const offer = offerOf({ snapshots: [snapshotOf('s', { stateful: true })] });
    expect((await send(name, { offer, streams: [parts, parts] })).err).toBe('');
    const saved = await suite.host.tenant('GET', `/1.0/containers/${name}/snapshots/s${own}`);
    expect(saved.metadata.stateful).toBe(false);
    expect(readdirSync(volumeOf(name))).toEqual(['rootfs']);
    expect(readdirSync(join(volumeOf(name, 'containers-snapshots'), 's'))).toEqual(['rootfs']);
    const back = await suite.host.tenant('PUT', `/1.0/containers/${name}${own}`, { restore: 's', stateful: true });
    expect([back.status, back.metadata.message]).toEqual([400, expect.stringContaining('holds no checkpoint')]);
  });

  test.runIf(isRoot)('device nodes are not accepted', async () => {
    const name = await take(
      { name: './rootfs/sda', flag: '4', change: node },
      { name: './rootfs/mem', flag: '3', change: node },
      { name: './rootfs/deleted', flag: '3', change: gone },
    );
    expect(readdirSync(join(volumeOf(name), 'rootfs'))).toEqual(['deleted']);
    expect(lstatSync(join(volumeOf(name), 'rootfs/deleted')).rdev).toBe(0);
  });

  test.each<[string, readonly TarPiece[]]>([
    ['through a link', [{ name: './rootfs/link', flag: '2', link: outside }, file('./rootfs/link/evil')]],
    ['through a link at the top', [{ name: './templates', flag: '2', link: outside }, file('./templates/evil')]],
    ['by a name that climbs', [file('./rootfs/../../../../evil')]],
    ['by an absolute name', [file(join(outside, 'evil'))]],
    [
      'through a hard link',
      [{ name: './rootfs/hard', flag: '1', link: join(outside, 'target') }, file('./rootfs/hard')],
    ],
  ])('nothing is written elsewhere %s', async (_what, parts) => {
    writeFileSync(join(outside, 'target'), 'as it was');
    const name = fresh();
    await send(name, { offer: offerOf(), streams: [tree(...parts)] });
    expect(readdirSync(outside)).toEqual(['target']);
    expect(await suite.host.others()).toBe(suite.before);
  });
});

test('the refresh of a copy does not accept it either', async () => {
  const name = fresh();
  expect((await send(name, { offer: offerOf(), streams: [tree(file('./rootfs/old'))] })).err).toBe('');
  // The listing goes to the source first; then follow the changed members, and the removed names.
  const changed = tree(directory('./state/'), file('./state/inventory.img'), file('./rootfs/new'), {
    name: './rootfs/mem',
    flag: '3',
    change: node,
  }).subarray(0, -1024);
  const { err, heard } = await refreshAs(suite, name, {
    offer: offerOf({ formats: ['btrfs', 'tar'], snapshots: [] }),
    streams: [changed, Buffer.alloc(0)],
  });
  expect([err, heard]).toEqual(['', expect.stringContaining('"format":"tar"')]);
  expect(readdirSync(volumeOf(name))).toEqual(['rootfs']);
  expect(readdirSync(join(volumeOf(name), 'rootfs')).toSorted()).toEqual(['new', 'old']);
});

describe('a container of others', () => {
  test('is not sent to a tenant, who neither sees nor enters a migration of an administrator', async () => {
    const source = await suite.host.admin.call('POST', '/1.0/containers/victim?project=theirs', {
      migration: true,
      live: false,
    });
    const [url = ''] = (source.body.operation as string).split('?');
    const secrets = source.metadata.metadata as Record<string, string>;
    for (const query of [own, '', '?project=theirs'])
      expect((await suite.host.tenant('GET', `${url}${query}`)).status).toBe(404);
    for (const recursion of [0, 1]) {
      const seen = await suite.host.tenant('GET', `/1.0/operations${own}&recursion=${recursion}`);
      expect(seen.bytes.toString()).not.toContain(url.split('/').at(-1));
    }
    for (const secret of ['', 'f'.repeat(64), secrets['control']?.slice(0, -1) ?? ''])
      for (const query of ['', '&project=mine', '&project=theirs'])
        expect([403, 404]).toContain(await connect(suite.host, `${url}/websocket?secret=${secret}${query}`));
    // The tenant may connect to this host, so that the channels themselves refuse it.
    const reach = (networks: string) =>
      suite.host.admin.call('PATCH', '/1.0/projects/mine', { config: { 'restricted.remotes.networks': networks } });
    await reach('127.0.0.1');
    const pull = await suite.host.tenant('POST', `/1.0/containers${own}`, {
      name: fresh(),
      source: {
        type: 'migration',
        mode: 'pull',
        operation: `https://${suite.host.admin.daemon.httpsAddress()}${url}`,
        certificate: (await suite.host.admin.get('/1.0')).environment.certificate as string,
        secrets: { control: 'a', fs: 'b' },
      },
    });
    const ended: Operation = await suite.host.admin.wait(pull.body.operation as string);
    expect(ended.err).toMatch(/403|404/);
    await reach('');
    const waiting = (await suite.host.admin.call('GET', source.body.operation as string)).metadata as Operation;
    expect(waiting.status).toBe('Running');
    await suite.host.admin.call('DELETE', source.body.operation as string);
    await suite.host.admin.wait(source.body.operation as string);
  });

  test.each(['victim', 'theirs%25victim', 'victim/snapshots/snap', 'base'])(
    'is not offered by its name %s',
    async (name) => {
      const answer = await suite.host.tenant('POST', `/1.0/containers/${name}${own}`, {
        migration: true,
        live: false,
        name: 'x',
      });
      expect([answer.status, answer.metadata.message]).toEqual([404, expect.stringContaining('not found')]);
    },
  );

  test('is no source for the refresh of a copy of the tenant', async () => {
    for (const source of [{ source: 'victim' }, { source: 'theirs%victim' }, { source: 'victim', project: 'theirs' }]) {
      const body = { name: 'own', source: { type: 'copy', refresh: true, ...source } };
      expect((await suite.host.tenant('POST', `/1.0/containers${own}`, body)).status).toBe(404);
    }
  });
});

/** Needs loop devices and btrfs. */
const hasBtrfs = (): boolean => {
  if (!isRoot) return false;
  try {
    execFileSync('mkfs.btrfs', ['--version']);
    return true;
  } catch {
    console.warn('skipped: there is no mkfs.btrfs');
    return false;
  }
};

describe.runIf(hasBtrfs())('in a pool of btrfs', () => {
  beforeAll(async () => {
    const pool = { name: 'fast', driver: 'btrfs', config: { size: '256MiB' } };
    expect((await suite.host.admin.call('POST', '/1.0/storage-pools', pool)).status).toBeLessThan(300);
    await suite.look();
  });
  const root = (size: string) => ({ root: { type: 'disk', path: '/', pool: 'fast', size } });

  test('a tenant that offers btrfs and tar is asked for tar, for containers and for volumes', async () => {
    const offer = offerOf({ formats: ['btrfs', 'tar'], object: { ...machine, devices: root('32MiB') } });
    const name = fresh();
    const met = await send(name, { offer, streams: [tree(file('./rootfs/a'))] });
    expect([met.err, met.heard]).toEqual(['', expect.stringContaining('"format":"tar"')]);
    const volume = await send(fresh(), {
      path: '/1.0/storage-pools/fast/volumes/custom',
      offer: volumeOffer({ formats: ['btrfs', 'tar'] }),
      streams: [tarOf(directory('./'), file('./a'))],
    });
    expect([volume.err, volume.heard]).toEqual(['', expect.stringContaining('"format":"tar"')]);
  });

  test('more than the size of the root disk is refused during the transfer', async () => {
    const offer = offerOf({ object: { ...machine, devices: root('1MiB') } });
    const name = fresh();
    const streams = [tree({ name: './rootfs/large', content: Buffer.alloc(3 * 1024 * 1024) })];
    expect((await send(name, { offer, streams })).err).toMatch(/more than the 1MiB/);
    expect((await suite.host.tenant('GET', `/1.0/containers/${name}${own}`)).status).toBe(404);
  });

  test('more than the size of a volume is refused during the transfer', async () => {
    const { err } = await send(fresh(), {
      path: '/1.0/storage-pools/fast/volumes/custom',
      offer: volumeOffer({ object: { description: '', config: { size: '1MiB' } } }),
      streams: [tarOf(directory('./'), { name: './large', content: Buffer.alloc(3 * 1024 * 1024) })],
    });
    expect(err).toMatch(/more than the 1MiB/);
  });
});

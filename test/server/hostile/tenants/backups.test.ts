// A tenant uploads backups that it wrote itself: whatever they contain, they make only containers of its own project that a request could
// have made, or nothing.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { backupByHand, type ByHand } from '../../../support/hostile/backups.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';
import type { TarPiece } from '../../../support/images/hostile.ts';

const suite = useSharedHost('back');
const { outside, fresh } = suite;
const own = '?project=mine';
const poolDir = (...rest: string[]): string => join(suite.host.admin.dir, 'storage-pools/default', ...rest);

interface Refused {
  readonly status: number;
  readonly message: string;
}

/** The tenant claims to trust the backup: its rights do not depend on that. */
async function upload(name: string, backup: ByHand | Buffer, headers: Record<string, string> = {}): Promise<Refused> {
  const bytes = Buffer.isBuffer(backup) ? backup : backupByHand(name, backup);
  const type = { 'content-type': 'application/octet-stream', 'x-svc-allow-host-access': 'true' };
  const answer = await suite.host.tenant('POST', `/1.0/containers${own}`, bytes, { ...type, ...headers });
  if (answer.status !== 202) return { status: answer.status, message: answer.metadata?.message ?? '' };
  const ended: Operation = await suite.host.admin.wait(answer.body.operation as string);
  return { status: 202, message: ended.err };
}

/** The names of the tenant's containers, as anyone can see them, and the contents of the pool. The list of pools is written a second later. */
const made = async (): Promise<string> =>
  JSON.stringify([
    (await suite.host.tenant('GET', `/1.0/containers${own}`)).metadata,
    readdirSync(poolDir('containers')).toSorted(),
    readdirSync(suite.host.admin.dir)
      .filter((name) => !name.startsWith('pools.json'))
      .toSorted(),
  ]);

async function isRefused(backup: ByHand | Buffer, text: RegExp, headers: Record<string, string> = {}): Promise<void> {
  const there = await made();
  const { message } = await upload(fresh(), backup, headers);
  expect(message).toMatch(text);
  expect(message).not.toMatch(/of-victim|of-theirs|of-profile/);
  expect(await made()).toBe(there);
  expect(await suite.host.others()).toBe(suite.before);
}

const configs: readonly (readonly [string, unknown])[] = [
  ['security.privileged', true],
  ['security.privileged', 'on'],
  ['security.nesting', 1],
  ['raw.lxc', 'lxc.mount.entry = /etc mnt none bind'],
  ['raw.apparmor', 'mount,'],
  ['raw.seccomp', '2'],
  ['raw.idmap', 'both 0 0'],
  ['linux.kernel_modules', 'loop'],
  ['security.idmap.base', 0],
  ['security.devlxd.images', 'true'],
];
const devices: readonly (readonly [string, Record<string, string>])[] = [
  ['a path of the host', { type: 'disk', path: '/m', source: '/etc' }],
  ['the root of the host', { type: 'disk', path: '/m', source: '/', shift: 'true' }],
  ['the storage of others', { type: 'disk', path: '/m', source: '/var/lib/gantry/storage-pools/default' }],
  ['the bridge of others', { type: 'nic', network: 'secretnet' }],
  ['a bridge as a parent', { type: 'nic', nictype: 'bridged', parent: 'secretnet' }],
  ['an interface of the host', { type: 'nic', nictype: 'physical', parent: 'lo' }],
  ['memory of the host', { type: 'unix-char', path: '/dev/mem' }],
  ['a disk of the host', { type: 'unix-block', path: '/dev/sda' }],
  ['a proxy to the host', { type: 'proxy', listen: 'tcp:0.0.0.0:81', connect: 'tcp:127.0.0.1:22' }],
  ['the volume of the victim', { type: 'disk', path: '/m', pool: 'default', source: 'vol' }],
  ['the volume theirs%vol', { type: 'disk', path: '/m', pool: 'default', source: 'theirs%vol' }],
  ['an unknown type', { type: 'tpm', path: '/dev/tpm0' }],
];
const address = { type: 'nic', network: 'lan', 'ipv4.address': '10.9.8.77' };

describe('a backup is refused, and nothing is made of it', () => {
  test.each(configs)('a backup with the key %s: %s', (key, value) =>
    isRefused({ config: { [key]: value } }, new RegExp(`config\\.${key} `)),
  );
  test.each(configs)('a backup of an old release with the key %s: %s', (key, value) =>
    isRefused({ config: { [key]: value }, isOld: true }, new RegExp(`config\\.${key} `)),
  );
  test.each(devices)('a backup with %s', (_what, device) =>
    isRefused({ devices: { d: device } }, /does not allow|not found|devices\.d/),
  );
  test('a backup with the address of the victim', () =>
    isRefused({ devices: { d: address } }, /another project on network lan/));
  test.each(['hidden', 'theirs%hidden', '../theirs/hidden'])('a backup with the profile %s of others', (profile) =>
    isRefused({ profiles: ['default', profile] }, /there is no profile/),
  );
  test.each(['theirs%x', '../x', 'theirs/x', 'a%b', '..', 'x\0y'])('a backup that is called %j', (name) =>
    isRefused({ name }, /Invalid container name/),
  );
  test.each(['theirs%x', '../x'])('a backup that is to be called %j', (name) =>
    isRefused({}, /Invalid container name/, { 'x-svc-name': name }),
  );
  test('a backup with the name of an existing container', () => isRefused({ name: 'own' }, /own.*exists/));
  test.each(['../../theirs%victim', 'a/b', '..', '.', 'theirs%victim/snap'])(
    'a backup with a snapshot called %j',
    (snapshot) => isRefused({ snapshots: { [snapshot]: {} } }, /snapshot|no part of a backup|no rootfs/),
  );
  test('a backup of a virtual machine', () =>
    isRefused({ index: { type: 'virtual-machine' } }, /only those of containers/));
  test('a backup for a pool that it may not use', async () => {
    expect((await suite.host.admin.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' })).status).toBe(
      200,
    );
    const limit = { config: { 'limits.disk.pool.other': '1MiB' } };
    const patched = await suite.host.admin.call('PATCH', '/1.0/projects/mine', limit);
    expect(patched.status).toBe(200);
    await suite.look();
    for (const headers of [{}, { 'x-svc-pool': 'other' }]) await isRefused({ pool: 'other' }, /limits\.disk/, headers);
    for (const pool of ['../default', 'theirs']) await isRefused({ pool }, /was not found/, { 'x-svc-pool': pool });
  });
  test('a backup in a project of others', async () => {
    for (const project of ['theirs', 'default', 'nowhere']) {
      const bytes = backupByHand('x', {});
      const type = { 'content-type': 'application/octet-stream' };
      const answer = await suite.host.tenant('POST', `/1.0/containers?project=${project}`, bytes, type);
      expect([answer.status, answer.metadata.message]).toEqual([404, `The project ${project} was not found`]);
    }
  });

  const link = (name: string, to: string): TarPiece => ({ name, flag: '2', link: to });
  const file = (name: string): TarPiece => ({ name, content: 'evil', mode: 0o644 });
  test.each<[string, readonly TarPiece[]]>([
    ['through a link', [link('backup/container/rootfs/l', outside), file('backup/container/rootfs/l/evil')]],
    ['through a link at the top', [link('backup/container/templates', outside), file('backup/container/templates/x')]],
    ['by a name that climbs', [file('backup/container/rootfs/../../../../evil')]],
    ['by an absolute name', [file(join(outside, 'evil'))]],
    ['through a hard link', [{ name: 'backup/container/rootfs/h', flag: '1', link: join(outside, 'target') }]],
    ['through a hard link that climbs', [{ name: 'backup/container/rootfs/h', flag: '1', link: '../../../../target' }]],
    ['beside its parts', [file('backup/theirs%victim/rootfs/x')]],
    ['in an unlisted snapshot', [file('backup/snapshots/other/rootfs/x')]],
  ])('with files %s', async (_what, files) => {
    writeFileSync(join(outside, 'target'), 'as it was');
    await isRefused({ files }, /./);
    expect(readdirSync(outside)).toEqual(['target']);
  });
});

describe('of a backup that is accepted', () => {
  test('its statements about projects, uuids and servers are ignored', async () => {
    const name = fresh();
    const config = {
      'volatile.idmap.base': '777',
      'volatile.idmap.next': '[{"Isuid":true,"Isgid":true,"Hostid":777,"Nsid":0,"Maprange":65536}]',
      'volatile.last_state.idmap': '[{"Isuid":true,"Isgid":true,"Hostid":777,"Nsid":0,"Maprange":65536}]',
      'volatile.uuid': 'x',
      'volatile.eth0.host_name': 'lo',
      'volatile.eth0.hwaddr': '00:16:3e:11:22:33',
    };
    const container = { project: 'theirs', location: 'other', uuid: 'u', stateful: true, status: 'Running' };
    const index = { project: 'theirs', optimized_header: true };
    const snapshots = { s: { config } };
    expect(await upload(name, { config, container, index, snapshots })).toEqual({ status: 202, message: '' });
    const shown = (await suite.host.tenant('GET', `/1.0/containers/${name}${own}`)).metadata;
    expect([shown.status, shown.stateful, shown.project ?? 'mine']).toEqual(['Stopped', false, 'mine']);
    const saved = (await suite.host.tenant('GET', `/1.0/containers/${name}/snapshots/s${own}`)).metadata;
    for (const found of [shown.config, saved.config] as Record<string, string>[]) {
      expect([found['volatile.uuid'], found['volatile.eth0.host_name']]).toEqual([undefined, undefined]);
      expect(found['volatile.last_state.idmap']).toBe('[]');
      expect([found['volatile.idmap.base'], found['volatile.idmap.next']]).not.toContain(config['volatile.idmap.base']);
      expect(found['volatile.idmap.next'] ?? '').not.toContain('"Hostid":777,');
    }
    expect(await suite.host.others()).toBe(suite.before);
    // Nor does its hardware address appear in a nic on the victim's network.
    const eth0 = { type: 'nic', network: 'lan', name: 'eth0' };
    const plugged = await suite.host.tenant('PATCH', `/1.0/containers/${name}${own}`, { devices: { eth0 } });
    expect([plugged.status, plugged.metadata.message]).toEqual([400, expect.stringContaining('another project')]);
  });

  test('a snapshot with privileges or devices of the host is neither restored nor copied', async () => {
    const name = fresh();
    const snapshots = {
      s: { config: { 'security.privileged': 'true' } },
      t: { devices: { d: devices[0]?.[1] ?? {} } },
    };
    expect((await upload(name, { snapshots })).message).toBe('');
    for (const snapshot of ['s', 't']) {
      const back = await suite.host.tenant('PUT', `/1.0/containers/${name}${own}`, { restore: snapshot });
      expect([back.status, back.metadata.message]).toEqual([403, expect.stringContaining('does not allow')]);
      const source = { type: 'copy', source: `${name}/${snapshot}` };
      const copied = await suite.host.tenant('POST', `/1.0/containers${own}`, { name: fresh(), source });
      expect([copied.status, copied.metadata.message]).toEqual([403, expect.stringContaining('does not allow')]);
    }
  });

  test('checkpoints and other files of the server are not restored', async () => {
    const name = fresh();
    const files = ['state/inventory.img', 'state-round-1/pages.img', 'evil'].map((each): TarPiece => ({
      name: `backup/container/${each}`,
      content: 'x',
      mode: 0o644,
    }));
    expect((await upload(name, { files })).message).toBe('');
    expect(readdirSync(poolDir('containers', `mine%${name}`))).toEqual(['rootfs']);
    const start = await suite.host.tenant('PUT', `/1.0/containers/${name}/state${own}`, {
      action: 'start',
      stateful: true,
    });
    const { err } = await suite.host.admin.wait(start.body.operation as string);
    expect(err).toContain('no checkpoint');
  });
});

test('uploads that are refused leave no file behind', () => {
  const uploads = join(suite.host.admin.dir, 'backups/.uploads');
  expect(existsSync(uploads) ? readdirSync(uploads) : []).toEqual([]);
});

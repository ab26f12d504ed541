// Proofs that `lxd init` of the real LXD works against our daemon. The proofs run in order.
import { expect } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import type { Ran } from '../../support/hosts/lxd-clients.ts';

export type Init = (args: readonly string[], stdin?: string) => Promise<Ran>;

const document = `
config:
  images.auto_update_interval: "15"
storage_pools:
- {name: data, driver: dir, description: mine, config: {rsync.bwlimit: 100MB}}
networks:
- {name: gtpre0, type: bridge, config: {ipv4.address: none, ipv6.address: none}}
projects:
- name: team
  description: The team
  config: {features.images: "false", features.profiles: "true"}
profiles:
- name: default
  description: Default
  devices:
    root: {path: /, pool: data, type: disk}
    eth0: {type: nic, name: eth0, nictype: bridged, parent: gtpre0}
- {name: extra, config: {user.a: "1"}}
`;
const urls = ['/1.0', '/1.0/storage-pools/data', '/1.0/networks/gtpre0', '/1.0/projects/team'].concat(
  ['default', 'extra'].map((name) => `/1.0/profiles/${name}`),
);

/** The settable state; the rest of `/1.0` changes by itself. */
async function statesOf(daemon: TestDaemon): Promise<Record<string, unknown>[]> {
  const all = await Promise.all(urls.map((url) => daemon.get(url)));
  return all.map(({ config, description, devices, driver, type, managed }) => ({
    config,
    description,
    devices,
    driver,
    type,
    managed,
  }));
}

async function preseed(init: Init, daemon: TestDaemon): Promise<void> {
  const before = await daemon.get('/1.0/profiles/default');
  const seen: Record<string, unknown>[][] = [];
  for (const _ of ['first', 'again']) {
    const ran = await init(['--preseed'], document);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    seen.push(await statesOf(daemon));
  }
  expect(seen[1]).toEqual(seen[0]);
  const [server, pool, network, project, profile, extra] = seen[0] ?? [];
  expect(server).toMatchObject({ config: { 'images.auto_update_interval': '15' } });
  expect(pool).toMatchObject({ driver: 'dir', description: 'mine', config: { 'rsync.bwlimit': '100MB' } });
  expect(network).toMatchObject({ type: 'bridge', managed: true, config: { 'ipv4.address': 'none' } });
  expect(project).toMatchObject({ description: 'The team', config: { 'features.images': 'false' } });
  expect(profile).toMatchObject({ devices: { root: { pool: 'data' }, eth0: { parent: 'gtpre0' } } });
  // A preseed adds to a profile and removes nothing.
  expect(Object.keys(profile?.['devices'] as object)).toEqual(expect.arrayContaining(Object.keys(before.devices)));
  expect(extra).toMatchObject({ config: { 'user.a': '1' } });
}

async function dump(init: Init, daemon: TestDaemon): Promise<void> {
  const ran = await init(['--dump']);
  expect([ran.code, ran.stderr]).toEqual([0, '']);
  for (const line of ['  name: gtpre0', '  name: data', '  name: extra', '  name: team', '      pool: data'])
    expect(ran.stdout).toContain(`${line}\n`);
  const before = await statesOf(daemon);
  const again = await init(['--preseed'], ran.stdout);
  expect([again.code, again.stderr]).toEqual([0, '']);
  expect(await statesOf(daemon)).toEqual(before);
}

async function undone(init: Init, daemon: TestDaemon): Promise<void> {
  const before = await daemon.get('/1.0/storage-pools');
  const wrong =
    'storage_pools: [{name: gone, driver: dir}]\nprofiles: [{name: wrong, config: {limits.memory: much}}]\n';
  const ran = await init(['--preseed'], wrong);
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/limits\.memory/)]);
  expect(await daemon.get('/1.0/storage-pools')).toEqual(before);
  expect((await daemon.call('GET', '/1.0/profiles/wrong')).status).toBe(404);
}

async function ofZfs(init: Init): Promise<void> {
  const ran = await init(['--preseed'], 'storage_pools: [{name: z, driver: zfs}]\n');
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/driver zfs is not available/)]);
}

export const initProofs: Readonly<Record<string, (init: Init, daemon: TestDaemon) => Promise<void>>> = {
  preseed,
  dump,
  preseed_undone: undone,
  preseed_of_zfs: ofZfs,
};

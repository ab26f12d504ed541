// Decisions of a move from LXD: the order of steps, and objects that stay behind or differ, each with a remedy. Contacts no server.
import { describe, expect, test } from 'vitest';
import { decideMoves } from '../../../../reconciler/cli/verbs/moving/decide-moves.ts';
import type { Inventory, MovePlan, MoveRequest } from '../../../../reconciler/cli/verbs/moving/moves.ts';
import type { Observed } from '../../../../reconciler/core/documents/observed.ts';
import {
  fingerprintOf,
  liveAcl,
  liveContainer,
  liveImage,
  liveNetwork,
  livePool,
  liveProfile,
  liveVolume,
  world,
} from '../../../support/fakes/worlds.ts';

const root = { type: 'disk', path: '/', pool: 'default' };
const data = { type: 'disk', path: '/data', pool: 'default', source: 'data' };
const nic = { type: 'nic', network: 'lxdbr0' };
const running = { status: 'Running', status_code: 103 } as const;

const gantryd: Observed = {
  ...world(),
  server: { extensions: ['projects'], isGantry: true, poolDrivers: ['dir', 'btrfs'] },
};

function decide(source: Observed, target = gantryd, more: Partial<MoveRequest & Inventory> = {}): MovePlan {
  const { virtualMachines = [], leases = new Map(), begun = new Set(), architectures } = more;
  const keepsAddresses = more.keepsAddresses === true;
  const asked = { source: { world: source, virtualMachines, leases }, target, keepsAddresses, begun };
  return decideMoves({ ...asked, ...(architectures === undefined ? {} : { architectures }) });
}

const ids = ({ moves }: MovePlan): readonly string[] => moves.map(({ id }) => id);
const texts = ({ differences }: MovePlan): readonly string[] =>
  differences.map(({ id, effect, text }) => `${effect} ${id}: ${text}`);

describe('the decisions of a move', () => {
  test('a container whose architecture the host of the target cannot run stays behind', () => {
    const source = world({ containers: [liveContainer('arm', { architecture: 'aarch64' }), liveContainer('web')] });
    const plan = decide(source, gantryd, { architectures: ['x86_64', 'i686'] });
    expect(ids(plan)).toEqual(['container/web']);
    expect(texts(plan)).toContainEqual(
      expect.stringMatching(/^left container\/arm: has the architecture aarch64, .* \(x86_64, i686\): leave it/),
    );
    expect(ids(decide(source))).toEqual(['container/arm', 'container/web']);
  });

  test('objects move before those that need them', () => {
    const plan = decide(
      world({
        pools: [livePool('default')],
        networks: [liveNetwork('lxdbr0')],
        profiles: [liveProfile('default', { devices: { root, eth0: nic } }), liveProfile('small')],
        images: [liveImage(fingerprintOf('a'))],
        volumes: [liveVolume('data', { pool: 'default' })],
        containers: [liveContainer('web', { profiles: ['default'], expanded_devices: { root, eth0: nic } })],
      }),
    );
    expect(ids(plan)).toEqual([
      'storage_pool/default',
      'network/lxdbr0',
      `image/${fingerprintOf('a')}`,
      'profile/default',
      'profile/small',
      'storage_volume/default/data',
      'container/web',
    ]);
    expect(plan.differences).toEqual([]);
  });

  test('a pool whose driver the target lacks stays behind with its contents', () => {
    const plan = decide(
      world({
        pools: [livePool('default', { driver: 'zfs' })],
        volumes: [liveVolume('data', { pool: 'default' })],
        containers: [liveContainer('web', { profiles: [], devices: { root } })],
      }),
    );
    expect(ids(plan)).toEqual([]);
    expect(texts(plan)).toEqual([
      'left storage_pool/default: has the driver zfs, which the target does not have (dir, btrfs): make a pool default on the target first (any driver), then run this again',
      'left storage_volume/default/data: its pool default stays behind',
      'left container/web: needs storage_pool/default, which stays behind',
    ]);
  });

  test('a pool of cephfs stays behind: its directory is that of the source', () => {
    const pools = [livePool('files', { driver: 'cephfs', config: { source: 'files/lxd' } })];
    const target = { ...gantryd, server: { ...gantryd.server, poolDrivers: ['cephfs'] } };
    expect(texts(decide(world({ pools }), target))).toEqual([
      'left storage_pool/files: is files/lxd of a CephFS, which the target cannot share: make a pool files on the target first (any driver), then run this again',
    ]);
  });

  test('a pool on a disk of the source stays behind, one in a folder below /dev moves', () => {
    const pools = [
      livePool('disk', { driver: 'btrfs', config: { source: '/dev/sdb' } }),
      livePool('memory', { config: { source: '/dev/shm/lxd/storage-pools/memory' } }),
    ];
    const plan = decide(world({ pools }));
    expect(ids(plan)).toEqual(['storage_pool/memory']);
    expect(texts(plan)).toEqual([
      'left storage_pool/disk: is on /dev/sdb, which the target cannot share: make a pool disk on the target first (any driver), then run this again',
    ]);
  });

  test('a pool of that name on the target gets the contents, regardless of its driver', () => {
    const source = world({
      pools: [livePool('default', { driver: 'zfs' })],
      containers: [liveContainer('web', { expanded_devices: { root } })],
    });
    const plan = decide(source, { ...gantryd, pools: world({ pools: [livePool('default')] }).pools });
    expect(ids(plan)).toEqual(['container/web']);
  });

  test('keys that the target lacks are removed and listed', () => {
    const config = { 'migration.stateful': 'true', 'user.a': 'b' };
    const plan = decide(world({ profiles: [liveProfile('p', { config })] }));
    expect(plan.moves).toMatchObject([{ id: 'profile/p', body: { config: { 'user.a': 'b' } } }]);
    expect(texts(plan)).toEqual([
      'changed profile/p: config.migration.stateful is left out: the target cannot have it, it does not know the API extension migration_stateful',
    ]);
  });

  test('a running container with a volume stops before the volume is copied, others stop for the second pass', () => {
    const plan = decide(
      world({
        pools: [livePool('default')],
        volumes: [liveVolume('data', { pool: 'default' })],
        containers: [
          liveContainer('db', { ...running, devices: { data }, expanded_devices: { root, data } }),
          liveContainer('web', { ...running, expanded_devices: { root } }),
        ],
      }),
    );
    expect(plan.moves.slice(1)).toMatchObject([
      { id: 'storage_volume/default/data', stops: [{ id: 'container/db' }] },
      { id: 'container/db', isRunning: true, stopsFirst: true, volumes: ['storage_volume/default/data'] },
      { id: 'container/web', isRunning: true, stopsFirst: false, volumes: [] },
    ]);
  });

  test('a running ephemeral container, machines, ACLs of a target without them and names that are taken stay behind', () => {
    const plan = decide(
      world({
        acls: [liveAcl('wall')],
        containers: [liveContainer('brief', { ...running, ephemeral: true }), liveContainer('web')],
      }),
      { ...gantryd, containers: world({ containers: [liveContainer('web')] }).containers },
      { virtualMachines: ['win'] },
    );
    expect(plan.moves).toEqual([]);
    expect(plan.differences.map(({ id, effect }) => `${effect} ${id}`)).toEqual([
      'left virtual-machine/win',
      'left network_acl/wall',
      'left container/brief',
      'left container/web',
    ]);
  });

  test('an ACL moves before the network that names it', () => {
    const rule = { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: '80' };
    const source = world({
      acls: [liveAcl('wall', { ingress: [rule] })],
      networks: [liveNetwork('lan0', { config: { 'ipv4.address': 'none', 'security.acls': 'wall' } })],
    });
    const target = { ...gantryd, server: { ...gantryd.server, extensions: ['network_acl', 'network_bridge_acl'] } };
    const plan = decide(source, target);
    expect(ids(plan)).toEqual(['network_acl/wall', 'network/lan0']);
    expect(plan.moves[0]).toMatchObject({ body: { name: 'wall', ingress: [rule] } });
  });

  test('a network whose ACL stays behind is held back with its containers, and moves once the ACL is there', () => {
    const source = world({
      acls: [liveAcl('wall', { ingress: [{ action: 'allow', state: 'enabled', source: '@internal' }] })],
      networks: [liveNetwork('lan0', { config: { 'ipv4.address': 'none', 'security.acls': 'wall' } })],
      containers: [
        liveContainer('db', { profiles: [], devices: { eth0: { type: 'nic', nictype: 'bridged', parent: 'lan0' } } }),
        liveContainer('web', { profiles: [], devices: { eth0: { type: 'nic', network: 'lan0' } } }),
      ],
    });
    const target = { ...gantryd, server: { ...gantryd.server, extensions: ['network_acl', 'network_bridge_acl'] } };
    for (const there of [gantryd, target]) {
      const plan = decide(source, there);
      expect(plan.moves).toEqual([]);
      expect(texts(plan)).toEqual([
        expect.stringContaining('left network_acl/wall: '),
        'left network/lan0: names the network ACL wall in security.acls, which stays behind: without its rules the network would let through what they deny. Make the ACL on the target first, or take it out of security.acls',
        'left container/db: needs network/lan0, which stays behind',
        'left container/web: needs network/lan0, which stays behind',
      ]);
    }
    const made = { ...target, acls: world({ acls: [liveAcl('wall')] }).acls };
    expect(ids(decide(source, made))).toEqual(['network/lan0', 'container/db', 'container/web']);
  });

  test('a container that an earlier run began is continued', () => {
    const source = world({ containers: [liveContainer('web')] });
    const target = { ...gantryd, containers: world({ containers: [liveContainer('web')] }).containers };
    expect(ids(decide(source, target, { begun: new Set(['container/web']) }))).toEqual(['container/web']);
  });

  test('nics attach to the bridge of the source where both servers are on one host, those of profiles too', () => {
    const source = world({
      networks: [liveNetwork('lxdbr0')],
      profiles: [liveProfile('nets', { devices: { root, eth0: nic } })],
      containers: [liveContainer('web', { profiles: [], devices: { eth0: { ...nic, name: 'eth0' } } })],
    });
    const networks = world({ networks: [liveNetwork('lxdbr0', { managed: false })] }).networks;
    const plan = decide(source, { ...gantryd, networks });
    const onBridge = { type: 'nic', nictype: 'bridged', parent: 'lxdbr0' };
    expect(plan.moves).toMatchObject([
      { id: 'profile/nets', body: { devices: { root, eth0: onBridge } } },
      { id: 'container/web', devices: { eth0: { ...onBridge, name: 'eth0' } } },
    ]);
  });

  test('leased addresses become static ones on request', () => {
    const source = world({
      networks: [liveNetwork('lxdbr0')],
      containers: [
        liveContainer('web', {
          config: { 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' },
          profiles: ['nets'],
        }),
      ],
      profiles: [liveProfile('nets', { devices: { eth0: nic } })],
    });
    const leases = new Map([['00:16:3e:00:00:01', '10.0.3.7']]);
    expect(decide(source, gantryd, { leases, keepsAddresses: true }).moves.at(-1)).toMatchObject({
      devices: { eth0: { ...nic, 'ipv4.address': '10.0.3.7' } },
    });
    expect(decide(source, gantryd, { leases }).moves.at(-1)).toMatchObject({ devices: {} });
  });

  test('the address of the gateway becomes no address of a nic that never ran', () => {
    const source = world({
      networks: [liveNetwork('lxdbr0')],
      containers: [liveContainer('web', { devices: { eth0: nic } })],
    });
    const leases = new Map([['', '10.0.3.1']]);
    const move = decide(source, gantryd, { leases, keepsAddresses: true }).moves.at(-1);
    expect(JSON.stringify(move)).not.toContain('10.0.3.1');
  });
});

// References between objects in plans: what must exist, what comes first, and what is refused.
import { describe, expect, test } from 'vitest';
import type { Address, Document, JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { exportObject } from '../../../reconciler/core/adoption/export.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { buildGraph } from '../../../reconciler/core/graph/graph.ts';
import { normalizeDocuments } from '../../../reconciler/core/graph/normalize.ts';
import { validateDocuments } from '../../../reconciler/core/graph/check-documents.ts';
import {
  document,
  fingerprintOf,
  imageDocument,
  liveContainer,
  liveNetwork,
  livePool,
  liveProfile,
  world,
} from '../../support/fakes/worlds.ts';
import { root, source, host, plan, withContainers, codes } from '../../support/fakes/plan-host.ts';

describe('references', () => {
  test('an unknown name is an error with the nearest name of the documents or of the server', () => {
    const made = plan([
      document('container', 'c', {
        source: { type: 'image', alias: 'bsae' },
        profiles: ['wbe'],
        devices: { data: { type: 'disk', pool: 'p1', source: 'nothing', path: '/data' } },
      }),
      document('profile', 'web'),
      document('storage_pool', 'p1', { driver: 'dir' }),
    ]);
    expect(made.diagnostics.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'profiles.0: the profile wbe is neither declared nor on the server (did you mean web?)',
      'devices.data.source: the storage volume p1/nothing is neither declared nor on the server',
      'source.alias: the image alias bsae is neither declared nor on the server (did you mean base?)',
    ]);
    expect(made.steps).toEqual([]);
  });

  test('offline it is a warning, the default profile is known, and broken documents are not reported as missing', () => {
    const documents = [
      document(
        'container',
        'c',
        { source, profiles: ['default', 'web', 'gone'] },
        { manage: { dependsOn: ['container/x'] } },
      ),
    ];
    const found = validateDocuments(documents, ['profile/web', 'container/x']);
    expect(found.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      'warning profiles.2',
      'warning source.alias',
    ]);
  });

  test('a cycle is reported as a whole, and its message does not depend on the order of documents', () => {
    const documents = ['a', 'b', 'c'].map((name, index) =>
      document('container', name, { source }, { manage: { dependsOn: [`container/${['b', 'c', 'a'][index] ?? ''}`] } }),
    );
    const message =
      'these objects need each other in a circle: container/a -> container/b -> container/c -> container/a';
    expect(plan(documents).diagnostics.map((one) => one.message)).toEqual([message]);
    expect(plan([...documents].reverse()).diagnostics.map((one) => one.message)).toEqual([message]);
  });

  test('a chain of twenty thousand dependencies is planned', () => {
    const documents = Array.from({ length: 20_000 }, (_, index) =>
      document(
        'container',
        `c${index}`,
        { source },
        index === 0 ? {} : { manage: { dependsOn: [`container/c${index - 1}`] } },
      ),
    );
    const made = planChanges({ documents, observed: host });
    expect(made.diagnostics).toEqual([]);
    expect(made.steps).toHaveLength(40_000);
  });

  test('a new container without a source, an image that was not read, and a taken interface name are errors', () => {
    const networks = [liveNetwork('eth0', { managed: false })];
    const observed = world({ networks, profiles: [liveProfile('default')] });
    const image = document('image', 'i', {}, { files: { parts: { file: '/i.tar' } } });
    const made = plan([document('container', 'c'), image, document('network', 'eth0', { type: 'bridge' })], observed);
    expect([...codes(made)].sort()).toEqual(['image-not-read', 'missing-source', 'name-taken']);
  });

  test('a new container without a root disk is an error, one with a disk of its profiles, or copied, is none', () => {
    const bare = {
      ...world({
        profiles: [liveProfile('default', { devices: {} }), liveProfile('rooted', { devices: { root } })],
      }),
      pools: host.pools,
    };
    const container = (values: object) =>
      plan([document('container', 'c', { source: { type: 'none' }, ...values })], bare);
    expect(container({}).diagnostics).toMatchObject([
      { code: 'no-root-disk', path: 'devices', remedy: expect.stringContaining('path: /') as string },
    ]);
    expect(codes(container({ profiles: ['default', 'rooted'] }))).toEqual([]);
    expect(codes(container({ devices: { root } }))).toEqual([]);
    const copied = plan([document('container', 'c', { source: { type: 'copy', source: 'old' } })], {
      ...bare,
      containers: new Map([['old', { object: liveContainer('old') }]]),
    });
    expect(codes(copied)).toEqual([]);
  });

  test('an empty ipv4.nat without an address is an error of a new network, and is removed from an existing one', () => {
    const wanted = [document('network', 'lan9', { config: { 'ipv4.nat': null } })];
    expect(plan(wanted, world({})).diagnostics).toMatchObject([{ code: 'bad-value', path: 'config.ipv4.nat' }]);
    const live = liveNetwork('lan9', { config: { 'ipv4.address': '10.9.0.1/24', 'ipv4.nat': 'true' } });
    const there = plan(wanted, world({ networks: [live] }));
    expect([codes(there), there.steps.map(({ action }) => action)]).toEqual([[], ['update']]);
  });

  test('two disks at one path from profiles and the container are refused, unless the plan may remove one', () => {
    const disk = (path: string) => ({ type: 'disk', source: '/srv', path });
    const profile = (name: string, devices: JsonObject) => document('profile', name, { devices });
    const container = (profiles: readonly string[], devices: JsonObject = {}) =>
      document('container', 'c', { source: { type: 'none' }, profiles, devices });
    const refused = (documents: readonly Document[], observed: Observed = host) =>
      plan(documents, observed).diagnostics.map(({ severity, code, path, message }) => [severity, code, path, message]);
    const [a, b] = [profile('a', { one: disk('/d') }), profile('b', { two: disk('/d/') })];
    const expected = (own: string) => [
      'error',
      'path-taken',
      'devices.two.path',
      `container/c would have two disks at /d: the device one of its profile a and ${own}`,
    ];
    const all = ['default', 'a', 'b'];
    expect(refused([a, b, container(all)])).toEqual([expected('the device two of its profile b')]);
    expect(validateDocuments([a, b, container(all)]).map(({ code }) => code)).toContain('path-taken');
    expect(refused([a, container(['default', 'a'], { two: disk('/d') })])).toEqual([expected('its own device two')]);
    expect(refused([a, b, container(all, { one: { type: 'none' } })])).toEqual([]);
    const live = withContainers(liveContainer('c', { devices: { two: disk('/d') }, profiles: ['default', 'a'] }));
    expect(refused([a, container(['default', 'a'])], live)).toEqual([]);
  });

  test('changes of profiles that a container of others cannot take are refused: two disks at one path, no root disk', () => {
    const disk = (path: string) => ({ type: 'disk', source: '/srv', path });
    const profiles = ['a', 'b', 'rooted'];
    const live = liveContainer('c', { profiles, devices: {}, expanded_devices: { root } });
    const device = (name: string, devices: JsonObject, more = {}) => document('profile', name, { devices }, more);
    const refused = (documents: readonly Document[], of = live, isGantry = true) => {
      const there = [liveProfile('a', { devices: {} }), liveProfile('b'), liveProfile('rooted', { devices: { root } })];
      const known = world({ profiles: there, containers: [of] });
      const { diagnostics, guards } = plan(documents, {
        ...known,
        server: { ...known.server, isGantry },
        pools: host.pools,
      });
      return [...diagnostics.map(({ address, message }) => [address, message]), ...guards.map(({ code }) => code)];
    };
    const both = [device('a', { one: disk('/d') }), device('b', { two: disk('/d') })];
    expect(refused(both)).toEqual([
      [
        'profile/b',
        'container/c would have two disks at /d: the device one of its profile a and the device two of its profile b',
      ],
    ]);
    expect(refused(both, live, false)).toEqual([]);
    expect(refused([...both, device('rooted', { one: { type: 'none' } })])).toEqual([]);
    expect(refused(both, liveContainer('c', { profiles: ['a', 'rooted'] }))).toEqual([]);
    const rootless = [device('rooted', { root: null })];
    const lost = 'container/c would lose its root disk: neither its devices nor its profiles have a disk with path /';
    expect(refused(rootless)).toEqual([['profile/rooted', lost]]);
    expect(refused([...rootless, device('b', { root })])).toEqual([]);
    expect(refused(rootless, { ...live, devices: { root } })).toEqual([]);
    expect(refused([device('rooted', { root: null }, { manage: { ignore: ['devices'] } })])).toEqual([]);
    expect(refused([...rootless, document('container', 'c', { source: { type: 'none' }, profiles })])).toEqual([
      'in-use',
    ]);
  });

  test('overlapping subnets, and addresses and ports that two containers claim, are warnings with both names', () => {
    const nic = { type: 'nic', network: 'lan0', 'ipv4.address': '10.1.0.5' };
    const proxy = { type: 'proxy', listen: 'tcp:0.0.0.0:80', connect: 'tcp:127.0.0.1:80' };
    const container = (name: string, devices: JsonObject, more: object = {}) =>
      document('container', name, { source: { type: 'none' }, devices }, more);
    const documents = [
      document('network', 'lan0', { config: { 'ipv4.address': '10.1.0.1/16', 'ipv6.address': 'none' } }),
      document('network', 'lan1', { config: { 'ipv4.address': '10.1.3.1/24', 'ipv6.address': 'none' } }),
      document('network', 'lan2', { config: { 'ipv4.address': '10.2.0.1/24', 'ipv6.address': 'auto' } }),
      container('a', { nic, proxy }),
      container('b', { nic, proxy: { ...proxy, listen: 'tcp:127.0.0.1:79-80' } }),
      container('c', { proxy: { ...proxy, bind: 'container' }, other: { ...proxy, listen: 'udp:0.0.0.0:80' } }),
      container('d', { proxy }, { state: 'stopped' }),
    ];
    const running = liveContainer('live', { expanded_devices: { eth0: { ...nic, 'ipv4.address': '10.1.0.9' } } });
    const observed = { ...host, containers: new Map([...host.containers, ['live', { object: running }]]) };
    const told = (all: readonly { code: string; message: string }[]) =>
      all.filter(({ code }) => /subnets|taken/.test(code)).map(({ code, message }) => `${code}: ${message}`);
    const expected = [
      'overlapping-subnets: the subnet 10.1.3.1/24 of network/lan1 overlaps 10.1.0.1/16 of network/lan0: some addresses of one cannot be reached',
      'address-taken: container/b wants the address 10.1.0.5 on the network lan0, which container/a (device nic) has: only one of them can work',
      'port-taken: container/b wants tcp port 80 of the host, which container/a (device proxy) has: only one of them can work',
    ];
    const made = plan(documents, observed);
    expect(told(made.diagnostics)).toEqual(expected);
    expect(made.diagnostics.every(({ severity }) => severity === 'warning')).toBe(true);
    expect(made.steps.length).toBeGreaterThan(0);
    expect(told(validateDocuments(documents))).toEqual(expected);
    const late = plan([...documents, container('e', { nic: { ...nic, 'ipv4.address': '10.1.0.9' } })], observed);
    expect(told(late.diagnostics)).toContain(
      'address-taken: container/e wants the address 10.1.0.9 on the network lan0, which container/live (device eth0) has: only one of them can work',
    );
  });

  test('a plan for a gantryd refuses new subnets that overlap, and leaves what is there alone', () => {
    const gantry = (observed: Observed): Observed => ({ ...observed, server: { extensions: [], isGantry: true } });
    const lan = (name: string, address: string) =>
      document('network', name, { config: { 'ipv4.address': address, 'ipv6.address': 'none' } });
    const apart = [lan('lan0', '10.1.0.1/16'), lan('lan1', '10.1.3.1/24')];
    expect(plan(apart, gantry(host)).diagnostics).toMatchObject([
      { code: 'overlapping-subnets', severity: 'error', path: 'config.ipv4.address' },
    ]);
    const there = ['10.1.0.1/16', '10.1.3.1/24'].map((address, index) =>
      liveNetwork(`lan${index}`, { config: { 'ipv4.address': address, 'ipv6.address': 'none' } }),
    );
    const known = gantry(world({ networks: there }));
    expect(plan(apart, known).diagnostics).toMatchObject([{ code: 'overlapping-subnets', severity: 'warning' }]);
    expect(plan([lan('lan2', '10.1.9.1/24')], known).diagnostics).toMatchObject([{ severity: 'error' }]);
  });

  test('a plan finds static addresses outside their network, also for networks and profiles that it creates', () => {
    const nic = (address: string) => ({ eth0: { type: 'nic', network: 'lan0', 'ipv4.address': address } });
    const lan = document('network', 'lan0', { config: { 'ipv4.address': '10.1.0.1/24', 'ipv6.address': 'none' } });
    const container = (address: string, more: object = {}) =>
      document('container', 'c', { source: { type: 'none' }, devices: nic(address) }, more);
    const told = (documents: readonly Document[], observed = host) =>
      plan(documents, observed).diagnostics.map(
        ({ code, severity, address, path, message }) =>
          `${severity} ${code} ${address ?? ''} ${path ?? ''}: ${message}`,
      );
    const outside = (owner: string): string =>
      `static-address ${owner} devices.eth0.ipv4.address: ${owner} cannot have the address 10.2.0.5:`;
    const why = 'it is not in the subnet of the network lan0 (10.1.0.1/24)';
    expect(told([lan, container('10.1.0.5')])).toEqual([]);
    expect(told([lan, container('10.2.0.5')])).toEqual([`error ${outside('container/c')} ${why}`]);
    expect(told([lan, container('10.2.0.5', { state: 'stopped' })])).toHaveLength(1);
    expect(told([lan, container('10.1.0.1')])[0]).toContain('it is the address of the network lan0');
    const profiled = [
      lan,
      document('profile', 'fixed', { devices: nic('10.2.0.5') }),
      document('container', 'c', { source: { type: 'none' }, profiles: ['default', 'fixed'] }),
    ];
    expect(told(profiled)).toEqual([`error ${outside('profile/fixed')} ${why}`]);
    // The server has not picked the subnet yet, or has, though the document says auto.
    const auto = document('network', 'lan0', { config: { 'ipv4.address': 'auto' } });
    expect(told([auto, container('10.2.0.5')])).toEqual([]);
    const picked = liveNetwork('lan0', { config: { 'ipv4.address': '10.1.0.1/24' } });
    const withLan = { ...host, networks: world({ networks: [picked] }).networks };
    expect(told([auto, container('10.2.0.5')], withLan)).toEqual([`error ${outside('container/c')} ${why}`]);
    const without = liveNetwork('lan0', { config: { 'ipv4.address': 'none' } });
    expect(told([auto, container('10.2.0.5')], { ...host, networks: world({ networks: [without] }).networks })).toEqual(
      [],
    );
    const live = liveContainer('c', { devices: nic('10.2.0.5') });
    expect(told([lan, container('10.2.0.5')], withContainers(live))[0]).toContain(`warning ${outside('container/c')}`);
  });

  test('a plan finds new static addresses that their network will not give out, in containers and in profiles', () => {
    const nic = (more: JsonObject): JsonObject => ({ eth0: { type: 'nic', network: 'lan0', ...more } });
    const config = { 'ipv4.address': '10.1.0.1/24', 'ipv6.address': 'fd42:1::1/64' };
    const lan = (more: JsonObject = {}) => document('network', 'lan0', { config: { ...config, ...more } });
    const fixed = { eth0: { type: 'nic', network: 'lan0', 'ipv4.address': '10.1.0.9' } };
    const container = (devices: JsonObject) => document('container', 'c', { source: { type: 'none' }, devices });
    const told = (documents: readonly Document[], observed = host) =>
      plan(documents, observed).diagnostics.map(
        ({ severity, address, path, message }) => `${severity} ${address ?? ''} ${path ?? ''}: ${message}`,
      );
    const where = 'container/c devices.eth0.ipv4.address: container/c cannot have the address 10.1.0.9:';
    const why = 'the network lan0 gives out no static addresses, as ipv4.dhcp is false;';
    expect(told([lan(), container(fixed)])).toEqual([]);
    expect(told([document('network', 'lan0'), container(fixed)])).toEqual([]);
    expect(told([lan({ 'ipv4.dhcp': 'false' }), container(fixed)])[0]).toContain(`error ${where} ${why}`);
    expect(told([lan(), container(nic({ 'ipv6.address': 'fd42:1::9' }))])[0]).toContain('ipv6.dhcp.stateful');
    expect(told([lan(), container(nic({ 'ipv4.address': 'none' }))])[0]).toContain('security.ipv4_filtering: true');
    const profiled = [
      lan({ 'ipv4.dhcp': 'false' }),
      document('profile', 'fixed', { devices: fixed }),
      document('container', 'c', { source: { type: 'none' }, profiles: ['default', 'fixed'] }),
    ];
    expect(told(profiled)).toEqual([expect.stringContaining('error profile/fixed devices.eth0.ipv4.address')]);
    // Servers leave alone what is there.
    const live = { ...config, 'ipv4.dhcp': 'false' };
    const containers = [liveContainer('c', { devices: fixed, expanded_devices: { root, ...fixed } })];
    const there = {
      ...withContainers(...containers),
      networks: world({ networks: [liveNetwork('lan0', { config: live })] }).networks,
    };
    expect(told([container(fixed)], there)).toEqual([expect.stringContaining(`warning ${where}`)]);
  });

  test('an export writes that a network has no NAT, which a server would otherwise enable', () => {
    const config = { 'ipv4.address': '10.9.0.1/24', 'ipv4.nat': 'false', 'ipv6.address': 'none', 'ipv4.dhcp': 'true' };
    const observed = world({ networks: [liveNetwork('lan9', { config })] });
    const values = JSON.stringify(exportObject('network', 'lan9', observed, 'default'));
    expect(values).toContain('"ipv4.nat":false');
    expect(values).not.toContain('ipv4.dhcp');
  });

  test('a plan names drivers of pools that the server lacks, and lines of raw.lxc that it would refuse', () => {
    const server = { extensions: [], isGantry: true, poolDrivers: ['btrfs', 'dir'] };
    const wanted = [
      document('storage_pool', 'fast', { driver: 'zfs' }),
      document('profile', 'raw', { config: { 'raw.lxc': 'lxc.log.file=/x' } }),
      document('profile', 'rke', { config: { 'raw.lxc': 'lxc.apparmor.profile=unconfined\nlxc.cap.drop=' } }),
    ];
    const found = plan(wanted, { ...world({}), server }).diagnostics;
    expect(found.map(({ severity, address, path }) => `${severity} ${address ?? ''} ${path ?? ''}`)).toEqual([
      'error storage_pool/fast driver',
      'error profile/raw config.raw.lxc',
    ]);
    expect(found[0]?.message).toBe('the server cannot make storage_pool/fast: it has no driver zfs, only btrfs, dir');
    const there = { ...world({ pools: [livePool('fast', { driver: 'zfs' })] }), server };
    expect(codes(plan(wanted.slice(0, 1), there))).toEqual([]);
    expect(codes(plan(wanted, world({})))).toEqual([]);
  });

  const disk = { type: 'disk', path: '/srv', pool: 'fast', source: 'data' };
  const team = { project: 'team' };
  test.each<[string, Document, readonly Address[]]>([
    ['a pool', document('storage_volume', 'fast/data'), ['storage_pool/fast']],
    [
      'a copied volume',
      document('storage_volume', 'fast/copy', { source: { type: 'copy', name: 'data' } }),
      ['storage_pool/fast', 'storage_volume/fast/data'],
    ],
    [
      'a volume with a copied snapshot',
      document('storage_volume', 'fast/copy', { source: { type: 'copy', name: 'data/s1' } }),
      ['storage_pool/fast', 'storage_volume/fast/data'],
    ],
    [
      'the volume of backups',
      document('server_config', 'server', { config: { 'storage.backups_volume': 'fast/data' } }),
      ['storage_volume/fast/data'],
    ],
    [
      'the volume of images',
      document('server_config', 'server', { config: { 'storage.images_volume': 'fast/data' } }),
      ['storage_volume/fast/data'],
    ],
    ['projects', document('certificate', 'ci', { restricted: true, projects: ['team'] }), ['project/team']],
    [
      'a pool that it limits',
      document('project', 'small', { config: { 'limits.disk.pool.fast': '1GiB' } }),
      ['storage_pool/fast'],
    ],
    [
      'network ACLs',
      document('network', 'lan', { config: { 'security.acls': 'web, ssh' } }),
      ['network_acl/ssh', 'network_acl/web'],
    ],
    ['an uplink', document('network', 'ovn', { type: 'ovn', config: { network: 'lan0' } }), ['network/lan0']],
    ['a parent', document('network', 'up', { type: 'physical', config: { parent: 'lan0' } }), ['network/lan0']],
    ['no uplink', document('network', 'ovn', { type: 'ovn', config: { network: 'none' } }), []],
    ['itself as parent', document('network', 'up', { type: 'physical', config: { parent: 'up' } }), []],
    [
      'a pool and a volume of a device',
      document('profile', 'p', { devices: { disk } }),
      ['storage_pool/fast', 'storage_volume/fast/data'],
    ],
    [
      'a network of a device',
      document('profile', 'p', { devices: { eth0: { type: 'nic', network: 'lan0' } } }),
      ['network/lan0'],
    ],
    [
      'a parent of a device',
      document('profile', 'p', { devices: { eth0: { type: 'nic', nictype: 'macvlan', parent: 'lan0' } } }),
      ['network/lan0'],
    ],
    [
      'network ACLs of a device',
      document('profile', 'p', { devices: { eth0: { type: 'nic', network: 'lan0', 'security.acls': 'web' } } }),
      ['network/lan0', 'network_acl/web'],
    ],
    ['an image', document('image_alias', 'base', { target: fingerprintOf('i') }), ['image/i']],
    [
      'profiles and devices',
      document('container', 'c', { profiles: ['web'], devices: { disk } }),
      ['profile/web', 'storage_pool/fast', 'storage_volume/fast/data'],
    ],
    [
      'an alias',
      document('container', 'c', { profiles: [], source: { type: 'image', alias: 'debian' } }),
      ['image_alias/debian'],
    ],
    [
      'an image of a container',
      document('container', 'c', { profiles: [], source: { type: 'image', fingerprint: fingerprintOf('i') } }),
      ['image/i'],
    ],
    [
      'a copied container',
      document('container', 'c', { profiles: [], source: { type: 'copy', source: 'db' } }),
      ['container/db'],
    ],
    [
      'a copied snapshot',
      document('container', 'c', { profiles: [], source: { type: 'copy', source: 'db/s1' } }),
      ['container/db'],
    ],
    [
      'a copied container of another project',
      document('container', 'c', { profiles: [], source: { type: 'copy', source: 'own', project: 'team' } }),
      ['container/own@team'],
    ],
    ['a project', document('container', 'c@team', { profiles: [] }, team), ['project/team']],
  ])('an object needs the declared object that it names as %s', (_what, user, needs) => {
    const named = [
      document('storage_pool', 'fast'),
      document('storage_volume', 'fast/data'),
      document('project', 'team'),
      document('network', 'lan0'),
      document('network_acl', 'web'),
      document('network_acl', 'ssh'),
      document('profile', 'web'),
      imageDocument('i', fingerprintOf('i')),
      document('image_alias', 'debian', { target: fingerprintOf('i') }),
      document('container', 'db', { profiles: [] }),
      document('container', 'own@team', { profiles: [] }, team),
    ].filter(({ address }) => address !== user.address);
    const { needs: found, diagnostics } = buildGraph(normalizeDocuments([user, ...named]).objects, host);
    expect(found.get(user.address)).toEqual(needs);
    expect(diagnostics.filter(({ address }) => address === user.address)).toEqual([]);
  });

  test('an unknown target is an error with the nearest one', () => {
    const made = plan([document('profile', 'web')], host, { targets: ['profile/wbe'] });
    expect(made.diagnostics[0]?.message).toBe('--target profile/wbe is not declared (did you mean profile/web?)');
  });
});

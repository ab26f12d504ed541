// Plans, case by case; the laws that hold for all of them are in test/property.
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import type { Document, JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { exportObject, exportWorld } from '../../../reconciler/core/adoption/export.ts';
import { writeExport } from '../../../reconciler/manifest/write-export.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { planJson } from '../../../reconciler/core/render/plan-json.ts';
import type { Plan, PlanOptions, Step } from '../../../reconciler/core/plan/plan.ts';
import { renderMarkdown } from '../../../reconciler/core/render/render-markdown.ts';
import { renderPlan } from '../../../reconciler/core/render/render-plan.ts';
import { summaryLine } from '../../../reconciler/core/plan/summary.ts';
import { validateDocuments } from '../../../reconciler/core/graph/check-documents.ts';
import { normalizeDocuments } from '../../../reconciler/core/graph/normalize.ts';
import { resolveImages } from '../../../reconciler/core/live/image-sources.ts';
import { expectGolden } from '../../support/golden.ts';
import {
  document,
  fingerprintOf,
  imageDocument,
  liveAlias,
  liveContainer,
  liveVolume,
  liveImage,
  liveNetwork,
  livePool,
  liveProfile,
  unchangedWorld,
  world,
} from '../../support/fakes/worlds.ts';

const base = fingerprintOf('base');
const root = { type: 'disk', path: '/', pool: 'fast' };
const eth0 = { type: 'nic', nictype: 'bridged', parent: 'web0' };
const source = { type: 'image', alias: 'base' };
const stopped = { status: 'Stopped', status_code: 102 };
const host = world({
  pools: [livePool('fast')],
  networks: [liveNetwork('web0')],
  profiles: [liveProfile('default', { devices: { root } })],
  images: [liveImage(base)],
  aliases: [liveAlias('base', base)],
});

const plan = (documents: readonly Document[], observed: Observed = host, options: PlanOptions = {}): Plan => {
  const made = planChanges({ documents, observed, options });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
};
const ids = (made: Plan): readonly string[] => made.steps.map((step) => step.id);
const withContainers = (...containers: readonly ReturnType<typeof liveContainer>[]): Observed => ({
  ...host,
  containers: world({ containers, profiles: [...host.profiles.values()].map((live) => live.object) }).containers,
});
const codes = (made: Plan): readonly string[] => made.diagnostics.map((diagnostic) => diagnostic.code);

describe('order', () => {
  test('objects are created before their dependents, and a container waits for its image by alias', () => {
    const made = plan(
      [
        document('container', 'web1', { profiles: ['web'], source: { type: 'image', alias: 'app' } }),
        document('profile', 'web', { devices: { root: { ...root, pool: 'slow' }, eth0: { ...eth0, parent: 'db0' } } }),
        imageDocument('app', fingerprintOf('app'), { aliases: ['app'] }),
        document('network', 'db0', { type: 'bridge' }),
        document('storage_pool', 'slow', { driver: 'dir' }),
      ],
      host,
    );
    expect(ids(made)).toEqual([
      'storage_pool/slow#create',
      'network/db0#create',
      'profile/web#create',
      'image/app#create',
      'image_alias/app#create',
      'container/web1#create',
      'container/web1#start',
    ]);
    expect(made.steps[5]?.needs).toEqual(['image_alias/app#create', 'profile/web#create']);
    expect(made.steps[4]).toMatchObject({ body: { target: fingerprintOf('app') } });
  });

  test('a need reaches through objects that do not change', () => {
    const made = plan([
      document('network', 'web0', { config: { 'ipv4.nat': 'false' } }),
      document('profile', 'default', { devices: { root, eth0 } }),
      document('container', 'c', { source, devices: { eth0 } }),
    ]);
    expect(made.steps.find((step) => step.id === 'container/c#create')?.needs).toEqual([
      'network/web0#update',
      'profile/default#update',
    ]);
    const through = plan(
      [
        document('network', 'web0', { config: { 'ipv4.nat': 'false' } }),
        document('profile', 'p', { devices: { root, eth0 } }),
        document('container', 'c', { source, profiles: ['p'] }),
      ],
      {
        ...host,
        profiles: new Map([...host.profiles, ['p', { object: liveProfile('p', { devices: { root, eth0 } }) }]]),
      },
    );
    expect(through.steps.find((step) => step.id === 'container/c#create')?.needs).toEqual(['network/web0#update']);
  });

  test('depends_on waits until the other is ready', () => {
    const wait = [{ type: 'ipv4', nic: 'eth0', timeoutMs: 5000 }] as const;
    const made = plan([
      document('container', 'a', { source }, { manage: { dependsOn: ['container/z'] } }),
      document('container', 'z', { source }, { manage: { wait } }),
    ]);
    expect(made.steps.find((step) => step.id === 'container/a#create')?.needs).toEqual(['container/z#wait']);
    expect(made.steps.find((step) => step.id === 'container/z#wait')).toMatchObject({ timeoutMs: 5000 });
  });
});

describe('power', () => {
  test('a container runs unless it is declared stopped; unmanaged power is left alone', () => {
    const live = withContainers(liveContainer('a', stopped), liveContainer('b'), liveContainer('c', stopped));
    const made = plan(
      [
        document('container', 'a'),
        document('container', 'b', {}, { state: 'stopped' }),
        document('container', 'c', {}, { manage: { power: 'ignore' } }),
      ],
      live,
    );
    expect(ids(made)).toEqual(['container/a#start', 'container/b#stop']);
  });

  test('a key that takes effect at start restarts a running container after the update, and only updates a stopped one', () => {
    const documents = ['a', 'b'].map((name) =>
      document(
        'container',
        name,
        { config: { 'security.privileged': 'true' } },
        name === 'b' ? { state: 'stopped' } : {},
      ),
    );
    const made = plan(documents, withContainers(liveContainer('a'), liveContainer('b', stopped)));
    expect(ids(made)).toEqual(['container/a#update', 'container/a#restart', 'container/b#update']);
    expect(made.changes.map((change) => change.effect)).toEqual(['restart', 'live']);
    expect(summaryLine(made.summary)).toBe('Plan: 0 to add, 2 to change (1 restart), 0 to destroy');
  });

  test('a key that the profiles set to the same value has no effect', () => {
    const profiles = [liveProfile('default', { config: { 'security.privileged': 'true' } })];
    const containers = [liveContainer('a', { config: { 'security.privileged': 'true' } })];
    const made = plan(
      [document('container', 'a', { config: { 'security.privileged': null } })],
      world({ profiles, containers }),
    );
    expect(ids(made)).toEqual(['container/a#update']);
  });

  test('disruption: none refuses the restart, --allow-restart lifts that', () => {
    const documents = [
      document('container', 'a', { config: { 'security.privileged': 'true' } }, { manage: { disruption: 'none' } }),
    ];
    const observed = withContainers(liveContainer('a'));
    const made = plan(documents, observed);
    expect(made.guards).toMatchObject([{ code: 'disruption', address: 'container/a' }]);
    expect(made.steps).toEqual([]);
    expect(ids(plan(documents, observed, { allowRestart: true }))).toContain('container/a#restart');
  });

  test('an ephemeral container is not stopped, since that would delete it', () => {
    const made = plan(
      [document('container', 'a', {}, { state: 'stopped' })],
      withContainers(liveContainer('a', { ephemeral: true })),
    );
    expect(made.guards).toMatchObject([{ code: 'disruption' }]);
  });
});

describe('replacement', () => {
  const live = withContainers(
    liveContainer('a', {
      config: { 'volatile.eth0.hwaddr': '00:16:3e:01:02:03', 'volatile.idmap.base': '0', 'user.by-hand': '1' },
    }),
  );
  const changed = (disruption: 'restart' | 'recreate'): readonly Document[] => [
    document('container', 'a', { architecture: 'aarch64', source }, { manage: { disruption } }),
  ];

  test('it is refused by default and shown with its cause', () => {
    const made = plan(changed('restart'), live);
    expect(made.changes[0]).toMatchObject({ action: 'replace', guard: { code: 'disruption' }, steps: [] });
  });

  test('when allowed it keeps hardware addresses and settings of others', () => {
    const made = plan(changed('recreate'), live);
    expect(ids(made)).toEqual(['container/a#stop', 'container/a#delete', 'container/a#create', 'container/a#start']);
    const create = made.steps[2] as Step & { body: unknown };
    expect(create.body).toMatchObject({ name: 'a', architecture: 'aarch64', source });
    expect((create.body as { config: unknown }).config).toEqual({
      'volatile.eth0.hwaddr': '00:16:3e:01:02:03',
      'user.by-hand': '1',
    });
  });

  test('--replace recreates without a change, but never a protected object', () => {
    const documents = [document('container', 'a', { source })];
    expect(plan(documents, live, { replace: ['container/a'] }).changes[0]?.action).toBe('replace');
    const guarded = [document('container', 'a', { source }, { manage: { protect: true } })];
    expect(plan(guarded, live, { replace: ['container/a'] }).guards).toMatchObject([{ code: 'protected' }]);
  });

  test('another image does not change a container', () => {
    const other = world({
      containers: [liveContainer('a')],
      profiles: [liveProfile('default')],
      aliases: [liveAlias('new', base)],
      images: [liveImage(base)],
    });
    expect(plan([document('container', 'a', { source: { type: 'image', alias: 'new' } })], other).steps).toEqual([]);
  });

  test('a network or pool in use is not recreated', () => {
    const observed = withContainers(liveContainer('a', { devices: { eth0 } }));
    const made = plan(
      [document('storage_pool', 'fast', { driver: 'btrfs' }, { manage: { disruption: 'recreate' } })],
      observed,
    );
    expect(made.guards).toMatchObject([{ code: 'in-use', address: 'storage_pool/fast' }]);
  });
});

describe('profiles', () => {
  const profiles = [liveProfile('default', { devices: { root } }), liveProfile('web', { config: { 'user.a': '1' } })];
  const containers = [
    liveContainer('mine', { profiles: ['default', 'web'] }),
    liveContainer('own-value', { profiles: ['web'], config: { 'security.privileged': 'false' } }),
    liveContainer('stopped', { profiles: ['web'], ...stopped }),
    liveContainer('stranger', { profiles: ['web'] }),
  ];
  const observed = { ...host, ...pick(world({ profiles, containers })) };
  const edit = document('profile', 'web', { config: { 'security.privileged': 'true' } });
  const mine = ['mine', 'own-value'].map((name) => document('container', name));

  test('an edit lists the containers that it reaches, and restarts only declared containers that it really changes', () => {
    const made = plan([edit, ...mine], observed);
    expect(made.changes.find((change) => change.address === 'profile/web')?.affects).toEqual([
      { address: 'container/mine', effect: 'restart', foreign: false },
      { address: 'container/stopped', effect: 'live', foreign: true },
      { address: 'container/stranger', effect: 'restart', foreign: true },
    ]);
    expect(ids(made)).toEqual(['profile/web#update', 'container/mine#restart']);
    expect(made.steps[1]?.needs).toEqual(['profile/web#update']);
  });

  test('moving the root disk under containers is refused', () => {
    const pools = [livePool('fast'), livePool('slow')];
    const moved = document('profile', 'default', { devices: { root: { ...root, pool: 'slow' } } });
    const made = plan([moved], {
      ...observed,
      pools: world({ pools }).pools,
    });
    expect(made.guards).toMatchObject([{ code: 'in-use', address: 'profile/default' }]);
  });
});

describe('references', () => {
  test('an unknown name is an error with the nearest name of the documents or of the server', () => {
    const made = plan([
      document('container', 'c', { source: { type: 'image', alias: 'bsae' }, profiles: ['wbe'] }),
      document('profile', 'web'),
    ]);
    expect(made.diagnostics.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'profiles.0: the profile wbe is neither declared nor on the server (did you mean web?)',
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

  test('a chain of fifty thousand dependencies is planned', () => {
    const documents = Array.from({ length: 50_000 }, (_, index) =>
      document(
        'container',
        `c${index}`,
        { source },
        index === 0 ? {} : { manage: { dependsOn: [`container/c${index - 1}`] } },
      ),
    );
    const made = planChanges({ documents, observed: host });
    expect(made.diagnostics).toEqual([]);
    expect(made.steps).toHaveLength(100_000);
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
    const told = (documents: readonly Document[], isGantry: boolean, observed = host) =>
      plan(documents, { ...observed, server: { extensions: [], isGantry } }).diagnostics.map(
        ({ code, severity, path, message }) => `${severity} ${code} ${path ?? ''}: ${message}`,
      );
    const outside = 'address-outside devices.eth0.ipv4.address: container/c cannot have the address 10.2.0.5:';
    expect(told([lan, container('10.1.0.5')], true)).toEqual([]);
    expect(told([lan, container('10.2.0.5')], true)).toEqual([
      `error ${outside} it is not in the subnet of the network lan0 (10.1.0.1/24)`,
    ]);
    expect(told([lan, container('10.2.0.5')], false)[0]).toContain(`warning ${outside}`);
    expect(told([lan, container('10.2.0.5', { state: 'stopped' })], true)[0]).toContain(`warning ${outside}`);
    expect(told([lan, container('10.1.0.1')], true)[0]).toContain('it is the address of the network lan0');
    const profiled = [
      lan,
      document('profile', 'fixed', { devices: nic('10.2.0.5') }),
      document('container', 'c', { source: { type: 'none' }, profiles: ['default', 'fixed'] }),
    ];
    expect(told(profiled, true)[0]).toContain(`error ${outside}`);
    // The server has not picked the subnet yet.
    expect(told([document('network', 'lan0', {}), container('10.2.0.5')], true)).toEqual([]);
    const live = liveContainer('c', { devices: nic('10.2.0.5') });
    expect(told([lan, container('10.2.0.5')], true, withContainers(live))[0]).toContain(`warning ${outside}`);
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

  test('an unknown target is an error with the nearest one', () => {
    const made = plan([document('profile', 'web')], host, { targets: ['profile/wbe'] });
    expect(made.diagnostics[0]?.message).toBe('--target profile/wbe is not declared (did you mean profile/web?)');
  });
});

describe('targets', () => {
  test('a target includes its dependencies and nothing else', () => {
    const documents = [
      document('profile', 'web', { devices: { eth0: { ...eth0, parent: 'db0' } } }),
      document('network', 'db0', { type: 'bridge' }),
      document('network', 'lan0', { type: 'bridge' }),
    ];
    expect(ids(plan(documents, host, { targets: ['profile/web'] }))).toEqual([
      'network/db0#create',
      'profile/web#create',
    ]);
  });
});

describe('destroy', () => {
  const observed = withContainers(liveContainer('a', { devices: { eth0 } }), liveContainer('b', stopped));
  const documents = [
    document('storage_pool', 'fast', { driver: 'dir' }),
    document('network', 'web0', { type: 'bridge' }),
    document('profile', 'default', { devices: { root } }),
    document('container', 'a', { devices: { eth0 } }),
    document('container', 'b'),
    document('container', 'never-made', { source }),
  ];

  test('a volume is deleted before its pool, and after the container that uses it', () => {
    const data = { type: 'disk', pool: 'vast', source: 'data', path: '/data' };
    const live = world({
      containers: [liveContainer('a', { ...stopped, devices: { data } })],
      profiles: [...host.profiles.values()].map(({ object }) => object),
      pools: [livePool('fast'), livePool('vast')],
      volumes: [liveVolume('vast/data')],
    });
    const made = planDestroy({
      documents: [
        document('storage_pool', 'vast', { driver: 'dir' }),
        document('storage_volume', 'vast/data'),
        document('container', 'a', { devices: { data } }),
      ],
      observed: live,
    });
    expect(checkPlan(made, live)).toEqual([]);
    expect(ids(made)).toEqual(['container/a#delete', 'storage_volume/vast/data#delete', 'storage_pool/vast#delete']);
  });

  test('users are deleted before the objects they use, and the default profile only loses its declared values', () => {
    const made = planDestroy({ documents, observed });
    expect(checkPlan(made, observed)).toEqual([]);
    expect(made.guards).toEqual([]);
    expect([...ids(made)].sort()).toEqual([
      'container/a#delete',
      'container/a#stop',
      'container/b#delete',
      'network/web0#delete',
      'profile/default#update',
      'storage_pool/fast#delete',
    ]);
    expect(made.summary).toMatchObject({ add: 0, change: 1, destroy: 4 });
  });

  test('objects that others still use stay, and so do the dependencies of those others', () => {
    const made = planDestroy({ documents: documents.filter((one) => one.name !== 'a'), observed });
    expect(made.guards.map((guard) => `${guard.code} ${guard.address}`)).toEqual([
      'in-use storage_pool/fast',
      'in-use network/web0',
    ]);
  });

  test('protection on the live container survives the document that set it', () => {
    const guarded = withContainers(
      liveContainer('b', { ...stopped, config: { 'security.protection.delete': 'true' } }),
    );
    expect(planDestroy({ documents: [document('container', 'b')], observed: guarded }).guards).toMatchObject([
      { code: 'protected' },
    ]);
  });

  test('a target includes its dependents', () => {
    const made = planDestroy({ documents, observed, options: { targets: ['network/web0'] } });
    expect([...new Set(made.steps.map((step) => step.address))].sort()).toEqual(['container/a', 'network/web0']);
  });
});

describe('the checker', () => {
  const observed = withContainers(
    liveContainer('a', { devices: { eth0 }, config: { 'security.protection.delete': 'true' } }),
  );
  const good = plan([
    document('network', 'db0', { type: 'bridge' }),
    document('profile', 'web', { devices: { eth0: { ...eth0, parent: 'db0' } } }),
  ]);
  const messages = (broken: Plan, world: Observed = host): string =>
    checkPlan(broken, world)
      .map((one) => `${one.path} ${one.message}`)
      .join('\n');
  const remove = (kind: 'network' | 'container' | 'profile', name: string): Plan => {
    const step: Step = {
      id: `${kind}/${name}#delete`,
      action: 'delete',
      kind,
      name,
      address: `${kind}/${name}`,
      needs: [],
      timeoutMs: 1,
    };
    return { ...good, steps: [step], changes: [] };
  };

  test('it reports steps before their needs, unknown needs, duplicate ids and steps without a change', () => {
    const [first, second] = good.steps as [Step, Step];
    expect(messages({ ...good, steps: [second, first] })).toContain('comes before network/db0#create');
    expect(messages({ ...good, steps: [second] })).toContain('which the plan lacks');
    expect(messages({ ...good, steps: [first, first, second] })).toContain('two steps have this id');
    expect(messages({ ...good, changes: [] })).toContain('belongs to no change');
    expect(messages({ ...good, steps: [first, { ...second, needs: [] }] })).toContain(
      'may run before network/db0#create',
    );
  });

  test('it reports deletes of used, protected, permanent and missing objects, and creates of existing ones', () => {
    expect(messages(remove('network', 'web0'), observed)).toContain('deletes an object that container/a still uses');
    expect(messages(remove('container', 'a'), observed)).toContain('deletes a protected object');
    expect(messages(remove('profile', 'default'), observed)).toContain('deletes an object that cannot be deleted');
    expect(messages(remove('network', 'nowhere'), observed)).toContain('works on an object that does not exist');
    const there = { ...host, networks: world({ networks: [liveNetwork('web0'), liveNetwork('db0')] }).networks };
    expect(messages(good, there)).toContain('creates an object that exists already');
  });
});

describe('texts for people', () => {
  const profiles = [liveProfile('default', { devices: { root } }), liveProfile('web', { config: { 'user.a': '1' } })];
  const containers = [
    liveContainer('api', {
      profiles: ['web'],
      config: { 'limits.memory': '256MiB', 'environment.DB_PASSWORD': 'old-one', 'user.hand': '1' },
    }),
    liveContainer('db', { config: { 'volatile.eth0.hwaddr': '00:16:3e:01:02:03' } }),
    liveContainer('idle', stopped),
    liveContainer('web1', { profiles: ['web'] }),
  ];
  const observed = { ...host, ...pick(world({ profiles, containers })) };
  const documents = [
    document('container', 'api', {
      config: { 'limits.memory': '1GiB', 'environment.DB_PASSWORD': 'new-one', 'user.gone': null },
    }),
    document('container', 'db', { architecture: 'aarch64', source }, { manage: { disruption: 'recreate' } }),
    document('container', 'idle'),
    document('container', 'fresh', { source, config: { 'user.user-data': '#cloud-config\npassword: x\n' } }),
    document('profile', 'web', { config: { 'security.privileged': 'true', 'user.a': null } }),
    document('network', 'web0', { config: { 'ipv4.nat': 'no' } }),
    imageDocument('app', fingerprintOf('app'), { aliases: ['app'], properties: { os: 'app' } }),
  ];

  test('a plan', () => {
    expectGolden('plan/changes.txt', renderPlan(plan(documents, observed), { color: false }));
  });
  test('a plan in colour', () => {
    expectGolden('plan/changes-color.txt', renderPlan(plan(documents.slice(0, 2), observed), { color: true }));
  });
  test('a plan as JSON', () => {
    expectGolden('plan/changes.json', `${JSON.stringify(planJson(plan(documents, observed)), null, 2)}\n`);
  });
  test('a plan names its set and the place of its manifests, as text, Markdown and JSON', () => {
    const place = 'laptop:/home/ada/web';
    const owner = { set: 'shop', hash: (text: string) => text, place: { here: place, others: 'refuse' as const } };
    const changed = planChanges({ documents, observed, owner });
    const same = planChanges({ documents: [], observed, owner });
    for (const one of [changed, same, planDestroy({ documents, observed, owner })]) {
      expect(renderPlan(one, { color: false })).toContain(`\nFor the set shop, declared at ${place}.\n`);
      expect(planJson(one)).toMatchObject({ owner: 'shop', place });
    }
    expect(renderMarkdown(changed)).toContain(`\n\nFor the set shop, declared at ${place}.\n`);
  });
  test('a plan that is refused', () => {
    const refused = documents.map((one) => ({ ...one, manage: { ...one.manage, disruption: 'none' as const } }));
    expectGolden('plan/refused.txt', renderPlan(plan(refused, observed), { color: false }));
  });
  test('no change, and a destroy', () => {
    expectGolden('plan/no-change.txt', renderPlan(plan([document('profile', 'web')], observed), { color: false }));
    expectGolden('plan/destroy.txt', renderPlan(planDestroy({ documents, observed }), { color: false }));
  });
});

test('an export leaves out and names volumes that no document can recreate', () => {
  const volume = (name: string, content_type: string) =>
    [`fast/${name}`, { object: { ...liveVolume(`fast/${name}`), content_type } }] as const;
  const observed = {
    ...host,
    volumes: new Map([volume('plain', 'filesystem'), volume('disk', 'block'), volume('plain/snap0', '')]),
  };
  const objects = exportWorld(observed).filter(({ kind }) => kind === 'storage_volume');
  const { refused, parts } = writeExport(objects, false);
  expect(refused).toEqual([
    'storage_volume/fast/disk has the content type block: a document would create a file system',
    'storage_volume/fast/plain/snap0 is a snapshot of a volume, which no document can recreate',
  ]);
  expect(parts.filter(({ text }) => text.startsWith('---')).map(({ exported }) => exported.address)).toEqual([
    'storage_volume/fast/plain',
  ]);
});

describe('a frozen container', () => {
  const frozen = liveContainer('c', { status: 'Frozen', status_code: 110 });
  const observed = world({ profiles: [liveProfile('default')], containers: [frozen] });
  const of = (extra: object) => plan([document('container', 'c', {}, extra)], observed);

  test('a frozen container that should run is thawed with the reason in the plan, and the next plan is empty', () => {
    const made = of({ state: 'running' });
    expect(made.steps.map(({ id }) => id)).toEqual(['container/c#start']);
    expect(renderPlan(made, { color: false })).toContain('it is frozen and should run: it is thawed');
    expect(of({}).steps.map(({ id }) => id)).toEqual(['container/c#start']);
    const after = world({ profiles: [liveProfile('default')], containers: [liveContainer('c')] });
    expect(plan([document('container', 'c', {}, { state: 'running' })], after).steps).toEqual([]);
  });

  test('a frozen container with unmanaged power stays as it is, and is exported so that a plan of it is empty', () => {
    expect(of({ manage: { power: 'ignore' } }).steps).toEqual([]);
    const [exported] = exportWorld(observed).filter(({ kind }) => kind === 'container');
    expect(exported?.values).toMatchObject({ manage: { power: 'ignore' } });
  });
});

test('any live value fulfils empty fields and keys that the server fills in', () => {
  const live = liveContainer('c', { config: { 'image.os': 'debian', 'volatile.x': '1', 'user.a': '1' } });
  const observed = world({ profiles: [liveProfile('default')], containers: [live], networks: [liveNetwork('lan0')] });
  const made = plan(
    [
      document('container', 'c', { architecture: '', config: { 'image.os': null, 'user.a': '1' } }),
      document('network', 'lan0', { type: '' }),
    ],
    observed,
  );
  expect([made.steps, made.guards]).toEqual([[], []]);
  const gone = plan([document('container', 'c', { config: { 'user.a': null } })], observed);
  expect(gone.steps.map(({ id }) => id)).toEqual(['container/c#update']);
});

test('a server without the newer seeds of cloud-init is named before a plan is made, with the key that it has', () => {
  const config = { 'cloud-init.user-data': '#cloud-config\n', 'user.vendor-data': '#cloud-config\n' };
  const documents = [document('profile', 'seeded', { config })];
  const observed = world({});
  const refused = plan(documents, observed);
  expect(refused.diagnostics).toMatchObject([
    {
      severity: 'error',
      path: 'config.cloud-init.user-data',
      remedy: expect.stringContaining('user.user-data') as string,
    },
  ]);
  const newer = { ...observed, server: { ...observed.server, extensions: ['cloud_init'] } };
  expect(plan(documents, newer).diagnostics).toEqual([]);
});

test.each([
  ['network', { type: 'bridge', config: { 'dns.search': 'lab' } }, 'config.dns.search', 'network_dns_search'],
  [
    'network',
    { type: 'bridge', config: { 'ipv4.nat.address': '192.0.2.9' } },
    'config.ipv4.nat.address',
    'network_nat_address',
  ],
  [
    'profile',
    { devices: { e: { type: 'nic', nictype: 'p2p', 'ipv4.routes': '10.4.0.0/16' } } },
    'devices.e.ipv4.routes',
    'container_nic_routes',
  ],
] as const)(
  '%s: a server that lacks the extension of a newer key is named before a plan is made',
  (kind, values, path, since) => {
    const observed = world({});
    expect(plan([document(kind, 'newer', values)], observed).diagnostics).toMatchObject([
      { severity: 'error', path, message: expect.stringContaining(since) as string },
    ]);
    const newer = { ...observed, server: { ...observed.server, extensions: [since] } };
    expect(plan([document(kind, 'newer', values)], newer).diagnostics).toEqual([]);
  },
);

test('ten thousand unchanged documents are planned within a second of processor time', () => {
  const scene = unchangedWorld(10_000);
  // The best of three: the first round compiles, and load may slow down any one.
  const rounds = [1, 2, 3].map(() => {
    const before = process.cpuUsage();
    const made = planChanges(scene);
    const used = process.cpuUsage(before);
    expect(made.steps).toEqual([]);
    expect(made.changes).toHaveLength(10_000);
    return (used.user + used.system) / 1000;
  });
  expect(Math.min(...rounds)).toBeLessThan(1000);
});

function pick(from: Observed): Pick<Observed, 'profiles' | 'containers'> {
  return { profiles: from.profiles, containers: from.containers };
}

test('the check of a set and its plan normalize the same documents once', () => {
  const documents = [document('profile', 'web', { config: { 'user.a': '1' } })];
  const resolved = resolveImages(documents, host, undefined, new Map());
  expect(resolved).toBe(documents);
  expect(normalizeDocuments(resolved)).toBe(normalizeDocuments(documents));
});

// Limits and restrictions of projects: what breaks them, and what a change newly breaks.
import { describe, expect, test } from 'vitest';
import { projectConfigProblems } from '../../server/api/project/project-config.ts';
import { emptyContents, type ProjectContents } from '../../server/api/project/project-contents.ts';
import { limitOf, useOf } from '../../server/api/project/project-limits.ts';
import { newProjectProblems, projectProblems } from '../../server/api/project/project-problems.ts';
import { isAllowedPath, mayUseNetwork, outermostPaths } from '../../server/api/project/project-restrictions.ts';
import type { ConfigMap, DeviceMap } from '../../server/api/schema/common-schemas.ts';

const root = { type: 'disk', path: '/', pool: 'fast', size: '10GiB' };
const nowhere = (): undefined => undefined;

const contents = (config: ConfigMap, more: Partial<ProjectContents> = {}): ProjectContents => ({
  ...emptyContents('team', config),
  ...more,
});
const container = (name: string, config: ConfigMap = {}, devices: DeviceMap = { root }) => ({ name, config, devices });
const told = (found: ProjectContents): readonly string[] =>
  projectProblems(found, nowhere).map(
    ({ subject, path, message }) =>
      `${subject === undefined ? '' : `${subject.kind} ${subject.name} `}${path} ${message}`,
  );

describe('limits', () => {
  test('every limit adds up what the containers, volumes, images, snapshots and backups of the project have', () => {
    const found = contents(
      {},
      {
        containers: [
          container('a', { 'limits.cpu': '2', 'limits.memory': '1GiB', 'limits.processes': '100' }),
          container('b', { 'limits.cpu': '0-3', 'limits.memory': '50%', 'limits.processes': '' }),
        ],
        volumes: [
          { pool: 'fast', name: 'v', config: { size: '1GiB' } },
          { pool: 'slow', name: 'v', config: { size: '2GiB' } },
          { pool: 'slow', name: 'w', config: {} },
        ],
        images: { f1: 1024 },
        snapshotSizes: [{ pool: 'slow', bytes: 7 }],
        backupBytes: 5,
        networks: ['n'],
      },
    );
    const gib = 1024 ** 3;
    expect(useOf(found, 'limits.containers')).toBe(2);
    expect(useOf(found, 'limits.instances')).toBe(2);
    expect(useOf(found, 'limits.virtual-machines')).toBe(0);
    expect(useOf(found, 'limits.networks')).toBe(1);
    expect(useOf(found, 'limits.cpu')).toBe(2);
    expect(useOf(found, 'limits.memory')).toBe(gib);
    expect(useOf(found, 'limits.processes')).toBe(100);
    expect(useOf(found, 'limits.disk')).toBe(23 * gib + 1024 + 7 + 5);
    expect(useOf(found, 'limits.disk.pool.fast')).toBe(21 * gib);
    expect(useOf(found, 'limits.disk.pool.slow')).toBe(2 * gib + 7);
  });

  test.each([
    ['limits.containers', '1'],
    ['limits.instances', '1'],
    ['limits.cpu', '3'],
    ['limits.memory', '1GiB'],
    ['limits.processes', '199'],
    ['limits.disk', '19GiB'],
    ['limits.disk.pool.fast', '19GiB'],
  ])('%s of %s is broken by two containers, with value and limit in the message', (key, value) => {
    const config = { 'limits.cpu': '2', 'limits.memory': '600MiB', 'limits.processes': '100' };
    const [first, ...others] = told(
      contents({ [key]: value }, { containers: ['a', 'b'].map((name) => container(name, config)) }),
    );
    expect(first).toMatch(new RegExp(`^${key} would be .*the project team has at most ${value}$`));
    expect(others).toEqual([]);
  });

  test.each(['limits.cpu', 'limits.memory', 'limits.processes'] as const)(
    'with %s on the project each container needs the key',
    (key) => {
      expect(told(contents({ [key]: '4' }, { containers: [container('a')] }))).toEqual([
        `container a config.${key} is required: the project team limits ${key} to 4`,
      ]);
    },
  );

  test('a share of the host and a list of processors cannot be added up', () => {
    const all = told(contents({ 'limits.cpu': '4' }, { containers: [container('a', { 'limits.cpu': '0' })] }));
    expect(all).toEqual([expect.stringContaining('limits.cpu cannot be "0"')]);
    const one = container('a', { 'limits.cpu': '0-3', 'limits.memory': '50%' });
    const problems = told(contents({ 'limits.cpu': '4', 'limits.memory': '1GiB' }, { containers: [one] }));
    expect(problems).toEqual([
      'container a config.limits.cpu cannot be "0-3": it must be a number of processors, neither a list of them nor 0, which means all, since the project team limits limits.cpu to 4',
      'container a config.limits.memory cannot be "50%": it must be a size, not a share of the host, since the project team limits limits.memory to 1GiB',
    ]);
  });

  test('each root disk and volume needs a size where disks are limited', () => {
    const bare = container('a', {}, { root: { type: 'disk', path: '/', pool: 'fast' } });
    const volumes = [{ pool: 'slow', name: 'v', config: {} }];
    expect(told(contents({ 'limits.disk': '1GiB' }, { containers: [bare], volumes }))).toEqual([
      'container a devices.root.size is required: the project team limits limits.disk to 1GiB',
      'volume slow/v config.size is required: the project team limits limits.disk to 1GiB',
    ]);
    expect(told(contents({ 'limits.disk.pool.slow': '1GiB' }, { containers: [bare], volumes }))).toEqual([
      'volume slow/v config.size is required: the project team limits limits.disk.pool.slow to 1GiB',
    ]);
  });

  test('a limit that cannot be read allows nothing, and an empty one is none', () => {
    expect(limitOf({ 'limits.memory': 'much' }, 'limits.memory')).toBe(0);
    expect(limitOf({ 'limits.memory': '' }, 'limits.memory')).toBeUndefined();
  });
});

const barred: readonly (readonly [key: string, name: string, value: string, allow: ConfigMap])[] = [
  ['restricted.containers.nesting', 'security.nesting', 'true', { 'restricted.containers.nesting': 'allow' }],
  ['restricted.containers.privilege', 'security.privileged', 'yes', { 'restricted.containers.privilege': 'allow' }],
  [
    'restricted.containers.interception',
    'security.syscalls.intercept.mknod',
    'true',
    { 'restricted.containers.interception': 'allow' },
  ],
  [
    'restricted.containers.interception',
    'security.syscalls.intercept.setxattr',
    'true',
    { 'restricted.containers.interception': 'full' },
  ],
  ...[
    'boot.host_shutdown_timeout',
    'linux.kernel_modules',
    'raw.apparmor',
    'raw.lxc',
    'raw.seccomp',
    'raw.idmap',
    'security.devlxd.images',
    'security.idmap.base',
    'security.idmap.size',
    'security.syscalls.intercept.bpf.other',
  ].map((name) => ['lowlevel', name, 'both 0 0', { 'restricted.containers.lowlevel': 'allow' }] as const),
];

describe('restrictions of config', () => {
  test.each(barred)(
    '%s: %s of %s is refused on containers and profiles unless it is allowed',
    (_key, name, value, allow) => {
      const holding = {
        containers: [container('a', { [name]: value })],
        profiles: [container('p', { [name]: value })],
      };
      const problems = told(contents({ restricted: 'true' }, holding));
      expect(problems).toHaveLength(2);
      expect(problems[0]).toContain(`container a config.${name} `);
      expect(problems[1]).toContain(`profile p config.${name} `);
      expect(told(contents({ restricted: 'true', ...allow }, holding))).toEqual([]);
      expect(told(contents({ restricted: 'false' }, holding))).toEqual([]);
    },
  );

  test('keys that reach no further than the container are free', () => {
    const free = {
      'user.a': 'b',
      'limits.memory': '1GiB',
      'security.nesting': 'false',
      'environment.A': 'b',
      'raw.lxc': '',
    };
    expect(told(contents({ restricted: 'true' }, { containers: [container('a', free)] }))).toEqual([]);
  });

  test('kernel parameters are free, apart from containers that may be privileged: theirs are the host’s', () => {
    const holding = { containers: [container('a', { 'linux.sysctl.net.ipv4.ip_forward': '1' })] };
    const privileged = { restricted: 'true', 'restricted.containers.privilege': 'allow' };
    expect(told(contents({ restricted: 'true' }, holding))).toEqual([]);
    expect(told(contents(privileged, holding))).toEqual([
      'container a config.linux.sysctl.net.ipv4.ip_forward is not allowed in the project team (restricted.containers.lowlevel is block)',
    ]);
    expect(told(contents({ ...privileged, 'restricted.containers.lowlevel': 'allow' }, holding))).toEqual([]);
  });

  test.each([
    ['lan:10.0.0.0/8', true],
    ['lan:10.0.0.0/8, lan:fd42::/64', true],
    ['10.0.0.0/8', false],
    [':10.0.0.0/8', false],
    ['lan:', false],
  ])('restricted.networks.subnets %j is an uplink with a subnet: %s', (value, isGood) => {
    const problems = projectConfigProblems({ 'restricted.networks.subnets': value });
    expect(problems.map(({ path }) => path)).toEqual(isGood ? [] : ['config.restricted.networks.subnets']);
  });

  test('isolated requires a separate map of every container, and nothing of profiles', () => {
    const config = { restricted: 'true', 'restricted.containers.privilege': 'isolated' };
    const holding = { containers: [container('a')], profiles: [container('p')] };
    expect(told(contents(config, holding))).toEqual([
      'container a config.security.idmap.isolated must be true in the project team (restricted.containers.privilege is isolated)',
    ]);
    const isolated = container('a', { 'security.idmap.isolated': 'true' });
    expect(told(contents(config, { containers: [isolated] }))).toEqual([]);
  });

  test.each([
    ['uid 1000 0', true],
    ['uid 1000-1001 0-1', true],
    ['uid 999 0', false],
    ['uid 1999-2001 0-2', false],
    ['gid 1000 0', false],
    ['both 1000 0', false],
    ['both 50 0', true],
    ['uid 0 0', false],
    ['anything', false],
  ])('raw.idmap %j is covered by the ids of the project: %s', (line, isCovered) => {
    const ids = { 'restricted.idmap.uid': '50,1000-1499, 1500-1999', 'restricted.idmap.gid': '50' };
    const problems = told(
      contents({ restricted: 'true', ...ids }, { containers: [container('a', { 'raw.idmap': line })] }),
    );
    expect(problems.length === 0).toBe(isCovered);
  });
});

const withDevice = (config: ConfigMap, device: ConfigMap): readonly string[] =>
  told(contents({ restricted: 'true', ...config }, { containers: [container('a', {}, { root, dev: device })] }));

describe('restrictions of devices', () => {
  test.each(['unix-char', 'unix-block', 'usb', 'gpu', 'infiniband', 'proxy'])(
    '%s devices need to be allowed',
    (type) => {
      expect(withDevice({}, { type })).toEqual([
        `container a devices.dev is not allowed in the project team (restricted.devices.${type} is block)`,
      ]);
      expect(withDevice({ [`restricted.devices.${type}`]: 'allow' }, { type })).toEqual([]);
    },
  );

  test('a device of a type that is not known is refused', () => {
    expect(withDevice({}, { type: 'tpm' })).toHaveLength(1);
    expect(withDevice({}, { type: '__proto__' })).toHaveLength(1);
    expect(withDevice({}, { type: 'none' })).toEqual([]);
  });

  const nic = (device: ConfigMap): ConfigMap => ({ type: 'nic', ...device });
  test.each<readonly [string, ConfigMap, ConfigMap, boolean]>([
    ['a managed network', {}, { network: 'lan' }, true],
    ['a parent', {}, { nictype: 'bridged', parent: 'lan' }, false],
    ['nothing at all', {}, { nictype: 'p2p' }, false],
    [
      'a parent, when nics are allowed',
      { 'restricted.devices.nic': 'allow' },
      { nictype: 'macvlan', parent: 'eth0' },
      true,
    ],
    ['a managed network, when nics are blocked', { 'restricted.devices.nic': 'block' }, { network: 'lan' }, false],
    ['a network of the list', { 'restricted.networks.access': 'wan, lan' }, { network: 'lan' }, true],
    ['a network outside the list', { 'restricted.networks.access': 'wan' }, { network: 'lan' }, false],
    [
      'a parent outside the list',
      { 'restricted.networks.access': 'wan', 'restricted.devices.nic': 'allow' },
      { nictype: 'bridged', parent: 'lan' },
      false,
    ],
    ['a name on the host', {}, { network: 'lan', host_name: 'eth0' }, false],
    ['routes on the host', {}, { network: 'lan', 'ipv4.routes': '10.0.0.0/8' }, false],
  ])('a nic on %s', (_what, config, device, isAllowed) => {
    expect(withDevice(config, nic(device)).length === 0).toBe(isAllowed);
  });

  const disk = (device: ConfigMap): ConfigMap => ({ type: 'disk', path: '/mnt', ...device });
  const shared = (value: string): ConfigMap => ({
    'features.storage.volumes': 'false',
    'restricted.storage.shared': value,
  });
  const paths = { 'restricted.devices.disk': 'allow', 'restricted.devices.disk.paths': '/srv/team,/data' };
  test.each<readonly [string, ConfigMap, ConfigMap, boolean]>([
    ['a volume of its own', { 'features.storage.volumes': 'true' }, { pool: 'fast', source: 'v' }, true],
    ['a writable volume of default', shared(''), { pool: 'fast', source: 'v' }, false],
    ['a volume of default that is read-only', shared(''), { pool: 'fast', source: 'v', readonly: 'true' }, true],
    ['a writable volume of default, when it is allowed', shared('allow'), { pool: 'fast', source: 'v' }, true],
    [
      'a volume of default that is read-only, when these are blocked',
      shared('block'),
      { pool: 'fast', source: 'v', readonly: 'true' },
      false,
    ],
    ['a volume, when disks are blocked', { 'restricted.devices.disk': 'block' }, { pool: 'fast', source: 'v' }, false],
    ['a path of the host', {}, { source: '/srv/team' }, false],
    ['a path of the host, when all are allowed', { 'restricted.devices.disk': 'allow' }, { source: '/etc' }, true],
    ['an allowed path', paths, { source: '/srv/team' }, true],
    ['a path below an allowed one', paths, { source: '/srv/team/a/b' }, true],
    ['a neighbour of an allowed path', paths, { source: '/srv/team2' }, false],
    ['a parent of an allowed path', paths, { source: '/srv' }, false],
    ['a path that climbs out', paths, { source: '/srv/team/../other' }, false],
    ['an allowed path with shifted ids', paths, { source: '/srv/team', shift: 'true' }, false],
  ])('a disk with %s', (_what, config, device, isAllowed) => {
    expect(withDevice(config, disk(device)).length === 0).toBe(isAllowed);
  });

  test('the root disk is free in any case', () => {
    const blocked = contents(
      { restricted: 'true', 'restricted.devices.disk': 'block' },
      { containers: [container('a')] },
    );
    expect(told(blocked)).toEqual([]);
  });

  test('a link below an allowed path that leads out is refused, one that stays inside is not', () => {
    const links: Readonly<Record<string, string>> = {
      '/srv/team': '/srv/team',
      '/srv/team/out': '/etc',
      '/srv/team/in': '/srv/team/other',
      '/link': '/real',
      '/link/a': '/real/a',
    };
    const resolve = (path: string): string | undefined => links[path];
    expect(isAllowedPath(['/srv/team'], '/srv/team/out', resolve)).toBe(false);
    expect(isAllowedPath(['/srv/team'], '/srv/team/in', resolve)).toBe(true);
    expect(isAllowedPath(['/srv/team'], '/srv/team/missing', resolve)).toBe(true);
    // The list may name a link itself.
    expect(isAllowedPath(['/link'], '/link/a', resolve)).toBe(true);
    // One below another may have become a link, made by a user who can write in the outer one.
    expect(isAllowedPath(['/srv/team', '/srv/team/out'], '/srv/team/out', resolve)).toBe(false);
    expect(outermostPaths(['/srv/team/a', '/srv/team/', '/srv/team2', '/srv/./team'])).toEqual([
      '/srv/team',
      '/srv/team2',
    ]);
  });
});

test('snapshots and backups need to be allowed', () => {
  const holding = { snapshots: ['a/s'], backups: ['a/b'] };
  expect(told(contents({ restricted: 'true' }, holding))).toEqual([
    'snapshot a/s  is not allowed in the project team (restricted.snapshots is block)',
    'backup a/b  is not allowed in the project team (restricted.backups is block)',
  ]);
  const allow = { restricted: 'true', 'restricted.snapshots': 'allow', 'restricted.backups': 'allow' };
  expect(told(contents(allow, holding))).toEqual([]);
});

test('networks that containers may use follow the restrictions', () => {
  expect(mayUseNetwork({}, 'lan')).toBe(true);
  expect(mayUseNetwork({ restricted: 'true' }, 'lan')).toBe(true);
  expect(mayUseNetwork({ restricted: 'true', 'restricted.devices.nic': 'block' }, 'lan')).toBe(false);
  expect(mayUseNetwork({ restricted: 'true', 'restricted.networks.access': 'wan' }, 'lan')).toBe(false);
});

describe('limits that a change newly breaks', () => {
  const limited = { 'limits.containers': '1', 'limits.memory': '1GiB' };
  const two = [container('a', { 'limits.memory': '1GiB' }), container('b', { 'limits.memory': '1GiB' })];
  const three = [...two, container('c', { 'limits.memory': '1MiB' })];
  const fresh = (before: ProjectContents | undefined, after: ProjectContents): readonly string[] =>
    newProjectProblems(before, after, nowhere).map(({ path }) => path);

  test('a deletion passes in a project that is over its limits', () => {
    expect(fresh(contents(limited, { containers: three }), contents(limited, { containers: two }))).toEqual([]);
  });

  test('an addition does not, nor a lower limit', () => {
    expect(fresh(contents(limited, { containers: two }), contents(limited, { containers: three }))).toEqual([
      'limits.containers',
      'limits.memory',
    ]);
    expect(fresh(contents({}, { containers: two }), contents(limited, { containers: two }))).toEqual([
      'limits.containers',
      'limits.memory',
    ]);
  });

  test('a limit that another container broke before does not refuse this change', () => {
    const bad = container('bad', { 'raw.lxc': 'x=y' });
    const restricted = { restricted: 'true' };
    const before = contents(restricted, { containers: [bad] });
    expect(fresh(before, contents(restricted, { containers: [bad, container('good')] }))).toEqual([]);
    expect(fresh(before, contents(restricted, { containers: [bad, { ...bad, name: 'worse' }] }))).toEqual([
      'config.raw.lxc',
    ]);
  });
});

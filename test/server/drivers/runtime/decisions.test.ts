// The pure halves of the runtimes: id maps, cpus, limits of both cgroup versions, config lines.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  balanceCpus,
  parseCpus,
  parseCpuTime,
  pickCpus,
} from '../../../../server/drivers/runtime/cgroup/cpu-limits.ts';
import { confine } from '../../../../server/drivers/runtime/cgroup/cpu-sets.ts';
import type { IdMapEntry, RunConfig } from '../../../../server/drivers/runtime/driver.ts';
import {
  decideHostIds,
  defaultMap,
  hostRootIds,
  parseSubIds,
  rangeOfKernelMap,
  toHostId,
} from '../../../../server/drivers/runtime/idmap/id-map.ts';
import {
  cgroup1Values,
  cgroup2Values,
  formatCpus,
  readLimits,
} from '../../../../server/drivers/runtime/cgroup/limits.ts';
import { escapeField, renderLxcConfig } from '../../../../server/drivers/runtime/lxc/config.ts';
import { hugePageSizes, readPossibleCpus } from '../../../../server/drivers/runtime/cgroup/host-facts.ts';
import { parseRawLxc } from '../../../../server/api/container/raw-lxc.ts';
import { nativeOnly } from '../../../../server/drivers/runtime/lxc/native-abi-filter.ts';
import { renderSeccomp } from '../../../../server/drivers/runtime/lxc/seccomp.ts';
import { shiftId } from '../../../../server/drivers/runtime/idmap/shift-ownership.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const host = { onlineCpus: [0, 1, 2, 3], memoryBytes: 1000 * 1024 * 1024, hasMemsw: true, hugePages: ['2MB'] };
const map: readonly IdMapEntry[] = [
  { isuid: true, isgid: false, hostid: 100_000, nsid: 0, maprange: 65_536 },
  { isuid: false, isgid: true, hostid: 200_000, nsid: 0, maprange: 65_536 },
];

describe('id maps', () => {
  test('the first entry of root that is large enough counts, by name or number', () => {
    const text = '# comment\n_lxd:100000:65536\nroot:5000:10\nroot:300000:65536\nroot:900000:65536\n';
    expect(parseSubIds(text, ['root', '0'])).toEqual({ start: 300_000, count: 65_536 });
    expect(parseSubIds('0:7000:70000', ['root', '0'])).toEqual({ start: 7000, count: 70_000 });
    expect(parseSubIds('root:100000:65535', ['root'])).toBeUndefined();
    expect(parseSubIds('garbage\nroot:x:y', ['root'])).toBeUndefined();
  });

  test('a host without files uses the fixed range and a container what lies above 100000', () => {
    expect(rangeOfKernelMap('         0          0 4294967295\n')).toEqual({ start: 1_000_000, count: 1_000_000_000 });
    expect(rangeOfKernelMap('0 1000000 1000000000\n')).toEqual({ start: 100_000, count: 999_900_000 });
    expect(rangeOfKernelMap('0 1000000 65536\n')).toBeUndefined();
  });

  test('a file without an entry for root is a problem with a remedy', () => {
    const decided = decideHostIds({ subuid: '_lxd:1:65536', subgid: '', uidMap: '', gidMap: '' });
    expect(decided).toMatchObject({ problem: expect.stringContaining('root:1000000:1000000000') as string });
  });

  test('the default map is the whole range at container id 0', () => {
    const file = 'root:100000:10000001\n';
    const ids = decideHostIds({ subuid: file, subgid: `root:5:1\n${file}`, uidMap: '', gidMap: '' });
    if ('problem' in ids) throw new Error(ids.problem);
    expect(ids.allowed.gid).toEqual([
      { start: 0, count: 1 },
      { start: 5, count: 1 },
      { start: 100_000, count: 10_000_001 },
    ]);
    expect(defaultMap(ids)).toEqual([
      { isuid: true, isgid: false, hostid: 100_000, nsid: 0, maprange: 10_000_001 },
      { isuid: false, isgid: true, hostid: 100_000, nsid: 0, maprange: 10_000_001 },
    ]);
  });

  test('ids translate within the map only', () => {
    expect(hostRootIds(map)).toEqual({ uid: 100_000, gid: 200_000 });
    expect(hostRootIds([])).toEqual({ uid: 0, gid: 0 });
    expect(toHostId(map, 'gid', 5)).toBe(200_005);
    expect(toHostId(map, 'uid', 65_536)).toBeUndefined();
    expect(toHostId([], 'uid', 7)).toBe(7);
  });

  test('shifting on disk there and back is the identity, and doing it twice changes nothing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 65_535 }), fc.constantFrom('uid' as const, 'gid' as const), (id, kind) => {
        const there = shiftId(id, kind, [], map);
        expect(there).toBe(toHostId(map, kind, id));
        expect(shiftId(there, kind, [], map)).toBe(there);
        expect(shiftId(there, kind, map, [])).toBe(id);
      }),
    );
  });
});

describe('cpus', () => {
  test('reads counts, lists, ranges and single pins', () => {
    expect(parseCpus('')).toEqual({ kind: 'all' });
    expect(parseCpus('2')).toEqual({ kind: 'count', count: 2 });
    expect(parseCpus('1-1')).toEqual({ kind: 'pinned', cpus: [1] });
    expect(parseCpus('3,0-1')).toEqual({ kind: 'pinned', cpus: [0, 1, 3] });
    expect(parseCpus('0')).toEqual({ kind: 'all' });
    for (const bad of ['-', '1-', ',1', '3-1', 'a']) expect(() => parseCpus(bad)).toThrow();
  });

  const claims = (wishes: Record<string, string>, current: Record<string, readonly number[]> = {}) =>
    new Map(Object.entries(wishes).map(([name, wish]) => [name, { wish: parseCpus(wish), current: current[name] }]));
  const spread = (wishes: Record<string, string>, current?: Record<string, readonly number[]>) =>
    Object.fromEntries(balanceCpus(claims(wishes, current), host.onlineCpus));

  test('a count takes the cpus that the fewest others use, and keeps its own where that is the same', () => {
    expect(spread({ a: '0-0', b: '0-1', c: '2' })).toMatchObject({ c: [2, 3] });
    expect(spread({ a: '2-2', b: '3-3', c: '1-1', d: '2' })).toMatchObject({ d: [0, 1] });
    expect(spread({ a: '4', b: '9', c: '' })).toEqual({ a: undefined, b: undefined, c: undefined });
    expect(spread({ a: '1', b: '1' }, { a: [3], b: [1] })).toEqual({ a: [3], b: [1] });
    expect(spread({ a: '1', b: '1' }, { a: [3], b: [3] })).toEqual({ a: [3], b: [0] });
  });

  test('counted cpus stay spread evenly as containers come and go; none moves without a change', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), fc.integer({ min: 1, max: 5 })),
        (counts) => {
          const wishes = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, `${count}`]));
          const sets = spread(wishes);
          const load = host.onlineCpus.map((cpu) => Object.values(sets).filter((set) => set?.includes(cpu)).length);
          expect(Math.max(...load) - Math.min(...load)).toBeLessThanOrEqual(1);
          for (const [name, count] of Object.entries(counts)) expect(sets[name]?.length ?? 4).toBe(Math.min(count, 4));
          const current = Object.fromEntries(Object.entries(sets).flatMap(([name, set]) => (set ? [[name, set]] : [])));
          expect(spread(wishes, current)).toEqual(sets);
        },
      ),
    );
  });

  test('pins to what is online, and refuses when nothing is', () => {
    expect(pickCpus({ kind: 'pinned', cpus: [3, 9] }, host.onlineCpus)).toEqual([3]);
    expect(() => pickCpus({ kind: 'pinned', cpus: [9] }, host.onlineCpus)).toThrow(/online/);
  });

  test('reads shares and quotas', () => {
    expect(parseCpuTime('', '')).toEqual({ percent: 100, priority: 10 });
    expect(parseCpuTime('50%', '5')).toEqual({ percent: 50, priority: 5 });
    expect(parseCpuTime('25ms/100ms', '').quota).toEqual({ quotaUs: 25_000, periodUs: 100_000 });
    for (const bad of ['50', '10ms', '0ms/100ms', '1ms/5000ms']) expect(() => parseCpuTime(bad, '')).toThrow();
    expect(() => parseCpuTime('', '11')).toThrow();
  });

  test.each([1, 2] as const)(
    'a group of cgroup v%i is confined and gets all cpus again, and in v1 the groups inside it as far as they have to',
    (version) => {
      const root = tempFolder('gtycpu-');
      const file = (group: string): string => join(root, group, 'cpuset.cpus');
      const read = (group: string): string => readFileSync(file(group), 'utf8').trim();
      try {
        const inside = { g: '0-3', 'g/same': '0-3', 'g/narrow': '1-2', 'g/narrow/deep': '1', 'g/none': '' };
        for (const [group, cpus] of Object.entries(inside)) {
          mkdirSync(join(root, group), { recursive: true });
          writeFileSync(file(group), `${cpus}\n`);
        }
        const tree = { version, roots: new Map([[version === 1 ? 'cpuset' : '', root]]) };
        const groups = (): string[] => Object.keys(inside).map(read);
        confine(tree, 'g', [2, 3], host.onlineCpus);
        expect(groups()).toEqual(version === 1 ? ['2-3', '2-3', '2', '2', ''] : ['2-3', '0-3', '1-2', '1', '']);
        confine(tree, 'g', undefined, host.onlineCpus);
        expect(read('g')).toBe(version === 1 ? '0-3' : formatCpus(readPossibleCpus()));
        confine(tree, 'g/none', undefined, host.onlineCpus);
        expect(read('g/none')).toBe(version === 1 ? '0-3' : '');
        confine(tree, 'absent', [1], host.onlineCpus);
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    },
  );

  test('writes cpu lists as the kernel does', () => {
    expect(formatCpus([0, 1, 2, 5, 7, 8])).toBe('0-2,5,7-8');
  });
});

describe('limits', () => {
  const values = (config: Record<string, string>, unset = false): Record<string, string> =>
    Object.fromEntries(
      cgroup1Values(readLimits(config, host, undefined), host, unset).map(({ file, value }) => [file, value]),
    );
  const values2 = (config: Record<string, string>, unset = false): Record<string, string> =>
    Object.fromEntries(cgroup2Values(readLimits(config, host, undefined), unset).map((one) => [one.file, one.value]));

  test('a config without limits writes no values', () => {
    expect(values({})).toEqual({});
    expect(values2({})).toEqual({});
  });

  test('hard memory limits, as sizes and shares of the host', () => {
    expect(values({ 'limits.memory': '100MB' })).toEqual({
      'memory.limit_in_bytes': '100000000',
      'memory.memsw.limit_in_bytes': '100000000',
      'memory.soft_limit_in_bytes': '90000000',
    });
    expect(values2({ 'limits.memory': '10%' })).toEqual({ 'memory.max': `${100 * 1024 * 1024}` });
  });

  test('soft memory limits never set the hard one', () => {
    const config = { 'limits.memory': '1GiB', 'limits.memory.enforce': 'soft' };
    expect(values(config)).toEqual({ 'memory.soft_limit_in_bytes': `${1024 ** 3}` });
    expect(values2(config)).toEqual({ 'memory.high': `${1024 ** 3}` });
  });

  test('swap off and swap priority', () => {
    expect(values({ 'limits.memory.swap': 'false' })).toEqual({ 'memory.swappiness': '0' });
    expect(values({ 'limits.memory.swap.priority': '4' })).toEqual({ 'memory.swappiness': '54' });
    expect(values2({ 'limits.memory.swap': 'no' })).toEqual({ 'memory.swap.max': '0' });
  });

  test('cpu shares and quotas', () => {
    expect(values({ 'limits.cpu.allowance': '50%', 'limits.cpu.priority': '7' })).toEqual({ 'cpu.shares': '521' });
    expect(values({ 'limits.cpu.allowance': '10ms/50ms' })).toEqual({
      'cpu.cfs_period_us': '50000',
      'cpu.cfs_quota_us': '10000',
    });
    expect(values2({ 'limits.cpu.allowance': '10ms/50ms' })).toEqual({ 'cpu.max': '10000 50000' });
    expect(values2({ 'limits.cpu.allowance': '30%' })).toEqual({ 'cpu.weight': '30' });
  });

  test('removing limits writes the values for "none"', () => {
    expect(values({}, true)).toMatchObject({
      'memory.limit_in_bytes': '-1',
      'memory.memsw.limit_in_bytes': '-1',
      'pids.max': 'max',
      'cpu.shares': '1024',
      'cpu.cfs_quota_us': '-1',
      'cpuset.cpus': '0-3',
    });
    expect(values2({}, true)).toMatchObject({ 'memory.max': 'max', 'pids.max': 'max', 'cpu.max': 'max 100000' });
  });

  test('huge pages, of the sizes that the host can limit', () => {
    const config = { 'limits.hugepages.2MB': '64MiB' };
    expect(values(config)).toEqual({ 'hugetlb.2MB.limit_in_bytes': `${64 * 1024 ** 2}` });
    expect(values2(config)).toEqual({ 'hugetlb.2MB.max': `${64 * 1024 ** 2}` });
    expect([values({}, true)['hugetlb.2MB.limit_in_bytes'], values2({}, true)['hugetlb.2MB.max']]).toEqual([
      '-1',
      'max',
    ]);
    expect(() => values({ 'limits.hugepages.1GB': '1GiB' })).toThrow(/limits\.hugepages\.1GB.*this host can limit 2MB/);
    const sizes = ['hugepages-2048kB', 'hugepages-1048576kB', 'hugepages-64kB', 'other'];
    expect(hugePageSizes(sizes)).toEqual(['2MB', '1GB', '64KB']);
  });

  test('invalid limits are refused', () => {
    for (const [key, value] of [
      ['limits.memory', '1.5GB'],
      ['limits.processes', '-1'],
      ['limits.disk.priority', '11'],
      ['limits.memory.swap.priority', 'x'],
    ] as const) {
      expect(() => readLimits({ [key]: value }, host, undefined)).toThrow(key);
    }
  });
});

describe('the configuration file', () => {
  const run: RunConfig = {
    name: 'c1',
    hostname: 'c1',
    rootfs: '/pool/c1/rootfs',
    logDir: '/logs/c1',
    architecture: 'x86_64',
    idmap: map,
    config: {},
    nics: [],
    mounts: [],
  };
  const settings = {
    postStopHook: 'hook',
    cgroup: { monitor: 'm', pivot: 'p', container: 'c' },
    cgroup1: [{ file: 'pids.max', value: '9' }],
    cgroup2: [{ file: 'pids.max', value: '9' }],
    seccompProfile: undefined,
    apparmorLabel: undefined,
    lxcfsFiles: ['meminfo'],
  };
  const lines = (changes: Partial<RunConfig>): readonly string[] =>
    renderLxcConfig({ ...run, ...changes }, settings).split('\n');

  test('holds both cgroup generations, the map, the deny-all device rule', () => {
    expect(lines({})).toEqual(
      expect.arrayContaining([
        'lxc.idmap = u 0 100000 65536',
        'lxc.idmap = g 0 200000 65536',
        'lxc.cgroup.devices.deny = a',
        'lxc.cgroup2.devices.deny = a',
        'lxc.cgroup.pids.max = 9',
        'lxc.cgroup2.pids.max = 9',
        'lxc.mount.auto = proc:rw sys:rw cgroup:mixed',
        'lxc.mount.entry = /var/lib/lxcfs/proc/meminfo proc/meminfo none bind,optional 0 0',
      ]),
    );
  });

  test('a privileged container has no map, fewer capabilities and read-only kernel settings', () => {
    const text = lines({ idmap: [] }).join('\n');
    expect(text).not.toContain('lxc.idmap');
    expect(text).toContain('proc:mixed sys:mixed');
    expect(text).toContain('lxc.cap.drop = mac_admin mac_override');
  });

  test('the container runs under the label of its AppArmor profile', () => {
    const withLabel = renderLxcConfig({ ...run, config: {} }, { ...settings, apparmorLabel: 'one//&:one:' });
    expect(withLabel.split('\n').filter((line) => line.includes('apparmor'))).toEqual([
      'lxc.apparmor.profile = one//&:one:',
    ]);
  });

  test('AppArmor is not mentioned where the kernel has none', () => {
    expect(lines({}).join('\n')).not.toContain('apparmor');
  });

  test('escapes mount paths', () => {
    expect(escapeField('/a b\\c#d')).toBe('/a\\040b\\134c\\043d');
    expect(() => escapeField('/a\nb')).toThrow();
  });

  test.each(['', '/', 'relative', '/a/../../etc'])('refuses to mount at %j', (target) => {
    const mount = {
      device: 'd',
      source: '/x',
      kind: 'dir',
      readonly: false,
      optional: false,
      recursive: false,
    } as const;
    expect(() => lines({ mounts: [{ ...mount, target }] })).toThrow(/device d/i);
  });

  test('no text anywhere in a run config can add a line', () => {
    const evil = fc.string().map((text) => `${text}\nlxc.rootfs.path = dir:/${text}`);
    fc.assert(
      fc.property(evil, fc.nat(6), (text, where) => {
        const changes: Partial<RunConfig>[] = [
          { hostname: text },
          { rootfs: text },
          { logDir: text },
          { config: { 'environment.A': text } },
          { config: { [`environment.${text}`]: 'x' } },
          { config: { 'limits.kernel.nofile': text } },
          { config: { [`limits.kernel.${text}`]: '1' } },
        ];
        expect(() => lines(changes[where] ?? {})).toThrow();
      }),
    );
  });

  test.each([
    'lxc.log.file = /x',
    'LXC.LOG.FILE = /x',
    'lxc.net.0.type = phys',
    'lxc.idmap = u 0 0 65536',
    'lxc.include = /etc/x',
    'lxc.hook.post-stop =',
    'lxc.cap.keep =',
    'lxc.mount.entry =',
    'lxc.cgroup.dir.container = lxc',
    'no equals sign',
    'lxc.bogus = 1',
    'lxc.cap.dropp = sys_boot',
    'lxc.cgroup2. = 1',
    'PATH = /bin',
  ])('raw.lxc may not say %j', (line) => {
    expect(parseRawLxc(line)).toHaveProperty('problem');
  });

  test('an unknown key of raw.lxc is reported with the nearest known one', () => {
    expect(parseRawLxc('lxc.cap.dropp = x')).toEqual({
      problem: expect.stringMatching(/line 1.*liblxc has no key "lxc\.cap\.dropp".*lxc\.cap\.drop\?/),
    });
  });

  test('raw.lxc may set all other keys', () => {
    for (const key of [
      'lxc.cgroup2.memory.max',
      'lxc.sysctl.net.core.somaxconn',
      'lxc.mount.entry',
      'lxc.proc.oom_score_adj',
    ])
      expect(parseRawLxc(`${key} = 1`)).toEqual([`${key} = 1`]);
    expect(parseRawLxc('lxc.cap.drop=')).toEqual(['lxc.cap.drop = ']);
    expect(parseRawLxc('# x\n\n lxc.cap.drop = sys_boot \nlxc.net.0.ipv4.address = 10.0.0.2/24')).toEqual([
      'lxc.cap.drop = sys_boot',
      'lxc.net.0.ipv4.address = 10.0.0.2/24',
    ]);
  });

  test('system call filters: default, own list, allow list, conflicts', () => {
    expect(renderSeccomp({})).toContain('kexec_load');
    // An empty list would still be a filter, visible to tools inside and to the kernel.
    for (const key of ['security.syscalls.blacklist_default', 'security.syscalls.deny_default']) {
      expect(renderSeccomp({ [key]: 'false' })).toBeUndefined();
      const own = renderSeccomp({ [key]: 'false', 'security.syscalls.deny': 'ptrace errno 1' });
      expect(own).toBe('2\nblacklist\n[all]\nptrace errno 1\n');
    }
    expect(renderSeccomp({ 'security.syscalls.deny': 'ptrace errno 1' })).toContain('ptrace errno 1');
    expect(renderSeccomp({ 'security.syscalls.allow': 'read\nwrite' })).toMatch(/^2\nwhitelist\n/);
    expect(renderSeccomp({ 'security.syscalls.blacklist': 'ptrace errno 1' })).toContain('ptrace errno 1');
    expect(renderSeccomp({ 'security.syscalls.whitelist': 'read\nwrite' })).toMatch(/^2\nwhitelist\n/);
    expect(() =>
      renderSeccomp({ 'security.syscalls.whitelist': 'read', 'security.syscalls.blacklist': 'write' }),
    ).toThrow();
    expect(renderSeccomp({ 'security.syscalls.blacklist_compat': 'true' })).toBe(renderSeccomp({}));
    expect(nativeOnly('arm64', '/usr/bin/perl').join(' ')).toMatch(/syscall\(277, 1, 0, \$program\)/);
    expect(() => nativeOnly('s390x', '/usr/bin/perl')).toThrow(/deny_compat is not available.*s390x/);
  });
});

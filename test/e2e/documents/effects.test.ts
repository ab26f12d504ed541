// The effect in a plan is the real effect: live changes reach a running container, restarts restart it, recreations replace it, and the
// next plan is empty. For every kind, on real containers and on a stock LXD.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import {
  containerWith,
  network,
  openBench,
  profileWith,
  type Bench,
  type BenchHost,
} from '../../support/cli/daemon-with-manifests.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';

const subnet = freeSubnet();

/** The value of a control group file of the container's first process; either generation of control groups. */
async function groupValue(bench: Bench, files: Readonly<Record<string, string>>): Promise<string> {
  const { pid } = await bench.life();
  const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const [controller, file] of Object.entries(files)) {
    const path = groups.find(([, names]) => (names ?? '').split(',').includes(controller))?.[2];
    const root = controller === '' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`;
    // The limits are on the parent of the group that the container made for itself.
    for (let at = path; at !== undefined && at.includes('/gantry/'); at = at.slice(0, at.lastIndexOf('/'))) {
      const full = `${root}${at}/${file}`;
      if (existsSync(full) && /\/gantry\/[0-9a-f]+\/[^/]+$/.test(at)) return readFileSync(full, 'utf8').trim();
    }
  }
  throw new Error(`no control group of process ${pid} has ${JSON.stringify(files)}`);
}

const memory = { memory: 'memory.limit_in_bytes', '': 'memory.max' };
const processes = { pids: 'pids.max', '': 'pids.max' };
const inside = (bench: Bench, path: string): Promise<string> =>
  bench.life().then(({ pid }) => readFileSync(`/proc/${pid}/root${path}`, 'utf8').trim());

interface Case {
  readonly name: string;
  /** The changed document, and its change. */
  readonly part: string;
  readonly to: (bench: Bench) => string;
  readonly plan: readonly string[];
  readonly life: 'same' | 'restarted' | 'recreated';
  readonly flags?: readonly string[];
  /** LXD gets a request of the same kind in another case. */
  readonly isNotOnLxd?: boolean;
  /** Assertions for any runtime. */
  readonly holds?: (bench: Bench) => Promise<void>;
  /** Further assertions for real containers. */
  readonly really?: (bench: Bench) => Promise<void>;
}

const config = async (bench: Bench): Promise<Record<string, string>> =>
  ((await bench.get('/1.0/containers/c1')) as { expanded_config: Record<string, string> }).expanded_config;

const cases: readonly Case[] = [
  {
    name: 'a limit of its own',
    part: 'container',
    to: () => containerWith('config: { limits.memory: 96MiB, limits.processes: 150, limits.cpu: 1 }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    async really(bench) {
      expect(await groupValue(bench, memory)).toBe(String(96 * 1024 * 1024));
      expect(await groupValue(bench, processes)).toBe('150');
    },
  },
  {
    name: 'a limit removed with null',
    isNotOnLxd: true,
    part: 'container',
    to: () => containerWith('config: { limits.memory: null, limits.processes: null, limits.cpu: 1 }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    async holds(bench) {
      expect(await config(bench)).toMatchObject({ 'limits.memory': '64MiB' });
      expect(await config(bench)).not.toHaveProperty('limits.processes');
    },
    async really(bench) {
      expect(await groupValue(bench, memory)).toBe(String(64 * 1024 * 1024));
      expect(await groupValue(bench, processes)).toBe('max');
    },
  },
  {
    name: 'a key that is no longer declared is removed',
    part: 'container',
    to: () => containerWith(''),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect(await config(bench)).not.toHaveProperty('limits.cpu'),
  },
  {
    name: 'free keys, description, autostart',
    isNotOnLxd: true,
    part: 'container',
    to: () =>
      containerWith('description: Known\nconfig: { user.owner: me, boot.autostart: true, environment.LANG: C }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect(await bench.get('/1.0/containers/c1')).toMatchObject({ description: 'Known' }),
  },
  {
    name: 'a profile joined, which the plan makes too',
    part: 'container',
    to: () =>
      `kind: profile\nname: extra\nconfig: { limits.processes: 77 }\n---\n${containerWith('').replace('[small]', '[small, extra]')}`,
    plan: ['profile/extra: create live', 'container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect(await config(bench)).toMatchObject({ 'limits.processes': '77' }),
    really: async (bench) => expect(await groupValue(bench, processes)).toBe('77'),
  },
  {
    name: 'a profile left',
    part: 'container',
    to: () => containerWith('ephemeral: true\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    async holds(bench) {
      expect(await bench.get('/1.0/containers/c1')).toMatchObject({ profiles: ['small'], ephemeral: true });
    },
    really: async (bench) => expect(await groupValue(bench, processes)).toBe('max'),
  },
  {
    name: 'lasting again',
    part: 'container',
    to: () => containerWith('ephemeral: false\n'),
    plan: ['container/c1: update live'],
    life: 'same',
  },
  {
    name: 'a security setting',
    part: 'container',
    to: () => containerWith('config: { security.nesting: true }\n'),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
  },
  {
    name: 'a kernel limit',
    isNotOnLxd: true,
    part: 'container',
    to: () => containerWith('config: { security.nesting: true, limits.kernel.nofile: "3000:4000" }\n'),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    async really(bench) {
      const { pid } = await bench.life();
      expect(readFileSync(`/proc/${pid}/limits`, 'utf8')).toMatch(/Max open files +3000 +4000/);
    },
  },
  {
    name: 'what needed a restart, no longer written',
    part: 'container',
    to: () => containerWith(''),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    holds: async (bench) => expect(await config(bench)).not.toHaveProperty('security.nesting'),
  },
  {
    name: 'a disk added',
    part: 'container',
    to: ({ dir }) => containerWith(`devices: { data: { type: disk, source: ${dir}/shared, path: /data } }\n`),
    plan: ['container/c1: update live'],
    life: 'same',
    really: async (bench) => expect(await inside(bench, '/data/mark')).toBe('seen'),
  },
  {
    name: 'a property of a disk',
    isNotOnLxd: true,
    part: 'container',
    to: ({ dir }) => containerWith(`devices: { data: { type: disk, source: ${dir}/shared, path: /other } }\n`),
    plan: ['container/c1: update live'],
    life: 'same',
    really: async (bench) => expect(await inside(bench, '/other/mark')).toBe('seen'),
  },
  {
    name: 'a disk removed with null',
    part: 'container',
    to: () => containerWith('devices: { data: null }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    really: (bench) => expect(inside(bench, '/other/mark')).rejects.toThrow('ENOENT'),
  },
  {
    name: 'a second nic',
    part: 'container',
    to: () => containerWith('devices: { eth1: { type: nic, nictype: p2p, name: eth1 } }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) =>
      expect(Object.keys(((await bench.get('/1.0/containers/c1/state')) as { network: object }).network)).toContain(
        'eth1',
      ),
  },
  {
    name: 'a nic of the profile masked',
    part: 'container',
    to: () => containerWith('devices: { eth1: null, eth0: { type: none } }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) =>
      expect(Object.keys(((await bench.get('/1.0/containers/c1/state')) as { network: object }).network)).not.toContain(
        'eth0',
      ),
  },
  {
    name: 'a profile edit that reaches a running container',
    isNotOnLxd: true,
    part: 'profile',
    to: () => profileWith('').replace('64MiB', '80MiB'),
    plan: ['profile/small: update live'],
    life: 'same',
    really: async (bench) => expect(await groupValue(bench, memory)).toBe(String(80 * 1024 * 1024)),
  },
  {
    name: 'a profile edit that needs its containers to restart',
    part: 'profile',
    to: () => profileWith('').replace('limits.memory: 64MiB', 'limits.memory: 80MiB, limits.kernel.nproc: 500'),
    plan: ['profile/small: update restart', 'container/c1: update restart restart'],
    life: 'restarted',
  },
  {
    name: 'a description of a profile',
    isNotOnLxd: true,
    part: 'profile',
    to: () =>
      profileWith('')
        .replace('limits.memory: 64MiB', 'limits.memory: 80MiB, limits.kernel.nproc: 500')
        .replace('Small m', 'Tiny m'),
    plan: ['profile/small: update live'],
    life: 'same',
  },
  {
    name: 'addresses of a network',
    part: 'network',
    to: () =>
      `kind: network\nname: ${network}\ndescription: Moved\nconfig: { ipv4.address: ${subnet}.1/24, ipv4.nat: true, ipv6.address: none, ipv4.dhcp.ranges: ${subnet}.50-${subnet}.60 }\n`,
    plan: [`network/${network}: update live`],
    life: 'same',
    really: async () => {
      expect(execFileSync('ip', ['-4', 'addr', 'show', network], { encoding: 'utf8' })).toContain(`${subnet}.1/24`);
      expect(execFileSync('nft', ['list', 'table', 'inet', `gantry_${network}`], { encoding: 'utf8' })).toContain(
        'masquerade',
      );
    },
  },
  {
    name: 'a network key removed with null',
    isNotOnLxd: true,
    part: 'network',
    to: () => `kind: network\nname: ${network}\nconfig: { ipv4.nat: null, ipv4.dhcp.ranges: null }\n`,
    plan: [`network/${network}: update live`],
    life: 'same',
    really: async () => {
      expect(execFileSync('nft', ['list', 'table', 'inet', `gantry_${network}`], { encoding: 'utf8' })).not.toContain(
        'masquerade',
      );
    },
  },
  {
    name: 'a description of a pool',
    isNotOnLxd: true,
    part: 'pool',
    to: () => 'kind: storage_pool\nname: p1\ndriver: dir\ndescription: Big\n',
    plan: ['storage_pool/p1: update live'],
    life: 'same',
  },
  {
    name: 'properties of an image',
    part: 'image',
    to: () =>
      'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\npublic: true\nproperties: { os: renamed }\n',
    plan: ['image/base: update live'],
    life: 'same',
  },
  {
    name: 'another alias',
    part: 'image',
    to: () => 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base, spare]\npublic: true\n',
    // The properties came with the image itself: the set only stops managing them.
    plan: ['image/base: update live', 'image_alias/spare: create live'],
    life: 'same',
  },
  {
    name: 'a stop',
    part: 'container',
    to: () => containerWith('state: stopped\n'),
    plan: ['container/c1: update stop live'],
    life: 'same',
    holds: async (bench) => expect((await bench.life()).status).toBe('Stopped'),
  },
  {
    name: 'what would need a restart, on a stopped container',
    isNotOnLxd: true,
    part: 'container',
    to: () => containerWith('state: stopped\nconfig: { security.nesting: true }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect((await bench.life()).status).toBe('Stopped'),
  },
  {
    name: 'power that is not ours',
    isNotOnLxd: true,
    part: 'container',
    to: () => containerWith('manage: { power: ignore }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect((await bench.life()).status).toBe('Stopped'),
  },
  {
    name: 'a start',
    part: 'container',
    to: () => containerWith(''),
    plan: ['container/c1: update start live'],
    life: 'restarted',
    holds: async (bench) => expect((await bench.life()).status).toBe('Running'),
  },
  {
    name: 'a root disk in another pool',
    part: 'container',
    to: () =>
      `kind: storage_pool\nname: p2\ndriver: dir\n---\n${containerWith('devices: { root: { type: disk, path: /, pool: p2 } }\n')}`,
    plan: ['storage_pool/p2: create live', 'container/c1: replace recreate'],
    life: 'recreated',
    flags: ['--allow-recreate'],
    holds: async (bench) =>
      expect(((await bench.get('/1.0/storage-pools/p2')) as { used_by: string[] }).used_by).toContainEqual(
        expect.stringMatching(/^\/1\.0\/(containers|instances)\/c1$/),
      ),
  },
];

async function perform(bench: Bench, one: Case, host: BenchHost): Promise<void> {
  const before = await bench.life();
  bench.parts = { ...bench.parts, [one.part]: one.to(bench) };
  expect(await bench.planned(), 'the plan').toEqual(one.plan);
  await bench.apply(...(one.flags ?? []));
  await bench.expectSettled();
  const after = await bench.life();
  if (one.life === 'recreated') expect(after.born).not.toBe(before.born);
  else expect(after.born).toBe(before.born);
  if (one.life === 'same' && after.status === 'Running') expect(after.pid, 'not restarted').toBe(before.pid);
  if (one.life === 'restarted') expect(after.pid, 'restarted').not.toBe(before.pid);
  await one.holds?.(bench);
  if (host === 'lxc') await one.really?.(bench);
}

// In order: each case begins with the result of the one before.
describe.each(await benchHosts('changes', 'lxc', 'lxd'))('a change on %s has the effect in its plan', (host) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());
  const tried = cases.filter(({ isNotOnLxd = false }) => host !== 'lxd' || !isNotOnLxd);
  test.each(tried.map((one) => [one.name, one] as const))('%s', (_name, one) => perform(bench, one, host));
});

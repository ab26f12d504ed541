// What a plan says of a change is what happens: live changes reach a running container, restarts restart it, recreations make it anew,
// and afterwards nothing is left to do. For every kind, on the simulation and on real containers.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, type CliRun } from '../support/cli-io.ts';
import { makeDaemon, realRuntimeMissing, type TestDaemon } from '../support/daemon.ts';
import { repository } from '../support/e2e-programs.ts';

const missing = await realRuntimeMissing();
const network = 'gtef0';

interface Lines {
  readonly type: string;
  readonly change?: {
    readonly resource: { readonly addr: string };
    readonly action: string;
    readonly power?: string;
    readonly effect: string;
    readonly paths: readonly string[];
  };
}

/** One daemon, one working directory; `container` is c1 with its own part of the stack. */
class Bench {
  readonly daemon: TestDaemon;
  readonly dir: string;
  parts: Record<string, string>;
  constructor(daemon: TestDaemon, dir: string) {
    this.daemon = daemon;
    this.dir = dir;
    this.parts = {
      pool: 'kind: storage_pool\nname: p1\ndriver: dir\n',
      network: `kind: network\nname: ${network}\nconfig: { ipv4.address: 10.125.0.1/24, ipv6.address: none }\n`,
      profile: profileWith(''),
      image: 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n',
      container: containerWith(''),
    };
  }

  async gantry(verb: string, ...more: readonly string[]): Promise<CliRun> {
    const text = Object.values(this.parts).join('---\n');
    writeFileSync(join(this.dir, 'stack.yaml'), text);
    return cli([verb, '-f', join(this.dir, 'stack.yaml'), '--host', `unix://${this.daemon.socketPath}`, ...more]);
  }

  async apply(...more: readonly string[]): Promise<CliRun> {
    const run = await this.gantry('apply', '--auto-approve', ...more);
    expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(0);
    return run;
  }

  /** `container/c1: update restart live`, one a changed object. */
  async planned(): Promise<readonly string[]> {
    const run = await this.gantry('plan', '--json');
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Lines);
    return lines.flatMap(({ change }) =>
      change === undefined
        ? []
        : [[`${change.resource.addr}: ${change.action}`, change.power, change.effect].filter(Boolean).join(' ')],
    );
  }

  async expectSettled(): Promise<void> {
    const run = await this.gantry('plan', '--detailed-exitcode');
    expect(run.code, `a second plan\n${run.stdout}\n${run.stderr}`).toBe(0);
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  get(path: string): Promise<any> {
    return this.daemon.get(path);
  }

  /** What changes with a restart, and what with a recreation. */
  async life(name = 'c1'): Promise<{ readonly pid: number; readonly born: string; readonly status: string }> {
    const { created_at: born, status } = (await this.get(`/1.0/containers/${name}`)) as {
      created_at: string;
      status: string;
    };
    const { pid } = (await this.get(`/1.0/containers/${name}/state`)) as { pid: number };
    return { pid, born, status };
  }
}

const profileWith = (more: string): string => `kind: profile
name: small
description: Small machines
config: { limits.memory: 64MiB }
devices:
  root: { type: disk, path: /, pool: p1 }
  eth0: { type: nic, nictype: bridged, parent: ${network}, name: eth0 }
${more}`;

const containerWith = (more: string): string => `kind: container
name: c1
profiles: [small]
source: { type: image, alias: base }
${more}`;

async function openBench(runtime: 'lxc' | 'sim'): Promise<Bench> {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtef-'));
  const build = join(repository, 'examples', 'quickstart', 'build-image.sh');
  if (runtime === 'lxc')
    execFileSync('sh', [build, join(dir, 'image.tar.gz')], { stdio: ['ignore', 'ignore', 'inherit'] });
  else packImage(dir, 'image.tar.gz', 'one');
  mkdirSync(join(dir, 'shared'));
  writeFileSync(join(dir, 'shared', 'mark'), 'seen');
  const bench = new Bench(await makeDaemon({ runtime }), dir);
  await bench.apply();
  return bench;
}

function packImage(dir: string, name: string, content: string): void {
  const root = join(dir, `content-${content}`);
  mkdirSync(join(root, 'rootfs', 'etc'), { recursive: true });
  writeFileSync(join(root, 'rootfs', 'etc', 'mark'), content);
  writeFileSync(join(root, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  execFileSync('tar', ['-czf', join(dir, name), '-C', root, 'metadata.yaml', 'rootfs']);
}

/** The value of a control group file of the container's first process; either generation of control groups. */
async function groupValue(bench: Bench, files: Readonly<Record<string, string>>): Promise<string> {
  const { pid } = await bench.life();
  const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const [controller, file] of Object.entries(files)) {
    const path = groups.find(([, names]) => (names ?? '').split(',').includes(controller))?.[2];
    const root = controller === '' ? '/sys/fs/cgroup' : `/sys/fs/cgroup/${controller}`;
    // The limits are on the group above the one that the container made for itself.
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
  /** Which document changes, and to what. */
  readonly part: string;
  readonly to: (bench: Bench) => string;
  readonly plan: readonly string[];
  readonly life: 'same' | 'restarted' | 'recreated';
  readonly flags?: readonly string[];
  /** True things afterwards, on any runtime. */
  readonly holds?: (bench: Bench) => Promise<void>;
  /** And on real containers. */
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
    name: 'a limit taken away: null',
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
    name: 'a key that was written and no longer is: left alone',
    part: 'container',
    to: () => containerWith(''),
    plan: [],
    life: 'same',
    holds: async (bench) => expect(await config(bench)).toMatchObject({ 'limits.cpu': '1' }),
  },
  {
    name: 'free keys, description, autostart',
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
    name: 'a disk added',
    part: 'container',
    to: ({ dir }) => containerWith(`devices: { data: { type: disk, source: ${dir}/shared, path: /data } }\n`),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    really: async (bench) => expect(await inside(bench, '/data/mark')).toBe('seen'),
  },
  {
    name: 'a property of a disk',
    part: 'container',
    to: ({ dir }) => containerWith(`devices: { data: { type: disk, source: ${dir}/shared, path: /other } }\n`),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    really: async (bench) => expect(await inside(bench, '/other/mark')).toBe('seen'),
  },
  {
    name: 'a disk taken away: null',
    part: 'container',
    to: () => containerWith('devices: { data: null }\n'),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    really: (bench) => expect(inside(bench, '/other/mark')).rejects.toThrow('ENOENT'),
  },
  {
    name: 'a second nic',
    part: 'container',
    to: () => containerWith(`devices: { eth1: { type: nic, nictype: bridged, parent: ${network}, name: eth1 } }\n`),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    holds: async (bench) =>
      expect(Object.keys(((await bench.get('/1.0/containers/c1/state')) as { network: object }).network)).toContain(
        'eth1',
      ),
  },
  {
    name: 'a nic of the profile masked',
    part: 'container',
    to: () => containerWith('devices: { eth1: null, eth0: { type: none } }\n'),
    plan: ['container/c1: update restart restart'],
    life: 'restarted',
    holds: async (bench) =>
      expect(Object.keys(((await bench.get('/1.0/containers/c1/state')) as { network: object }).network)).not.toContain(
        'eth0',
      ),
  },
  {
    name: 'a profile edit that reaches a running container',
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
      `kind: network\nname: ${network}\ndescription: Moved\nconfig: { ipv4.address: 10.126.0.1/24, ipv4.nat: true, ipv6.address: none, ipv4.dhcp.ranges: 10.126.0.50-10.126.0.60 }\n`,
    plan: [`network/${network}: update live`],
    life: 'same',
    really: async () => {
      expect(execFileSync('ip', ['-4', 'addr', 'show', network], { encoding: 'utf8' })).toContain('10.126.0.1/24');
      expect(execFileSync('nft', ['list', 'table', 'inet', `gantry_${network}`], { encoding: 'utf8' })).toContain(
        'masquerade',
      );
    },
  },
  {
    name: 'a network key taken away: null',
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
    plan: ['image_alias/spare: create live'],
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
    part: 'container',
    to: () => containerWith('state: stopped\nconfig: { security.nesting: false }\n'),
    plan: ['container/c1: update live'],
    life: 'same',
    holds: async (bench) => expect((await bench.life()).status).toBe('Stopped'),
  },
  {
    name: 'power that is not ours',
    part: 'container',
    to: () => containerWith('manage: { power: ignore }\n'),
    plan: [],
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
      expect(((await bench.get('/1.0/storage-pools/p2')) as { used_by: string[] }).used_by).toContain(
        '/1.0/containers/c1',
      ),
  },
];

async function perform(bench: Bench, one: Case, runtime: 'lxc' | 'sim'): Promise<void> {
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
  if (runtime === 'lxc') await one.really?.(bench);
}

const runtimes = [
  { runtime: 'sim', reason: undefined },
  { runtime: 'lxc', reason: missing },
] as const;

for (const { runtime, reason } of runtimes) {
  // In order: each case begins where the one before ended.
  describe.skipIf(reason !== undefined)(`a change on ${runtime} is what its plan said`, () => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await openBench(runtime);
    });
    afterAll(async () => {
      await bench.daemon.cleanUp();
      rmSync(bench.dir, { recursive: true, force: true });
    });
    it.each(cases.map((one) => [one.name, one] as const))('%s', { timeout: 60_000 }, (_name, one) =>
      perform(bench, one, runtime),
    );
  });
}

describe('rules that hold back a plan', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench('sim');
  });
  afterAll(async () => {
    await bench.daemon.cleanUp();
    rmSync(bench.dir, { recursive: true, force: true });
  });
  const refused = async (...flags: readonly string[]): Promise<string> => {
    const run = await bench.gantry('apply', '--auto-approve', ...flags);
    expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(4);
    return run.stdout;
  };

  it('disruption: none refuses a restart, also one that a profile causes, and --allow-restart lifts it', async () => {
    const calm = 'manage: { disruption: none }\n';
    const { pid } = await bench.life();
    bench.parts['container'] = containerWith(`config: { security.nesting: true }\n${calm}`);
    expect(await refused()).toContain('container/c1 would have to restart: config.security.nesting');
    bench.parts['container'] = containerWith(calm);
    bench.parts['profile'] = profileWith('').replace('limits.memory: 64MiB', 'limits.kernel.nproc: 500');
    expect(await refused()).toContain('container/c1 would have to restart: profile/small');
    expect((await bench.life()).pid).toBe(pid);
    await bench.apply('--allow-restart');
  });

  it('a recreation needs leave, and a protected container is not recreated even with it', async () => {
    const moved = 'devices: { root: { type: disk, path: /, pool: p2 } }\n';
    bench.parts['pool2'] = 'kind: storage_pool\nname: p2\ndriver: dir\n';
    bench.parts['container'] = containerWith(moved);
    expect(await refused()).toContain('would be deleted and created again, its data lost');
    bench.parts['container'] = containerWith('manage: { protect: true }\n');
    await bench.apply();
    bench.parts['container'] = containerWith(`${moved}manage: { protect: true }\n`);
    expect(await refused('--allow-recreate')).toContain('container/c1 is protected');
    // The guard stands on the container itself, so it outlives the line in the manifest.
    bench.parts['container'] = containerWith(moved);
    expect(await refused('--allow-recreate')).toContain('container/c1 is protected');
    bench.parts['container'] = containerWith('config: { security.protection.delete: false }\n');
    await bench.apply();
    bench.parts['container'] = containerWith(moved);
    await bench.apply('--allow-recreate');
    await bench.expectSettled();
  });

  it('another file is another image: its aliases move, containers made of the old one stay', async () => {
    const before = await bench.life();
    packImage(bench.dir, 'image.tar.gz', 'two');
    expect(await bench.planned()).toEqual(['image/base: create live', 'image_alias/base: update live']);
    await bench.apply();
    await bench.expectSettled();
    expect(await bench.life()).toEqual(before);
    expect(((await bench.get('/1.0/images')) as string[]).length).toBe(2);
    const run = await bench.gantry('apply', '--auto-approve', '--replace', 'container/c1');
    expect(run.code, run.stderr).toBe(0);
    expect((await bench.life()).born).not.toBe(before.born);
    const rootfs = join(bench.daemon.dir, 'storage-pools', 'p2', 'containers', 'c1', 'rootfs');
    expect(readFileSync(join(rootfs, 'etc', 'mark'), 'utf8')).toBe('two');
  });

  it('what nobody declared stays: keys, devices, profiles, objects', async () => {
    await bench.daemon.call('PATCH', '/1.0/containers/c1', { config: { 'user.theirs': 'x' } });
    await bench.daemon.call('PATCH', '/1.0/profiles/small', { config: { 'user.theirs': 'y' } });
    await bench.daemon.call('POST', '/1.0/profiles', { name: 'foreign', config: {}, devices: {} });
    await bench.expectSettled();
    bench.parts['container'] = containerWith('config: { user.ours: z }\n');
    await bench.apply();
    expect((await bench.get('/1.0/containers/c1')).config).toMatchObject({ 'user.theirs': 'x', 'user.ours': 'z' });
    expect((await bench.get('/1.0/profiles/small')).config).toMatchObject({ 'user.theirs': 'y' });
    const kept = await bench.gantry('destroy', '--auto-approve');
    expect(kept.code, kept.stderr).toBe(0);
    expect(await bench.get('/1.0/profiles')).toContain('/1.0/profiles/foreign');
    const rest = ['images', 'storage-pools', 'containers'].map((kind) => bench.get(`/1.0/${kind}`));
    // The image of the first file was declared once, and no longer is: it stays.
    expect(await Promise.all(rest)).toMatchObject([[expect.stringContaining('/1.0/images/')], [], []]);
  });
});

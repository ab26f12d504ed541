// The resources of a daemon on its host, found without its API: mounts, interfaces, nft tables, processes, files. Other daemons and
// tests on the same host are ignored. Also removes all of them when a test failed, and locks real networks against concurrent tests.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Gantryd } from '../daemons/gantryd.ts';
import { until } from '../until.ts';

const tagOf = (dir: string): string => createHash('sha256').update(dir).digest('hex').slice(0, 8);

export interface HostParts {
  readonly mounts: readonly string[];
  /** Bridges with the daemon's mark, and their ports. */
  readonly bridges: readonly string[];
  readonly plugged: readonly string[];
  readonly tables: readonly string[];
  /** `dnsmasq quick0`, `monitor web`. */
  readonly processes: readonly string[];
  /** Below /run/gantry. */
  readonly runFiles: readonly string[];
  readonly groups: readonly string[];
}

interface Link {
  readonly ifname: string;
  readonly master?: string;
  readonly ifalias?: string;
}

export const links = (): readonly Link[] =>
  JSON.parse(execFileSync('ip', ['-j', '-d', 'link', 'show'], { encoding: 'utf8' })) as Link[];

/** For the daemon with state directory `dir`. `networks`: names to check even without a mark. */
export function hostParts(dir: string, networks: readonly string[]): HostParts {
  const [runtimeTag, networkTag] = [tagOf(join(dir, 'runtime')), tagOf(join(dir, 'networks'))];
  const all = links();
  const bridges = all
    .filter((link) => link.ifalias === `gantry:${networkTag}` || networks.includes(link.ifname))
    .map(({ ifname }) => ifname);
  return {
    mounts: mountPoints().filter(
      (path) => path.startsWith(`${dir}/`) || path.startsWith(`/run/gantry/runtime-${runtimeTag}/`),
    ),
    bridges,
    plugged: all.filter(({ master }) => master !== undefined && bridges.includes(master)).map(({ ifname }) => ifname),
    tables: tables().filter((table) => networks.some((name) => table === `gantry_${name}`)),
    processes: processes(runtimeTag, networkTag),
    runFiles: runFiles(runtimeTag, networkTag),
    groups: groups(runtimeTag),
  };
}

export const nothing: HostParts = {
  mounts: [],
  bridges: [],
  plugged: [],
  tables: [],
  processes: [],
  runFiles: [],
  groups: [],
};

function mountPoints(): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? []);
}

function tables(): readonly string[] {
  const text = execFileSync('nft', ['list', 'tables', 'inet'], { encoding: 'utf8' });
  return text.split('\n').flatMap((line) => /^table inet (\S+)/.exec(line)?.[1] ?? []);
}

function processes(runtimeTag: string, networkTag: string): readonly string[] {
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const line = commandLine(pid);
    const network = new RegExp(`dnsmasq.*/${networkTag}-([^/]+)/`).exec(line)?.[1];
    if (network !== undefined) found.push(`dnsmasq ${network}`);
    const container = new RegExp(`lxc monitor.*runtime-${runtimeTag} (\\S+)`).exec(line)?.[1];
    if (container !== undefined) found.push(`monitor ${container}`);
  }
  return found.sort();
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function runFiles(runtimeTag: string, networkTag: string): readonly string[] {
  const runtime = `/run/gantry/runtime-${runtimeTag}`;
  const containers = list(runtime).map((name) => `${runtime}/${name}`);
  return [...containers, ...list('/run/gantry/networks').filter((name) => name.startsWith(`${networkTag}-`))];
}

const list = (dir: string): readonly string[] => (existsSync(dir) ? readdirSync(dir) : []);

function groups(runtimeTag: string): readonly string[] {
  const base = existsSync('/sys/fs/cgroup/memory') ? '/sys/fs/cgroup/memory/gantry' : '/sys/fs/cgroup/gantry';
  const own = join(base, runtimeTag);
  if (!existsSync(own)) return [];
  return readdirSync(own, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** Empties the daemon through its API, stops it, removes its directory; then the host must be in its former state. */
export async function remove(gantryd: Gantryd, networks: readonly string[]): Promise<void> {
  if (!gantryd.isRunning && gantryd.runtime === 'lxc') await gantryd.start();
  if (gantryd.isRunning && gantryd.runtime === 'lxc') await empty(gantryd);
  await gantryd.stop();
  for (const path of gantryd.runtime === 'lxc' ? hostParts(gantryd.dir, networks).mounts : []) {
    execFileSync('umount', ['-l', path], { stdio: 'ignore' });
  }
  rmSync(gantryd.dir, { recursive: true, force: true });
}

async function empty(gantryd: Gantryd): Promise<void> {
  const run = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await gantryd.call(method, path, body);
    if (answer.status === 202) await gantryd.call('GET', `${answer.body.operation as string}/wait`);
  };
  for (const project of (await gantryd.get('/1.0/projects?recursion=1')) as { name: string }[]) {
    const here = `project=${project.name}`;
    for (const { name } of (await gantryd.get(`/1.0/containers?recursion=1&${here}`)) as { name: string }[]) {
      await run('PUT', `/1.0/containers/${name}/state?${here}`, { action: 'stop', force: true });
      await run('PATCH', `/1.0/containers/${name}?${here}`, { config: { 'security.protection.delete': '' } });
      await run('DELETE', `/1.0/containers/${name}?${here}`);
    }
    for (const { name } of (await gantryd.get(`/1.0/profiles?recursion=1&${here}`)) as { name: string }[]) {
      const isKept = name === 'default';
      await run(isKept ? 'PUT' : 'DELETE', `/1.0/profiles/${name}?${here}`, isKept ? {} : undefined);
    }
  }
  for (const { name, managed } of (await gantryd.get('/1.0/networks?recursion=1')) as {
    name: string;
    managed: boolean;
  }[]) {
    if (managed) await run('DELETE', `/1.0/networks/${name}`);
  }
}

/** A network has one name and one subnet: only one test at a time may use it on the real host. */
export async function withRealNetwork<T>(name: string, work: () => Promise<T>): Promise<T> {
  const lockFile = `/tmp/gantry-e2e-${name}.lock`;
  await until(() => take(lockFile), 280_000);
  try {
    return await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function take(lockFile: string): boolean {
  try {
    const file = openSync(lockFile, 'wx');
    writeSync(file, String(process.pid));
    closeSync(file);
    return true;
  } catch {
    const owner = existsSync(lockFile) ? readFileSync(lockFile, 'utf8') : '';
    if (owner !== '' && !existsSync(`/proc/${owner}`)) rmSync(lockFile, { force: true });
    return false;
  }
}

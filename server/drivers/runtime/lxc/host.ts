// Looks at this host: whether LXC containers can run here, and with what. Changes nothing.
import { accessSync, constants, existsSync, readFileSync, readdirSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { exec } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/log.ts';
import type { CgroupTree } from '../cgroup/cgroup.ts';
import { parseCpuList } from '../cgroup/cpu-limits.ts';
import { hostIdMap } from '../idmap/id-map.ts';
import type { HostFacts } from '../cgroup/limits.ts';

export const searchPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** Absolute path of a host program, wherever the daemon's own PATH points. */
export function findProgram(name: string): string | undefined {
  return searchPath
    .map((dir) => `${dir}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Whether this host can run the lxc driver, with the reason (and remedy) when it cannot. */
export async function lxcAvailable(): Promise<
  { readonly ok: true; readonly version: string } | { readonly ok: false; readonly reason: string }
> {
  if (process.platform !== 'linux') return { ok: false, reason: `LXC needs Linux, this is ${process.platform}` };
  if (process.getuid?.() !== 0) return { ok: false, reason: 'running containers needs root' };
  const missing = ['lxc-start', 'lxc-attach', 'lxc-wait', 'ip'].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    return { ok: false, reason: `not installed: ${missing.join(', ')} (packages lxc and iproute2)` };
  }
  try {
    const version = await lxcVersion();
    if (Number.parseInt(version, 10) < 5) return { ok: false, reason: `LXC ${version} is too old: 5.0 is needed` };
    await hostIdMap();
    return { ok: true, version };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}

let knownVersion: string | undefined;

/** Asked of the program once: a start of the daemon needs it in several places. */
export async function lxcVersion(): Promise<string> {
  if (knownVersion === undefined) {
    const { stdout } = await exec([findProgram('lxc-start') ?? 'lxc-start', '--version'], { timeoutMs: 10_000 });
    knownVersion = stdout.trim();
  }
  return knownVersion;
}

export function readHostFacts(tree: CgroupTree): HostFacts {
  const memoryRoot = tree.roots.get('memory');
  return {
    onlineCpus: readOnlineCpus(),
    memoryBytes: totalmem(),
    hugePages: readHugePages(tree),
    hasMemsw: memoryRoot !== undefined && existsSync(`${memoryRoot}/memory.memsw.usage_in_bytes`),
  };
}

/** In v1 the hierarchy must be mounted; in v2 the controller must be there. */
function readHugePages(tree: CgroupTree): readonly string[] {
  try {
    const root = tree.version === 1 ? tree.roots.get('hugetlb') : tree.roots.get('');
    if (root === undefined) return [];
    if (
      tree.version === 2 &&
      !readFileSync('/sys/fs/cgroup/cgroup.controllers', 'utf8').split(/\s/).includes('hugetlb')
    )
      return [];
    return hugePageSizes(readdirSync('/sys/kernel/mm/hugepages'));
  } catch {
    return [];
  }
}

/** `hugepages-2048kB` as control groups call it: 2MB. Pure. */
export function hugePageSizes(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const kilobytes = Number(/^hugepages-([0-9]+)kB$/.exec(name)?.[1] ?? 0);
    if (kilobytes === 0) return [];
    if (kilobytes >= 1024 * 1024) return [`${kilobytes / 1024 / 1024}GB`];
    return [kilobytes >= 1024 ? `${kilobytes / 1024}MB` : `${kilobytes}KB`];
  });
}

export function readOnlineCpus(): readonly number[] {
  try {
    return parseCpuList(readFileSync('/sys/devices/system/cpu/online', 'utf8'));
  } catch {
    return cpus().map((_, index) => index);
  }
}

const lxcfsDir = '/var/lib/lxcfs/proc';

/** Files that lxcfs offers to mount over those of /proc; none when it does not run. */
export function findLxcfsFiles(): readonly string[] {
  try {
    return readdirSync(lxcfsDir).filter((file) => /^[a-z]+$/.test(file));
  } catch {
    return [];
  }
}

/** Undefined when the kernel has no AppArmor; the key must then not be written at all. */
export function findApparmorProfile(): string | undefined {
  try {
    if (readFileSync('/sys/module/apparmor/parameters/enabled', 'utf8').trim() !== 'Y') return undefined;
  } catch {
    return undefined;
  }
  return findProgram('apparmor_parser') === undefined ? 'unconfined' : 'generated';
}

// Proportional memory of processes and all their descendants, from /proc. A page that n of them share counts 1/n each.
import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function processes(): readonly Process[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^[0-9]+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return [{ pid: Number(name), parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
}

/** LXC's monitor processes of containers with this name prefix, of any server. */
export function monitorsOf(namePrefix: string): readonly number[] {
  return processes()
    .filter(({ command }) => command.startsWith('[lxc monitor]') && command.includes(` ${namePrefix}`))
    .map(({ pid }) => pid);
}

/** The processes and their descendants; not the monitors of containers, which have no parent here. */
export function familyOf(pids: readonly number[]): readonly number[] {
  const all = processes();
  const family = new Set(pids);
  for (let before = -1; before < family.size;) {
    before = family.size;
    for (const { pid, parent, command } of all) {
      if (family.has(parent) && !command.startsWith('[lxc monitor]')) family.add(pid);
    }
  }
  return [...family];
}

export function proportionalMb(pids: readonly number[]): number {
  let kilobytes = 0;
  for (const pid of pids) {
    try {
      const found = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
      kilobytes += Number(found?.[1] ?? 0);
    } catch {
      // Ended meanwhile.
    }
  }
  return kilobytes / 1024;
}

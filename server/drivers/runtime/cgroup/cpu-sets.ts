// Balances the cpusets of all running containers, live: a container that starts, stops or changes its cpus moves the others.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { type CgroupTree, groupDir } from './cgroup.ts';
import { balanceCpus, type CpuClaim, parseCpuList, parseCpus } from './cpu-limits.ts';
import { formatCpus } from './limits.ts';
import { readOnlineCpus, readPossibleCpus } from './host-facts.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

type Cpus = readonly number[];

export interface CpuSetsDeps {
  readonly tree: CgroupTree;
  readonly paths: Pick<LxcPaths, 'group'>;
  readonly log: Log;
}

export class CpuSets {
  readonly #deps: CpuSetsDeps;
  readonly #claims = new Map<string, CpuClaim>();
  #online: Cpus;

  constructor(deps: CpuSetsDeps) {
    this.#deps = deps;
    this.#online = readOnlineCpus();
  }

  /** The cpus of `name` for its limits.cpu (undefined: all), after moving the others; the caller applies them. Throws DriverError Invalid,
   *  and then nothing has changed. */
  claim(name: string, limit: string | undefined): Cpus | undefined {
    const wish = parseCpus(limit ?? '');
    const claims = new Map(this.#claims).set(name, { wish, current: this.#claims.get(name)?.current });
    const sets = balanceCpus(claims, this.#online);
    this.#claims.set(name, { wish, current: sets.get(name) });
    this.#follow(sets, name);
    return sets.get(name);
  }

  /** A container that an earlier daemon started; call `distribute` afterwards. */
  adopt(name: string, limit: string | undefined): void {
    const dir = groupDir(this.#deps.tree, 'cpuset', this.#deps.paths.group(name));
    const current = dir === undefined ? [] : readCpus(dir);
    this.#claims.set(name, { wish: parseCpus(limit ?? ''), current: current.length === 0 ? undefined : current });
  }

  /** The container has started with its claimed cpus; other starts and stops may have moved it since. */
  confirm(name: string): void {
    const { tree, paths, log } = this.#deps;
    try {
      confine(tree, paths.group(name), this.of(name), this.#online);
    } catch (error) {
      log.warn('a container cannot be moved to other cpus', { container: name, reason: errorText(error) });
    }
  }

  release(name: string): void {
    if (this.#claims.delete(name)) this.distribute();
  }

  of(name: string): Cpus | undefined {
    return this.#claims.get(name)?.current;
  }

  /** Also call it when cpus of the host came or went. */
  distribute(): void {
    try {
      this.#online = readOnlineCpus();
      this.#follow(balanceCpus(this.#claims, this.#online), undefined);
    } catch (error) {
      this.#deps.log.warn('cpus cannot be balanced', { reason: errorText(error) });
    }
  }

  /** Cheap: called every second. */
  distributeIfChanged(): void {
    if (formatCpus(readOnlineCpus()) !== formatCpus(this.#online)) this.distribute();
  }

  #follow(sets: ReadonlyMap<string, Cpus | undefined>, but: string | undefined): void {
    const { tree, paths, log } = this.#deps;
    for (const [name, cpus] of sets) {
      const claim = this.#claims.get(name);
      if (name === but || claim === undefined || formatCpus(cpus ?? []) === formatCpus(claim.current ?? [])) continue;
      this.#claims.set(name, { ...claim, current: cpus });
      try {
        // A starting container has no group yet: see confirm.
        if (existsSync(groupDir(tree, 'cpuset', paths.group(name)) ?? ''))
          confine(tree, paths.group(name), cpus, this.#online);
      } catch (error) {
        log.warn('a container cannot be moved to other cpus', { container: name, reason: errorText(error) });
      }
    }
  }
}

/** Undefined: all. v1 needs groups and their children changed in step; v2 does that itself. */
export function confine(tree: CgroupTree, group: string, cpus: Cpus | undefined, online: Cpus): void {
  const dir = groupDir(tree, 'cpuset', group);
  if (dir === undefined || !existsSync(`${dir}/cpuset.cpus`)) return;
  if (tree.version === 1) confineTree(dir, cpus ?? online);
  else if (cpus !== undefined) writeCpus(dir, cpus);
  // A group with processes and its own cpus cannot return to none; all possible cpus include those that come online later.
  else if (readCpus(dir).length > 0) writeCpus(dir, readPossibleCpus());
}

function confineTree(dir: string, next: Cpus): void {
  const before = readCpus(dir);
  // Union of old and new, so that no child group ever exceeds this one.
  writeCpus(
    dir,
    [...new Set([...before, ...next])].toSorted((a, b) => a - b),
  );
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const child = `${dir}/${entry.name}`;
    const own = readCpus(child);
    if (own.length === 0) continue;
    const kept = formatCpus(own) === formatCpus(before) ? [] : own.filter((cpu) => next.includes(cpu));
    try {
      confineTree(child, kept.length === 0 ? next : kept);
    } catch (error) {
      // Programs in the container make and remove groups at any time.
      if (existsSync(child)) throw error;
    }
  }
  writeCpus(dir, next);
}

/** Also empty if there is no such group, or it has no cpus of its own. */
function readCpus(dir: string): Cpus {
  const text = textOrNothing(`${dir}/cpuset.cpus`).trim();
  return text === '' ? [] : parseCpuList(text);
}

const writeCpus = (dir: string, cpus: Cpus): void => writeFileSync(`${dir}/cpuset.cpus`, `${formatCpus(cpus)}\n`);

// Watches the storage pools of this host: mounts them at the start of the daemon, retries those that cannot be mounted, and notices a
// missing directory.
import type { ServiceParts } from '../shared/service-parts.ts';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { mapAtMost } from '../../lib/shared/concurrency-limit.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Records } from '../../records/records.ts';
import { KnownProblems } from '../shared/known-problems.ts';
import { refOf } from './custom-volumes.ts';
import { poolLock, type Pools } from './pools.ts';

export interface PoolWatchDeps extends Pick<ServiceParts, 'locks' | 'log'> {
  readonly records: Pick<Records, 'pools' | 'volumes'>;
  readonly pools: Pick<Pools, 'use' | 'volumePath'>;
}

const atOnce = 8;

export class PoolWatch {
  readonly #deps: PoolWatchDeps;
  readonly #problems: KnownProblems;
  /** Pools with a problem: not mounted since the start. */
  readonly #unmounted = new Set<string>();

  constructor(deps: PoolWatchDeps) {
    this.#deps = deps;
    this.#problems = new KnownProblems(deps.log);
  }

  /** Pools that cannot be used, by name, and why. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems.byName;
  }

  /** At daemon start. Logs a pool that cannot be used, and skips it. Side by side: one that cannot be reached takes minutes. */
  async mountAll(): Promise<void> {
    await mapAtMost(atOnce, this.#deps.records.pools.list(), ({ name }) => this.#mount(name));
  }

  /** Each minute. */
  async look(): Promise<void> {
    const { records, locks } = this.#deps;
    const known = records.pools.list().filter(({ document }) => document.lifecycle === 'ready');
    for (const name of this.#problems.byName.keys()) if (!records.pools.has(name)) this.#forget(name);
    await mapAtMost(atOnce, known, ({ name }) =>
      locks.run(poolLock(name), async () => {
        if (!records.pools.has(name)) return;
        await (this.#unmounted.has(name) ? this.#mount(name) : this.#probe(name));
      }),
    );
  }

  async #mount(name: string): Promise<void> {
    try {
      const { driver, pool } = this.#deps.pools.use(name);
      for (const [volume, options] of this.#mountOptionsIn(name))
        await driver.useMountOptions?.(pool, refOf(volume), options);
      await driver.mountPool(pool);
      this.#isWell(name);
    } catch (error) {
      this.#unmounted.add(name);
      this.#note(name, errorText(error));
    }
  }

  /** The custom volumes with mount options of their own, by name. */
  #mountOptionsIn(pool: string): readonly (readonly [string, string])[] {
    return this.#deps.records.volumes.list().flatMap(({ name, document }) => {
      const options = document.config['block.mount_options'] ?? '';
      return options === '' || !name.startsWith(`${pool}/`) ? [] : [[name.slice(pool.length + 1), options] as const];
    });
  }

  /** The directory of its volumes is made with the pool. */
  async #probe(name: string): Promise<void> {
    const folder = dirname(this.#deps.pools.volumePath(name, { type: 'custom', name: 'any' }));
    try {
      await access(folder);
      this.#isWell(name);
    } catch (error) {
      this.#note(name, `its directory ${folder} has gone, mount or restore it: ${errorText(error)}`);
    }
  }

  #note(name: string, why: string): void {
    this.#problems.note(name, `The storage pool ${name} cannot be used: ${why}`);
  }

  #isWell(name: string): void {
    if (this.#forget(name)) this.#deps.log.info(`The storage pool ${name} can be used again`);
  }

  /** True if there was a problem. */
  #forget(name: string): boolean {
    this.#unmounted.delete(name);
    return this.#problems.forget(name);
  }
}

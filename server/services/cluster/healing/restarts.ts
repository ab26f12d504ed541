// Starts containers that this member took from a lost one, or that ended while this one was cut off; cleans up after those that another
// member took.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { containerUrl } from '../../../api/project/project-names.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { daemonCaller } from '../../shared/caller.ts';
import { lockOf } from '../../shared/find-container.ts';
import { startNow } from '../../containers/power/start.ts';
import type { StateDeps } from '../../containers/shared/state-deps.ts';
import type { AfterFence } from './fencing.ts';
import { lostMemberKey } from './healing.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';

const powerKey = 'volatile.last_state.power';

export class Restarts implements AfterFence {
  readonly #deps: StateDeps;
  readonly #busy = new Set<string>();
  #generation = -1;

  constructor(deps: StateDeps) {
    this.#deps = deps;
  }

  /** Starts containers from a lost member. Call it often; it never throws, and does not wait for the starts. */
  tick(): void {
    const { containers } = this.#deps.records;
    if (containers.generation === this.#generation) return;
    this.#generation = containers.generation;
    for (const { name, document } of containers.list())
      if (document.config[lostMemberKey] !== undefined && document.lifecycle === 'ready' && !this.#busy.has(name))
        this.#take(name, document.config[lostMemberKey]);
  }

  async resume(name: string): Promise<void> {
    const { locks, records, runtime } = this.#deps;
    await locks.run(lockOf(name), async () => {
      const document = records.containers.get(name)?.document;
      const shallRun = document?.lifecycle === 'ready' && document.config[powerKey] === 'RUNNING';
      if (!shallRun || runtime.probe(name).status !== 'stopped') return;
      await startNow(this.#deps, daemonCaller, name, new AbortController().signal);
    });
  }

  async forget(name: string): Promise<void> {
    const { locks, runtime, hosts, records, logsDir } = this.#deps;
    await locks.run(lockOf(name), async () => {
      if (runtime.probe(name).status !== 'stopped')
        await runtime.stop(name, { force: true }, new AbortController().signal);
      await runtime.forget(name);
      await rm(join(logsDir, name), { recursive: true, force: true });
      await hosts.refresh(records.networks.list().map((network) => network.name));
    });
  }

  #take(name: string, member: string): void {
    const { operations, records, log, warnings } = this.#deps;
    this.#busy.add(name);
    operations.start({
      description: 'Starting container',
      resources: { containers: [containerUrl(name)] },
      run: async () => {
        try {
          await this.resume(name);
        } catch (error) {
          log.error(`The container ${name} of the lost member ${member} does not start here: ${errorText(error)}`);
          const why = `It came from the lost member ${member} and does not start here: ${errorText(error)}`;
          warnings.seen('lostMemberStart', why, warnedContainer(records, name));
          throw error;
        } finally {
          await this.#unmark(name).catch((error: unknown) =>
            log.error(`Recording ${name} failed: ${errorText(error)}`),
          );
          this.#busy.delete(name);
        }
      },
    });
  }

  async #unmark(name: string): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      const document = records.containers.get(name)?.document;
      if (document === undefined) return;
      const { [lostMemberKey]: _, ...config } = document.config;
      changes.put('containers', name, { ...document, config });
    });
  }
}

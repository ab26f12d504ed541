// Notices containers that end by themselves, and reconciles the records with the running containers after a daemon start.
import { containerUrl } from '../../../api/project/project-names.ts';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { RuntimeExit } from '../../../drivers/runtime/driver.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { daemonCaller } from '../../shared/caller.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { lockOf } from '../../shared/find-container.ts';
import { templatesBetweenBoots } from '../files/apply-templates.ts';
import type { StateDeps } from '../shared/state-deps.ts';
import { dropCheckpoint } from './container-drop-state.ts';
import { stopForHost } from './host-shutdown.ts';
import { rememberFoundRunning } from './start.ts';
import { afterStop } from './stop.ts';
import { isSameConfig } from '../devices/keep-volatile.ts';

const powerKey = 'volatile.last_state.power';

export class ContainerEnds {
  readonly #deps: StateDeps;
  #stopListening: () => void = () => {};
  #stopBetween: () => void = () => {};
  #unsettled: RuntimeExit[] | undefined = [];
  #hostGoesDown = false;

  constructor(deps: StateDeps) {
    this.#deps = deps;
  }

  /** Call at daemon start: finds running containers. Ends wait for `recordEnds`: until then half-done changes are recovered. */
  async attach(): Promise<void> {
    this.#stopListening = this.#deps.runtime.onExit((exit) => {
      if (this.#unsettled === undefined) void this.#ended(exit);
      else this.#unsettled.push(exit);
    });
    this.#stopBetween = this.#deps.runtime.betweenBoots((name) => templatesBetweenBoots(this.#deps, name));
    const own = this.#deps.records.containers.list().map((entry) => entry.name);
    await this.#deps.runtime.recover([...new Set([...own, ...this.#deps.fencing.formerNames])]);
  }

  /** Call after recovery: records containers that ended while no daemon ran, and started ones not yet recorded. */
  async recordEnds(): Promise<void> {
    const ends = this.#unsettled ?? [];
    this.#unsettled = undefined;
    for (const exit of ends) await this.#ended(exit);
    await Promise.all(this.#deps.records.containers.list().map((entry) => this.#recordRunning(entry)));
    for (const entry of this.#deps.records.containers.list()) {
      await this.#dropUsedState(entry);
      await this.#reapplyLimits(entry);
    }
  }

  detach(): void {
    this.#stopListening();
    this.#stopBetween();
  }

  /** Stops all containers for a host shutdown: the next daemon restarts those that ran. */
  shutDown(): Promise<void> {
    this.#hostGoesDown = true;
    return stopForHost(this.#deps);
  }

  async #recordRunning(entry: ContainerEntry): Promise<void> {
    const { name, document } = entry;
    if (document.lifecycle !== 'ready' || document.config[powerKey] === 'RUNNING') return;
    if (this.#deps.runtime.probe(name).status === 'stopped') return;
    await rememberFoundRunning(this.#deps, entry).catch((error: unknown) => {
      this.#deps.log.error(`Recording that ${name} runs failed: ${errorText(error)}`);
    });
  }

  /** A daemon died before or while it applied recorded limits. */
  async #reapplyLimits(entry: ContainerEntry): Promise<void> {
    const { runtime, view, log } = this.#deps;
    const { name, document } = entry;
    if (document.lifecycle !== 'ready' || runtime.probe(name).status === 'stopped') return;
    const { config } = view.expanded(entry);
    const inForce = runtime.limits(name);
    if (inForce !== undefined && isSameConfig(inForce, limitKeys(config))) return;
    await runtime.updateLimits(name, config).catch((error: unknown) => {
      log.error(`The limits of ${name} are not as recorded: ${errorText(error)}`);
    });
  }

  /** A daemon died after it restored this container: its checkpoint is used up. */
  async #dropUsedState({ name, document }: ContainerEntry): Promise<void> {
    if (!document.stateful || document.lifecycle !== 'ready') return;
    if (this.#deps.runtime.probe(name).status === 'stopped') return;
    await dropCheckpoint(this.#deps, name).catch((error: unknown) => {
      this.#deps.log.error(`Removing the used checkpoint of ${name} failed: ${errorText(error)}`);
    });
  }

  /** Requested stops do their own bookkeeping under the lock; once we have it, theirs is done. */
  async #ended(exit: RuntimeExit): Promise<void> {
    const { name } = exit;
    if (exit.target === 'reboot') {
      this.#deps.events.lifecycle('container-restarted', containerUrl(name), daemonCaller);
      return;
    }
    // The next daemon must know that they ran.
    if (this.#hostGoesDown || this.#deps.fencing.hasEnded(name) || this.#deps.shutdowns.isPending(name)) return;
    try {
      await this.#deps.locks.run(lockOf(name), async () => {
        const entry = this.#deps.records.containers.get(name);
        if (entry === undefined || this.#deps.runtime.probe(name).status !== 'stopped') return;
        const { ephemeral, config } = entry.document;
        if (!ephemeral && config[powerKey] !== 'RUNNING') return;
        this.#deps.events.lifecycle('container-stopped', containerUrl(name), daemonCaller);
        await afterStop(this.#deps, daemonCaller, name, new AbortController().signal);
      });
    } catch (error) {
      this.#deps.log.error(`Recording that ${name} stopped failed: ${errorText(error)}`);
    }
  }
}

const limitKeys = (config: ConfigMap): ConfigMap =>
  Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.')));

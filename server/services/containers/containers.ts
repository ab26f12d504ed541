// Containers: the use cases of the API in one place, and what the daemon does by itself (autostart, noticing ends).
import { autostart } from './power/autostart.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type {
  Container,
  ContainerCreate,
  ContainerFull,
  ContainerPost,
  ContainerPut,
  ContainerState,
  ContainerStatePut,
} from '../../api/container/container.ts';
import type { Operation } from '../../api/operation.ts';
import type { RuntimeExit } from '../../drivers/runtime/driver.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { renderBackup } from '../shared/backups.ts';
import { daemonCaller, type Caller } from '../shared/caller.ts';
import { etagOf } from '../shared/etag.ts';
import { ownedBy } from '../shared/owned-records.ts';
import { ofProject } from '../shared/project-scope.ts';
import { createContainer } from './create/create.ts';
import { lockOf, anyContainer } from '../shared/find-container.ts';
import { containerUrl, qualifiedName } from '../../api/project/project-names.ts';
import { replaceDevices } from '../shared/patch.ts';
import { refuseUnmountable } from './devices/block-sources.ts';
import { shutdownSeconds, stopForHost } from './power/host-shutdown.ts';
import { moveContainer, renameContainer } from './move/move.ts';
import { deleteContainer, removeNow } from './remove/remove.ts';
import { restoreSnapshot } from './snapshots/restore.ts';
import { snapshotsOf } from './shared/snapshot-records.ts';
import { renderSnapshot } from './snapshots/snapshots.ts';
import { putState } from './power/start-stop.ts';
import { type StateDeps } from './shared/state-deps.ts';
import { stopStateful, stopNow, afterStop } from './power/stop.ts';
import { startNow, rememberFoundRunning } from './power/start.ts';
import { patchContainer, putContainer } from './update/update.ts';
import { templatesBetweenBoots } from './files/apply-templates.ts';
import type { ContainerEntry } from '../shared/container-view.ts';
import { dropCheckpoint } from './power/container-drop-state.ts';

const powerKey = 'volatile.last_state.power';

export class Containers {
  readonly #deps: StateDeps;
  #stopListening: () => void = () => {};
  #stopBetween: () => void = () => {};
  #unsettled: RuntimeExit[] | undefined = [];
  #hostGoesDown = false;

  constructor(deps: StateDeps) {
    this.#deps = deps;
  }

  /** Qualified names; without a project those of all. */
  names(project: string | undefined): readonly string[] {
    return this.#deps.view.names(project);
  }

  list(project: string | undefined): readonly Container[] {
    return this.#deps.view.renderAll(project);
  }

  /** recursion=2: with state, snapshots and backups (extension container_full). */
  listFull(project: string | undefined): Promise<readonly ContainerFull[]> {
    return Promise.all(this.#of(project).map((entry) => this.#full(entry)));
  }

  /** The same of a member of the cluster that does not answer: its containers as they are recorded, without state. */
  listFullOf(member: number, project: string | undefined): readonly ContainerFull[] {
    const { records, view } = this.#deps;
    const there = records.as(member);
    const all = [...records.others.of('containers', member)].sort((a, b) => (a.name < b.name ? -1 : 1));
    return (project === undefined ? all : ofProject(all, project)).map((entry) =>
      this.#withOwned(there, entry, view.renderOther(entry), null),
    );
  }

  /** Also one of another member of the cluster. */
  get(name: string): { readonly object: Container; readonly etag: string } {
    const other = this.#deps.records.others.get('containers', name);
    if (other !== undefined && !this.#deps.records.containers.has(name))
      return { object: this.#deps.view.renderOther(other), etag: etagOf.container(other.document) };
    const entry = anyContainer(this.#deps.records, name);
    return { object: this.#deps.view.render(entry), etag: etagOf.container(entry.document) };
  }

  async getFull(name: string): Promise<{ readonly object: ContainerFull; readonly etag: string }> {
    const entry = anyContainer(this.#deps.records, name);
    return { object: await this.#full(entry), etag: etagOf.container(entry.document) };
  }

  state(name: string): Promise<ContainerState> {
    anyContainer(this.#deps.records, name);
    return this.#deps.view.state(name);
  }

  async create(caller: Caller, body: ContainerCreate): Promise<Operation> {
    const { records } = this.#deps;
    await refuseUnmountable(records, qualifiedName(caller.project, body.name ?? ''), replaceDevices(body.devices));
    return createContainer(this.#deps, caller, body);
  }

  async put(caller: Caller, name: string, body: ContainerPut, ifMatch: string | undefined): Promise<Operation> {
    const { restore } = body;
    await this.#checkDevices(name, body);
    if (restore !== undefined && restore !== '') {
      return restoreSnapshot(this.#deps, caller, name, { ...body, restore }, ifMatch);
    }
    return putContainer(this.#deps, caller, name, body, ifMatch);
  }

  async patch(caller: Caller, name: string, body: ContainerPut, ifMatch: string | undefined): Promise<void> {
    await this.#checkDevices(name, body);
    return patchContainer(this.#deps, caller, name, body, ifMatch);
  }

  #checkDevices(name: string, { devices }: Pick<ContainerPut, 'devices'>): Promise<void> {
    const { document } = anyContainer(this.#deps.records, name);
    return refuseUnmountable(this.#deps.records, name, replaceDevices(devices), document.devices);
  }

  rename(caller: Caller, name: string, to: string): Operation {
    return renameContainer(this.#deps, caller, name, to);
  }

  /** Into another pool of this server. */
  move(caller: Caller, name: string, body: ContainerPost): Operation {
    return moveContainer(this.#deps, caller, name, body);
  }

  delete(caller: Caller, name: string): Operation {
    return deleteContainer(this.#deps, caller, name);
  }

  putState(caller: Caller, name: string, body: ContainerStatePut): Operation {
    return putState(this.#deps, caller, name, body);
  }

  /** The caller holds the container's lock. It is checkpointed and stopped, as by a stateful stop. */
  storeHeld(caller: Caller, name: string, signal: AbortSignal, previous?: string): Promise<void> {
    return stopStateful(this.#deps, caller, name, signal, previous);
  }

  /** The caller holds the container's lock. It starts from its checkpoint. */
  goOnHeld(caller: Caller, name: string, signal: AbortSignal): Promise<void> {
    return startNow(this.#deps, caller, name, signal, true);
  }

  /** The caller holds the container's lock. It stops in the time that it has when the host goes down, or by force. */
  async stopHeld(caller: Caller, name: string, isForced: boolean, signal: AbortSignal): Promise<void> {
    const { config } = this.#deps.view.expanded(anyContainer(this.#deps.records, name));
    const timeoutMs = isForced ? 0 : shutdownSeconds(config) * 1000;
    const stop = (force: boolean): Promise<void> =>
      stopNow(this.#deps, caller, name, { force, timeoutMs: force ? undefined : timeoutMs }, signal);
    if (timeoutMs > 0) await stop(false).catch(() => {});
    if (this.#deps.runtime.probe(name).status !== 'stopped') await stop(true);
  }

  /** The caller holds the container's lock. */
  startHeld(caller: Caller, name: string, signal: AbortSignal): Promise<void> {
    return startNow(this.#deps, caller, name, signal);
  }

  /** The caller holds the lock of the container, which is stopped. */
  removeHeld(caller: Caller, name: string, signal: AbortSignal): Promise<void> {
    return removeNow(this.#deps, caller, name, signal);
  }

  /** At daemon start: finds the containers that still run. Ends that are noticed wait for `settle`: until then half-done
   *  changes are being recovered. */
  async attach(): Promise<void> {
    this.#stopListening = this.#deps.runtime.onExit((exit) => {
      if (this.#unsettled === undefined) void this.#ended(exit);
      else this.#unsettled.push(exit);
    });
    this.#stopBetween = this.#deps.runtime.betweenBoots((name) => templatesBetweenBoots(this.#deps, name));
    const own = this.#deps.records.containers.list().map((entry) => entry.name);
    await this.#deps.runtime.recover([...new Set([...own, ...this.#deps.fencing.formerNames])]);
  }

  /** Once recovery is done: records what ended while no daemon looked, and what was started but not yet recorded. */
  async settle(): Promise<void> {
    const ends = this.#unsettled ?? [];
    this.#unsettled = undefined;
    for (const exit of ends) await this.#ended(exit);
    await Promise.all(this.#deps.records.containers.list().map((entry) => this.#recordRunning(entry)));
    for (const entry of this.#deps.records.containers.list()) {
      await this.#dropUsedState(entry);
      await this.#settleLimits(entry);
    }
  }

  detach(): void {
    this.#stopListening();
    this.#stopBetween();
  }

  autostart(signal: AbortSignal): Promise<void> {
    return autostart(this.#deps, signal);
  }

  /** Stops all of them because the host goes down: the next daemon starts those again that ran. */
  shutDown(): Promise<void> {
    this.#hostGoesDown = true;
    return stopForHost(this.#deps);
  }

  #of(project: string | undefined): readonly ContainerEntry[] {
    const all = this.#deps.records.containers.list();
    return project === undefined ? all : ofProject(all, project);
  }

  async #full(entry: ContainerEntry): Promise<ContainerFull> {
    const { records, view } = this.#deps;
    const state = await view.state(entry.name);
    return this.#withOwned(records, entry, view.render(entry), state);
  }

  #withOwned(
    records: StateDeps['records'],
    { name, document: { uuid } }: Pick<ContainerEntry, 'name' | 'document'>,
    object: Container,
    state: ContainerState | null,
  ): ContainerFull {
    const snapshots = snapshotsOf(records, uuid).map((snapshot) => renderSnapshot(records, name, snapshot));
    const backups = ownedBy(records, 'backups', uuid).map(renderBackup);
    return {
      ...object,
      state,
      snapshots: snapshots.length === 0 ? null : snapshots,
      backups: backups.length === 0 ? null : backups,
    };
  }

  async #recordRunning(entry: ContainerEntry): Promise<void> {
    const { name, document } = entry;
    if (document.lifecycle !== 'ready' || document.config[powerKey] === 'RUNNING') return;
    if (this.#deps.runtime.probe(name).status === 'stopped') return;
    await rememberFoundRunning(this.#deps, entry).catch((error: unknown) => {
      this.#deps.log.error(`Recording that ${name} runs failed: ${errorText(error)}`);
    });
  }

  /** A daemon died between recording other limits and setting them, or in the middle of that. */
  async #settleLimits(entry: ContainerEntry): Promise<void> {
    const { runtime, view, log } = this.#deps;
    const { name, document } = entry;
    if (document.lifecycle !== 'ready' || runtime.probe(name).status === 'stopped') return;
    const { config } = view.expanded(entry);
    const inForce = runtime.limits(name);
    if (inForce !== undefined && isSame(inForce, limitKeys(config))) return;
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

  /** Requested stops do their own bookkeeping while they hold the lock; by the time it is ours, theirs is done. */
  async #ended(exit: RuntimeExit): Promise<void> {
    const { name } = exit;
    if (exit.target === 'reboot') {
      this.#deps.events.lifecycle('container-restarted', containerUrl(name), undefined, daemonCaller.requestor);
      return;
    }
    // The next daemon has to know that they ran.
    if (this.#hostGoesDown || this.#deps.fencing.hasEnded(name)) return;
    try {
      await this.#deps.locks.run(lockOf(name), async () => {
        const entry = this.#deps.records.containers.get(name);
        if (entry === undefined || this.#deps.runtime.probe(name).status !== 'stopped') return;
        const { ephemeral, config } = entry.document;
        if (!ephemeral && config[powerKey] !== 'RUNNING') return;
        this.#deps.events.lifecycle('container-stopped', containerUrl(name), undefined, daemonCaller.requestor);
        await afterStop(this.#deps, daemonCaller, name, new AbortController().signal);
      });
    } catch (error) {
      this.#deps.log.error(`Recording that ${name} stopped failed: ${errorText(error)}`);
    }
  }
}

const limitKeys = (config: ConfigMap): ConfigMap =>
  Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('limits.')));

const isSame = (a: ConfigMap, b: ConfigMap): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

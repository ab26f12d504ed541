// Snapshots of containers: the use cases of the API (spec 2.7, 4.6). restore.ts restores them, snapshot-schedule.ts runs schedules.
import { errors } from '../../../api/errors.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Snapshot, SnapshotCreate, SnapshotPut } from '../../../api/container/snapshot.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import type { Caller } from '../../shared/caller.ts';
import { checkIfMatch, etagOf } from '../../shared/etag.ts';
import { expand } from '../../shared/expand.ts';
import type { ContainerDeps } from '../deps.ts';
import { lockOf, anyContainer, readyContainer } from '../../shared/find-container.ts';
import { renderFields } from '../../shared/container-view.ts';
import { checkSnapshotName, configuredExpiry, nextSnapshotName, sentExpiry } from '../../shared/snapshot-names.ts';
import { snapshotKey, snapshotsOf, type SnapshotEntry } from '../shared/snapshot-records.ts';
import { needCheckpoints } from '../shared/checkpoint.ts';
import type { SnapshotParams } from './snapshot-files.ts';
import { renameSnapshotSaga } from './snapshot-rename.ts';
import { createSnapshotSaga } from './snapshot-create.ts';
import { deleteSnapshotSaga } from './snapshot-delete.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export type SnapshotDeps = Pick<
  ContainerDeps,
  'records' | 'runtime' | 'pools' | 'view' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock'
>;

export const snapshotUrlOf = (container: string, name: string): string => containerUrl(container, 'snapshots', name);

export class Snapshots {
  readonly #deps: SnapshotDeps;

  constructor(deps: SnapshotDeps) {
    this.#deps = deps;
  }

  urls(container: string): readonly string[] {
    return this.#all(container).map(({ name }) => snapshotUrlOf(container, name));
  }

  list(container: string): readonly Snapshot[] {
    return this.#all(container).map((entry) => this.#render(container, entry));
  }

  get(container: string, name: string): { readonly object: Snapshot; readonly etag: string } {
    const entry = this.#find(container, name);
    return { object: this.#render(container, entry), etag: etagOf.snapshot(entry.document) };
  }

  create(caller: Caller, container: string, body: SnapshotCreate): Operation {
    const { document } = readyContainer(this.#deps.records, container);
    if (body.stateful === true && this.#deps.runtime.probe(container).status === 'stopped')
      throw errors.badRequest(`A stateful snapshot needs a running container: ${container} is stopped`);
    const wanted = body.name === undefined || body.name === '' ? undefined : body.name;
    if (wanted !== undefined) {
      checkSnapshotName(wanted);
      if (this.#deps.records.snapshots.has(snapshotKey(document.uuid, wanted)))
        throw errors.exists('snapshot', `${container}/${wanted}`);
    }
    const expiresAt = sentExpiry(body.expires_at) ?? '';
    const now = new Date(this.#deps.clock.nowMs());
    const first = wanted ?? this.#nextName(document.uuid, undefined, now);
    const draft = this.#draft(document, body.description, expiresAt, false);
    const begun = { ...draft, lifecycle: 'creating' } as const;
    this.#deps.records.check((changes) => changes.put('snapshots', snapshotKey(document.uuid, first), begun));
    return this.#deps.operations.start({
      description: 'Snapshotting container',
      resources: { containers: [containerUrl(container)] },
      run: (handle, signal) =>
        this.#deps.locks.run(lockOf(container), async () => {
          const name = await this.takeNow(caller, container, { ...body, name: wanted }, signal);
          handle.update({ snapshot_name: name });
        }),
    });
  }

  put(caller: Caller, container: string, name: string, body: SnapshotPut, ifMatch: string | undefined): Operation {
    const check = ({ document }: SnapshotEntry): void =>
      checkIfMatch(ifMatch, etagOf.snapshot(document), 'snapshot', `${container}/${name}`);
    check(this.#find(container, name));
    const expiry = sentExpiry(body.expires_at);
    return this.#start('Updating snapshot', container, async () => {
      await this.#deps.records.retry((changes) => {
        const { uuid } = readyContainer(this.#deps.records, container).document;
        const entry = this.#find(container, name);
        // Another request may have changed it while this one waited.
        check(entry);
        const { document } = entry;
        changes.put('snapshots', snapshotKey(uuid, name), {
          ...document,
          expiresAt: expiry ?? document.expiresAt,
          description: body.description ?? document.description,
        });
      });
      this.#deps.events.lifecycle('container-updated', snapshotUrlOf(container, name), caller);
    });
  }

  /** An existing target answers 409 before anything else (spec 7.3). */
  rename(caller: Caller, container: string, name: string, to: string): Operation {
    this.#find(container, name);
    const { uuid } = readyContainer(this.#deps.records, container).document;
    if (this.#deps.records.snapshots.has(snapshotKey(uuid, to))) {
      throw errors.exists('snapshot', `${container}/${to}`);
    }
    checkSnapshotName(to);
    return this.#start('Renaming snapshot', container, async (signal) => {
      await this.#deps.locks.unshared(lockOf(container));
      const params = { ...this.#params(container, name), to };
      await this.#deps.sagas.run(renameSnapshotSaga(this.#deps), params, { signal });
      const context = { new_name: `${plainName(container)}/${to}`, snapshot_name: `${plainName(container)}/${name}` };
      const url = snapshotUrlOf(container, name);
      this.#deps.events.lifecycle('container-snapshot-renamed', url, caller, context);
    });
  }

  delete(caller: Caller, container: string, name: string): Operation {
    this.#find(container, name);
    readyContainer(this.#deps.records, container);
    return this.#start('Deleting snapshot', container, async (signal) => {
      // Another request may have deleted it while this one waited.
      this.#find(container, name);
      const key = snapshotKey(readyContainer(this.#deps.records, container).document.uuid, name);
      await this.#deps.sagas.finishUndoHeld('snapshots', key);
      if (this.#deps.records.snapshots.has(key)) await this.dropNow(caller, container, name, signal);
    });
  }

  /** The caller holds the container's lock. Resolves to the name. */
  async takeNow(
    caller: Caller,
    container: string,
    wanted: { readonly name?: string | undefined } & Pick<SnapshotCreate, 'expires_at' | 'description' | 'stateful'>,
    signal: AbortSignal,
  ): Promise<string> {
    const entry = readyContainer(this.#deps.records, container);
    const { document } = entry;
    const { config } = this.#deps.view.expanded(entry);
    const now = new Date(this.#deps.clock.nowMs());
    const name = wanted.name ?? this.#nextName(document.uuid, config['snapshots.pattern'], now);
    const withState = wanted.stateful === true;
    const { status } = this.#deps.runtime.probe(container);
    if (withState) {
      if (status === 'stopped') throw errors.badRequest(`${container} cannot be checkpointed: it has stopped`);
      await needCheckpoints(this.#deps.runtime, `A stateful snapshot of ${container}`);
    }
    const expiresAt = sentExpiry(wanted.expires_at) ?? configuredExpiry(config['snapshots.expiry'], now);
    const params = {
      container,
      uuid: document.uuid,
      pool: document.pool,
      snapshot: name,
      document: this.#draft(document, wanted.description, expiresAt, withState),
    };
    const state = withState ? { state: { wasFrozen: status === 'frozen' } } : {};
    await this.#deps.sagas.run(createSnapshotSaga(this.#deps), { ...params, ...state }, { signal });
    const context = { snapshot_name: `${plainName(container)}/${name}` };
    this.#deps.events.lifecycle('container-snapshot-created', containerUrl(container), caller, context);
    return name;
  }

  #draft(
    document: ContainerDocument,
    description: string | undefined,
    expiresAt: string,
    withState: boolean,
  ): SnapshotDocument {
    return {
      v: 1,
      architecture: document.architecture,
      profiles: document.profiles,
      ephemeral: document.ephemeral,
      config: document.config,
      devices: document.devices,
      description: description ?? '',
      createdAt: this.#deps.clock.timestamp(),
      lastUsedAt: document.lastUsedAt,
      // The checkpoint of a stopped container is among its files.
      stateful: withState || document.stateful,
      expiresAt,
      ...withoutUndefined({ volume: document.volume }),
      lifecycle: 'ready',
    };
  }

  /** The caller holds the container's lock. Waits for running backups and publishing. */
  async dropNow(caller: Caller, container: string, name: string, signal: AbortSignal): Promise<void> {
    await this.#deps.locks.unshared(lockOf(container));
    await this.#deps.sagas.run(deleteSnapshotSaga(this.#deps), this.#params(container, name), { signal });
    const context = { snapshot_name: `${plainName(container)}/${name}` };
    const url = snapshotUrlOf(container, name);
    this.#deps.events.lifecycle('container-snapshot-deleted', url, caller, context);
  }

  #start(description: string, container: string, work: (signal: AbortSignal) => Promise<void>): Operation {
    return this.#deps.operations.start({
      description,
      resources: { containers: [containerUrl(container)] },
      run: (_handle, signal) => this.#deps.locks.run(lockOf(container), () => work(signal)),
    });
  }

  #nextName(uuid: string, pattern: string | undefined, now: Date): string {
    const taken = snapshotsOf(this.#deps.records, uuid).map((snapshot) => snapshot.name);
    const next = nextSnapshotName(pattern ?? 'snap%d', taken, now);
    if ('rule' in next) throw errors.invalid('snapshot', [{ path: 'config.snapshots.pattern', message: next.rule }]);
    checkSnapshotName(next.name);
    return next.name;
  }

  #params(container: string, snapshot: string): SnapshotParams {
    const { uuid, pool } = readyContainer(this.#deps.records, container).document;
    return { container, uuid, pool, snapshot };
  }

  #all(container: string): readonly SnapshotEntry[] {
    return snapshotsOf(this.#deps.records, anyContainer(this.#deps.records, container).document.uuid);
  }

  #find(container: string, name: string): SnapshotEntry {
    const { uuid } = anyContainer(this.#deps.records, container).document;
    const entry = this.#deps.records.snapshots.get(snapshotKey(uuid, name));
    if (entry === undefined) throw errors.notFound('snapshot', `${container}/${name}`);
    return { name, document: entry.document };
  }

  #render(container: string, entry: SnapshotEntry): Snapshot {
    return renderSnapshot(this.#deps.records, container, entry);
  }
}

export function renderSnapshot(
  records: ContainerDeps['records'],
  container: string,
  { name, document }: SnapshotEntry,
): Snapshot {
  return {
    name,
    ...renderFields(document, expand(document, profilesOf(records, container))),
    description: document.description,
    expires_at: document.expiresAt,
  };
}

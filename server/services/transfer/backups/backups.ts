// Backups of containers: the use cases of the API (spec 4.14; real system section 11). Making one is write-backup.ts, a container
// of one restore.ts.
import { randomUUID } from 'node:crypto';
import type { Backup, BackupCreate } from '../../../api/container/backup.ts';
import { never } from '../../../api/schema/common-schemas.ts';
import { errors } from '../../../api/errors.ts';
import { snapshotName } from '../../../api/names.ts';
import { containerUrl, plainName } from '../../../api/project/project-names.ts';
import type { Operation } from '../../../api/operation.ts';
import type { BackupDocument } from '../../../records/documents.ts';
import { ownedKey } from '../../../records/record-names.ts';
import { daemonCaller, type Caller } from '../../shared/caller.ts';
import { lockOf, anyContainer, readyContainer } from '../../shared/find-container.ts';
import { isExpired, nextSnapshotName, sentExpiry } from '../../shared/snapshot-names.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { packerOf } from '../../shared/compression.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import { settingOf } from '../../shared/settings.ts';
import { backupPath, removeBackupFile, renderBackup, type BackupEntry } from '../../shared/backups.ts';
import type { BackupDeps, CreateBackupParams } from './write-backup.ts';
import { createBackupSaga } from './sagas/backup-create.ts';

export const backupUrlOf = (container: string, backup: string): string => containerUrl(container, 'backups', backup);

export class Backups {
  readonly #deps: BackupDeps;
  /** Names that operations under way have chosen, by owned key. */
  readonly #chosen = new Set<string>();

  constructor(deps: BackupDeps) {
    this.#deps = deps;
  }

  tasks(): readonly ScheduledTask[] {
    return [{ name: 'Deleting expired backups', run: (minute, signal) => this.#prune(minute, signal) }];
  }

  urls(container: string): readonly string[] {
    return this.#all(container).map(({ name }) => backupUrlOf(container, name));
  }

  list(container: string): readonly Backup[] {
    return this.#all(container).map(renderBackup);
  }

  get(container: string, name: string): Backup {
    return renderBackup(this.#find(container, name));
  }

  async create(caller: Caller, container: string, body: BackupCreate): Promise<Operation> {
    const { document } = readyContainer(this.#deps.records, container);
    const wanted = body.name === undefined || body.name === '' ? undefined : body.name;
    if (wanted !== undefined) {
      checkName(wanted);
      if (this.#deps.records.backups.has(ownedKey(document.uuid, wanted)))
        throw errors.exists('backup', `${container}/${wanted}`);
    }
    const expiresAt = expiryOf(body);
    const optimizedStorage = body.optimized_storage ?? false;
    if (optimizedStorage) this.#refuseOptimized(document.pool);
    const algorithm =
      body.compression_algorithm || settingOf(this.#deps.records, 'backups.compression_algorithm') || 'gzip';
    await packerOf(algorithm);
    const backup: BackupDocument = {
      v: 1,
      file: randomUUID(),
      createdAt: this.#deps.clock.timestamp(),
      expiresAt,
      containerOnly: body.container_only ?? body.instance_only ?? false,
      optimizedStorage,
      sizeBytes: 0,
      lifecycle: 'ready',
    };
    // Clients read the name in the operation's resources.
    const name = wanted ?? this.#nextName(document.uuid);
    const key = ownedKey(document.uuid, name);
    this.#deps.records.check((changes) => changes.put('backups', key, backup));
    this.#chosen.add(key);
    return this.#deps.operations.start({
      description: 'Backing up container',
      resources: this.#resources(container, name),
      mayCancel: true,
      run: (handle, signal) =>
        this.#deps.locks
          .runShared(lockOf(container), async (share) => {
            const { uuid } = readyContainer(this.#deps.records, container).document;
            handle.update({ backup_name: name });
            const params: CreateBackupParams = { container, uuid, backup: name, document: backup, algorithm };
            const progress = (metadata: Readonly<Record<string, unknown>>): void => handle.update(metadata);
            await this.#deps.sagas.run(createBackupSaga(this.#deps, share), params, { signal, progress });
            this.#tell('container-backup-created', caller, container, name);
          })
          .finally(() => this.#chosen.delete(key)),
    });
  }

  /** An existing target answers 409 before anything else (spec 7.3). */
  rename(caller: Caller, container: string, name: string, to: string): Operation {
    this.#ready(container, name);
    const { uuid } = readyContainer(this.#deps.records, container).document;
    if (this.#deps.records.backups.has(ownedKey(uuid, to))) throw errors.exists('backup', `${container}/${to}`);
    checkName(to);
    return this.#start('Renaming backup', container, name, async () => {
      await this.#deps.records.retry((changes) => {
        const { document } = this.#ready(container, name);
        if (this.#deps.records.backups.has(ownedKey(uuid, to))) throw errors.exists('backup', `${container}/${to}`);
        changes.delete('backups', ownedKey(uuid, name));
        changes.put('backups', ownedKey(uuid, to), document);
      });
      this.#tell('container-backup-renamed', caller, container, name, { new_name: `${plainName(container)}/${to}` });
    });
  }

  delete(caller: Caller, container: string, name: string): Operation {
    const { uuid } = readyContainer(this.#deps.records, container).document;
    const key = ownedKey(uuid, name);
    const isUndoing = this.#deps.sagas.isUndoing('backups', key);
    if (!isUndoing) this.#ready(container, name);
    return this.#start('Removing backup', container, name, async () => {
      if (isUndoing) await this.#deps.sagas.finishUndo('backups', key);
      if (!isUndoing || this.#deps.records.backups.has(key)) await this.#dropNow(caller, container, name);
    });
  }

  /** The complete file. An open reader may read on after the backup is deleted. */
  file(container: string, name: string): { readonly path: string } {
    return { path: backupPath(this.#deps.dir, this.#ready(container, name).document.file) };
  }

  /** A crash between the two leaves a file that no record knows: the next start removes it. */
  async #dropNow(caller: Caller, container: string, name: string): Promise<void> {
    const { uuid } = readyContainer(this.#deps.records, container).document;
    const { file } = this.#ready(container, name).document;
    await this.#deps.records.retry((changes) => changes.delete('backups', ownedKey(uuid, name)));
    await removeBackupFile(this.#deps.dir, file);
    this.#tell('container-backup-deleted', caller, container, name);
  }

  /** At the full hour. */
  async #prune(minute: Date, signal: AbortSignal): Promise<void> {
    if (minute.getMinutes() !== 0) return;
    for (const { name: container, document } of this.#deps.records.containers.list()) {
      if (document.lifecycle !== 'ready') continue;
      const old = this.#all(container).filter(
        (backup) => backup.document.lifecycle === 'ready' && isExpired(backup.document.expiresAt, minute),
      );
      for (const { name } of old) {
        if (signal.aborted) return;
        const work = (): Promise<void> => this.#dropNow(daemonCaller, container, name);
        const operation = this.#start('Removing expired backup', container, name, work);
        await this.#deps.operations.wait(operation.id, undefined);
      }
    }
  }

  #start(description: string, container: string, name: string, work: () => Promise<void>): Operation {
    return this.#deps.operations.start({
      description,
      resources: this.#resources(container, name),
      run: () => this.#deps.locks.run(lockOf(container), work),
    });
  }

  #resources(container: string, name: string): Record<string, readonly string[]> {
    return { containers: [containerUrl(container)], backups: [backupUrlOf(container, name)] };
  }

  #tell(action: string, caller: Caller, container: string, name: string, more: Record<string, unknown> = {}): void {
    const context = { backup_name: `${plainName(container)}/${name}`, ...more };
    this.#deps.events.lifecycle(action, backupUrlOf(container, name), context, caller.requestor);
  }

  #refuseOptimized(poolName: string): void {
    const { driver, pool } = this.#deps.pools.use(poolName);
    if (driver.capabilities.nativeStreams !== undefined) return;
    throw errors.badRequest(
      `optimized_storage: the pool ${pool.name} is of driver ${driver.name}, which has no form of its own; leave it out`,
      [{ path: 'optimized_storage', message: `is not for pools of driver ${driver.name}` }],
    );
  }

  #nextName(uuid: string): string {
    const chosen = [...this.#chosen].flatMap((key) =>
      key.startsWith(ownedKey(uuid, '')) ? [key.slice(ownedKey(uuid, '').length)] : [],
    );
    const taken = [...ownedBy(this.#deps.records, 'backups', uuid).map(({ name }) => name), ...chosen];
    const next = nextSnapshotName('backup%d', taken, new Date(this.#deps.clock.nowMs()));
    if ('rule' in next) throw errors.internal(`No name for a backup: ${next.rule}`);
    return next.name;
  }

  #all(container: string): readonly BackupEntry[] {
    return ownedBy(this.#deps.records, 'backups', anyContainer(this.#deps.records, container).document.uuid);
  }

  #find(container: string, name: string): BackupEntry {
    const { uuid } = anyContainer(this.#deps.records, container).document;
    const entry = this.#deps.records.backups.get(ownedKey(uuid, name));
    if (entry === undefined) throw errors.notFound('backup', `${container}/${name}`);
    return { name, document: entry.document };
  }

  #ready(container: string, name: string): BackupEntry {
    const entry = this.#find(container, name);
    if (entry.document.lifecycle !== 'ready')
      throw errors.badRequest(`The backup ${container}/${name} is busy: it is being made`);
    return entry;
  }
}

function checkName(name: string): void {
  const rule = snapshotName(name);
  if (rule !== undefined) throw errors.invalidName('backup', name, rule);
}

function expiryOf(body: BackupCreate): string {
  const path = body.expires_at === undefined || body.expires_at === null ? 'expiry' : 'expires_at';
  const expiry = sentExpiry(body[path]);
  if (expiry === undefined) return never.expires;
  if ('path' in expiry) throw errors.invalid('backup', [{ ...expiry, path }]);
  return expiry.at;
}

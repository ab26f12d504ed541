// Backups of containers and custom volumes: the use cases of the API (spec 4.14; real system section 11). write-backup.ts makes one;
// restore.ts restores a container, restore-volume.ts a volume.
import { randomUUID } from 'node:crypto';
import type { BackupCreate } from '../../../api/container/backup.ts';
import type { VolumeBackupCreate } from '../../../api/storage/volume-backup.ts';
import { never } from '../../../api/schema/common-schemas.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import type { BackupDocument } from '../../../records/documents.ts';
import { ownedKey } from '../../../records/record-names.ts';
import { daemonCaller, type Caller } from '../../shared/caller.ts';
import { checkSnapshotName, isExpired, nextSnapshotName, sentExpiry } from '../../shared/snapshot-names.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { packerOf } from '../../shared/compression.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import { settingOf } from '../../shared/settings.ts';
import { backupPath, removeBackupFile, type BackupEntry } from '../../shared/backups.ts';
import { type BackupOf, type BackupOwner, ownerOf, readyOwner, readyOwners, uuidOf } from './owner.ts';
import type { BackupDeps, CreateBackupParams } from './write-backup.ts';
import { createBackupSaga } from './sagas/backup-create.ts';

/** Field names of requests for either. */
type Wanted = BackupCreate & Pick<VolumeBackupCreate, 'volume_only'>;

export class Backups {
  readonly #deps: BackupDeps;
  /** Names that running operations have chosen, by owned key. */
  readonly #chosen = new Set<string>();

  constructor(deps: BackupDeps) {
    this.#deps = deps;
  }

  tasks(): readonly ScheduledTask[] {
    return [{ name: 'Deleting expired backups', run: (minute, signal) => this.#prune(minute, signal) }];
  }

  urls(of: BackupOf): readonly string[] {
    return this.list(of).map(({ name }) => ownerOf(of).url('backups', name));
  }

  list(of: BackupOf): readonly BackupEntry[] {
    return ownedBy(this.#deps.records, 'backups', uuidOf(this.#deps, ownerOf(of)));
  }

  get(of: BackupOf, name: string): BackupEntry {
    return this.#find(ownerOf(of), name);
  }

  async create(caller: Caller, of: BackupOf, body: Wanted): Promise<Operation> {
    const owner = ownerOf(of);
    uuidOf(this.#deps, owner);
    const { uuid, pool } = readyOwner(this.#deps.records, owner);
    const wanted = body.name === undefined || body.name === '' ? undefined : body.name;
    if (wanted !== undefined) {
      checkSnapshotName(wanted, 'backup');
      this.#refuseTaken(owner, uuid, wanted);
    }
    const expiresAt = expiryOf(body);
    // A pool without a form of its own gives a plain backup, as on LXD.
    const hasOwnForm = this.#deps.pools.use(pool).driver.capabilities.nativeStreams !== undefined;
    const optimizedStorage = body.optimized_storage === true && hasOwnForm;
    const algorithm =
      body.compression_algorithm || settingOf(this.#deps.records, 'backups.compression_algorithm') || 'gzip';
    await packerOf(algorithm);
    const backup: BackupDocument = {
      v: 1,
      file: randomUUID(),
      createdAt: this.#deps.clock.timestamp(),
      expiresAt,
      containerOnly: body.volume_only ?? body.container_only ?? body.instance_only ?? false,
      optimizedStorage,
      sizeBytes: 0,
      lifecycle: 'ready',
    };
    // Clients read the name in the operation's resources.
    const name = wanted ?? this.#nextName(uuid);
    const key = ownedKey(uuid, name);
    this.#deps.records.check((changes) => changes.put('backups', key, backup));
    this.#chosen.add(key);
    return this.#deps.operations.start({
      description: `Backing up ${owner.what}`,
      resources: resourcesOf(owner, name),
      project: caller.project,
      mayCancel: true,
      run: (handle, signal) =>
        this.#deps.locks
          .runShared(owner.lock, async (share) => {
            const { uuid: now } = readyOwner(this.#deps.records, owner);
            handle.update({ backup_name: name });
            const params: CreateBackupParams = { ...of, uuid: now, backup: name, document: backup, algorithm };
            const progress = (metadata: Readonly<Record<string, unknown>>): void => handle.update(metadata);
            await this.#deps.sagas.run(createBackupSaga(this.#deps, share), params, { signal, progress });
            this.#emit('created', caller, owner, name);
          })
          .finally(() => this.#chosen.delete(key)),
    });
  }

  /** An existing target answers 409 before anything else (spec 7.3). */
  rename(caller: Caller, of: BackupOf, name: string, to: string): Operation {
    const owner = ownerOf(of);
    this.#ready(owner, name);
    const { uuid } = readyOwner(this.#deps.records, owner);
    this.#refuseTaken(owner, uuid, to);
    checkSnapshotName(to, 'backup');
    return this.#start('Renaming backup', caller, owner, name, async () => {
      await this.#deps.records.retry((changes) => {
        const { document } = this.#ready(owner, name);
        this.#refuseTaken(owner, uuid, to);
        changes.delete('backups', ownedKey(uuid, name));
        changes.put('backups', ownedKey(uuid, to), document);
      });
      this.#emit('renamed', caller, owner, name, { new_name: `${owner.plain}/${to}` });
    });
  }

  delete(caller: Caller, of: BackupOf, name: string): Operation {
    const owner = ownerOf(of);
    uuidOf(this.#deps, owner);
    const key = ownedKey(readyOwner(this.#deps.records, owner).uuid, name);
    const isUndoing = this.#deps.sagas.isUndoing('backups', key);
    if (!isUndoing) this.#ready(owner, name);
    return this.#start('Removing backup', caller, owner, name, async () => {
      await this.#deps.sagas.finishUndoHeld('backups', key);
      if (!isUndoing || this.#deps.records.backups.has(key)) await this.#dropNow(caller, owner, name);
    });
  }

  /** The complete file. An open reader may continue after the backup is deleted. */
  file(of: BackupOf, name: string): { readonly path: string } {
    return { path: backupPath(this.#deps.dir, this.#ready(ownerOf(of), name).document.file) };
  }

  /** A crash between the two leaves a file without a record: the next start removes it. */
  async #dropNow(caller: Caller, owner: BackupOwner, name: string): Promise<void> {
    const { uuid } = readyOwner(this.#deps.records, owner);
    const { file } = this.#ready(owner, name).document;
    await this.#deps.records.retry((changes) => changes.delete('backups', ownedKey(uuid, name)));
    await removeBackupFile(this.#deps.dir, file);
    this.#emit('deleted', caller, owner, name);
  }

  /** On the hour. */
  async #prune(minute: Date, signal: AbortSignal): Promise<void> {
    if (minute.getMinutes() !== 0) return;
    const old = readyOwners(this.#deps.records).flatMap((owner) => {
      const { uuid } = readyOwner(this.#deps.records, owner);
      return ownedBy(this.#deps.records, 'backups', uuid)
        .filter(({ document }) => document.lifecycle === 'ready' && isExpired(document.expiresAt, minute))
        .map((backup) => ({ ...backup, owner, uuid }));
    });
    for (const { owner, uuid, name, document } of old) {
      if (signal.aborted) return;
      const work = async (): Promise<void> => {
        // While this waited for the owner, a client may have deleted it and made another one of this name.
        const now = this.#deps.records.backups.get(ownedKey(uuid, name))?.document;
        if (now?.file === document.file) await this.#dropNow(daemonCaller, owner, name);
      };
      const operation = this.#start('Removing expired backup', undefined, owner, name, work);
      await this.#deps.operations.wait(operation.id, undefined);
    }
  }

  #start(
    description: string,
    caller: Caller | undefined,
    owner: BackupOwner,
    name: string,
    work: () => Promise<void>,
  ): Operation {
    return this.#deps.operations.start({
      description,
      resources: resourcesOf(owner, name),
      project: caller?.project ?? owner.project,
      run: () => this.#deps.locks.run(owner.lock, work),
    });
  }

  #emit(what: string, caller: Caller, owner: BackupOwner, name: string, more: Record<string, unknown> = {}): void {
    const context = { backup_name: `${owner.plain}/${name}`, ...more };
    this.#deps.events.lifecycle(`${owner.event}-${what}`, owner.url('backups', name), caller, context);
  }

  #refuseTaken(owner: BackupOwner, uuid: string, name: string): void {
    if (this.#deps.records.backups.has(ownedKey(uuid, name))) throw errors.exists('backup', `${owner.label}/${name}`);
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

  #find(owner: BackupOwner, name: string): BackupEntry {
    const entry = this.#deps.records.backups.get(ownedKey(uuidOf(this.#deps, owner), name));
    if (entry === undefined) throw errors.notFound('backup', `${owner.label}/${name}`);
    return { name, document: entry.document };
  }

  #ready(owner: BackupOwner, name: string): BackupEntry {
    const entry = this.#find(owner, name);
    if (entry.document.lifecycle !== 'ready')
      throw errors.badRequest(`The backup ${owner.label}/${name} is busy: it is being made`);
    return entry;
  }
}

const resourcesOf = (owner: BackupOwner, name: string): Record<string, readonly string[]> => ({
  ...owner.resources,
  backups: [owner.url('backups', name)],
});

const expiryOf = ({ expires_at, expiry }: BackupCreate): string =>
  sentExpiry(expires_at, 'backup') ?? sentExpiry(expiry, 'backup', 'expiry') ?? never.expires;

// Renames a custom volume, or moves it to another pool or project; updates the containers and profiles that use it.
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import { errors, checkName } from '../../api/errors.ts';
import { volumeName } from '../../api/names.ts';
import type { Operation } from '../../api/operation.ts';
import { plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { Caller } from '../shared/caller.ts';
import { ownedBy } from '../shared/owned-records.ts';
import { readyVolume, refOf } from './custom-volumes.ts';
import { moveVolumeSaga } from './sagas/volume-move.ts';
import { refuseLeavingUsers, renameVolumeSaga } from './sagas/volume-rename.ts';
import {
  checkedVolumeConfig,
  customVolume,
  findVolume,
  refuseRunningUsers,
  volumeLock,
  withVolumes,
  type VolumesDeps,
} from './volume-checks.ts';
import { customUrl } from '../shared/volume-urls.ts';
import { containersUsing, profilesUsing } from './volume-users.ts';

/** The volume's records, its users and two more must fit into one transaction. */
const maxUsers = 100;

export class VolumeMoves {
  readonly #deps: VolumesDeps;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
  }

  /** An existing target answers 409 before anything else. Within the pool it is done when it resolves. */
  async rename(caller: Caller, pool: string, type: string, name: string, to: string): Promise<string> {
    const from = customVolume(pool, type, name);
    // In the volume's project.
    const target = { pool, name: qualifiedName(projectOf(name), to) };
    this.#checkTarget(from, target);
    await withVolumes(this.#deps, [from, target], async () => {
      refuseRunningUsers(this.#deps, from, 'renaming it');
      await this.#deps.locks.unshared(volumeLock(from));
      await this.#deps.sagas.run(renameVolumeSaga(this.#deps), { from, to: target });
    });
    this.#moved(caller, from, target);
    return customUrl(target);
  }

  move(caller: Caller, pool: string, type: string, name: string, to: VolumeId): Operation {
    const from = customVolume(pool, type, name);
    const document = findVolume(this.#deps, from);
    this.#checkTarget(from, to);
    checkedVolumeConfig(this.#deps.pools, to.pool, document.config);
    this.#deps.records.check((changes) => {
      changes.delete('volumes', volumeKey(from));
      changes.put('volumes', volumeKey(to), document);
    });
    return this.#deps.operations.start({
      description: 'Moving storage volume',
      resources: { storage_volumes: [customUrl(from)] },
      project: caller.project,
      run: (_handle, signal) =>
        withVolumes(this.#deps, [from, to], async () => {
          refuseRunningUsers(this.#deps, from, 'moving it');
          await this.#deps.locks.unshared(volumeLock(from));
          // Not a step: after a crash the volume found there is our own copy.
          await this.#deps.pools.refuseVolume(to.pool, refOf(to.name));
          await this.#moveNow(from, to, signal);
          this.#moved(caller, from, to);
        }),
    });
  }

  /** Within a pool only its name changes, which contains its project. */
  async #moveNow(from: VolumeId, to: VolumeId, signal: AbortSignal): Promise<void> {
    const { records, sagas } = this.#deps;
    if (from.pool === to.pool) return sagas.run(renameVolumeSaga(this.#deps), { from, to }, { signal });
    const snapshots = ownedBy(records, 'volumeSnapshots', readyVolume(records, from).uuid);
    return sagas.run(moveVolumeSaga(this.#deps), { from, to, snapshots }, { signal });
  }

  #checkTarget(from: VolumeId, to: VolumeId): void {
    const { records } = this.#deps;
    findVolume(this.#deps, from);
    this.#deps.pools.use(to.pool);
    if (records.volumes.has(volumeKey(to))) throw errors.exists('storage volume', volumeKey(to));
    checkName('storage volume', plainName(to.name), volumeName);
    refuseLeavingUsers(records, from, to);
    const count = containersUsing(records, from).length + profilesUsing(records, from).length;
    if (count > maxUsers)
      throw errors.badRequest(
        `The storage volume ${volumeKey(from)} has ${count} users; at most ${maxUsers} can follow it`,
      );
  }

  #moved(caller: Caller, from: VolumeId, to: VolumeId): void {
    const [before, after] = [projectOf(from.name), projectOf(to.name)];
    const context = {
      new_name: plainName(to.name),
      ...(from.pool === to.pool ? {} : { new_pool: to.pool }),
      ...(before === after ? {} : { new_project: after }),
    };
    this.#deps.events.lifecycle('storage-volume-renamed', customUrl(from), caller, context);
  }
}

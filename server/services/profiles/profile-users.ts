// The containers that use a profile: checks whether they accept a change of it, and applies it to them.
import type { ServiceParts } from '../shared/service-parts.ts';
import { plainName } from '../../api/project/project-names.ts';
import { rootDisk } from '../../api/devices/index.ts';
import { errors } from '../../api/errors.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { ProfileDocument } from '../../records/documents.ts';
import { applyLive, applyRootSize } from '../containers/update/update.ts';
import { newlyShared } from '../containers/shared/draft.ts';
import type { IdMaps } from '../containers/shared/id-maps.ts';
import type { GuestAccess } from '../containers/guest-access.ts';
import type { RunningDevices } from '../containers/devices/running-devices.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';
import { renewedInstanceId } from '../containers/shared/instance-id.ts';
import { expand, type ExpandedSettings } from '../shared/expand.ts';
import { profilesOf } from '../shared/project-scope.ts';
import type { Pools } from '../storage/pools.ts';
import { othersWith } from '../shared/other-users.ts';
import { usersOfProfile } from './rename.ts';
export interface ProfileUsersDeps extends Pick<ServiceParts, 'records' | 'runtime' | 'log'> {
  readonly view: ContainerView;
  readonly idMaps: IdMaps;
  readonly running: RunningDevices;
  readonly guests: GuestAccess;
  readonly pools: Pools;
}

export class ProfileUsers {
  readonly #deps: ProfileUsersDeps;

  constructor(deps: ProfileUsersDeps) {
    this.#deps = deps;
  }

  here(name: string): readonly ContainerEntry[] {
    return usersOfProfile(this.#deps.records, name);
  }

  /** Containers of other members of the cluster. */
  elsewhere(name: string) {
    return othersWith(this.#deps.records, 'profile', name);
  }

  /** The root disk of a container that uses the profile must stay in the pool of its files; its id map must be possible. */
  check(name: string, wanted: ProfileDocument): void {
    const broken = [...this.here(name), ...this.elsewhere(name)].flatMap((user) => {
      const found = profilesOf(this.#deps.records, user.name);
      const expanded = expand(user.document, (profile) => (profile === plainName(name) ? wanted : found(profile)));
      const shared = newlyShared(expanded.devices, this.#deps.view.expanded(user).devices);
      if (shared.length > 0)
        return shared.map(({ path, message }) => ({
          path,
          message: `in the container ${plainName(user.name)} ${message}`,
        }));
      const pool = rootDisk(expanded.devices)?.pool;
      if (pool === user.document.pool) return [];
      const now =
        pool === undefined
          ? 'would have no root disk'
          : `would have its root disk in pool ${pool} instead of ${user.document.pool}`;
      return [{ path: 'devices', message: `the container ${user.name} ${now}` }];
    });
    if (broken.length > 0) throw errors.invalid(`profile ${name}`, broken.slice(0, 20));
    for (const user of this.here(name)) {
      this.#deps.idMaps.check(user.name, user.document, new Map([[plainName(name), wanted]]));
    }
  }

  /** Returns the failures, by container. */
  async apply(
    users: readonly ContainerEntry[],
    before: ReadonlyMap<string, ExpandedSettings>,
  ): Promise<readonly string[]> {
    const failures: string[] = [];
    for (const { name } of users) {
      try {
        await this.#renewIdentity(name, before.get(name));
        await this.#deps.idMaps.refresh(name);
        await this.#deps.running.applyLocked(name);
        await applyLive(this.#deps, name, before.get(name)?.config ?? {});
        await applyRootSize(this.#deps, name, before.get(name)?.devices ?? {}, { mustHold: true });
      } catch (error) {
        failures.push(`${name} (${errorText(error)})`);
      }
    }
    return failures;
  }

  /** For cloud-init, which reads config of profiles. */
  async #renewIdentity(name: string, before: ExpandedSettings | undefined): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      const document = records.containers.get(name)?.document;
      if (document?.lifecycle !== 'ready' || before === undefined) return;
      const after = expand(document, profilesOf(records, name));
      const config = renewedInstanceId(document.config, before, after);
      if (config !== document.config) changes.put('containers', name, { ...document, config });
    });
  }

  /** Running containers here follow profile changes by other members of the cluster. */
  follow(): () => void {
    const { records } = this.#deps;
    const seen = new Map(records.profiles.list().map((entry) => [entry.name, entry.document]));
    return records.onShared((kind, name) => {
      if (kind !== 'profiles') return;
      const former = seen.get(name);
      const now = records.profiles.get(name)?.document;
      if (now === undefined) seen.delete(name);
      else seen.set(name, now);
      if (former === undefined || now === undefined) return;
      const users = this.here(name);
      const before = new Map(
        users.map((user) => {
          const found = profilesOf(records, user.name);
          return [user.name, expand(user.document, (one) => (one === plainName(name) ? former : found(one)))] as const;
        }),
      );
      void this.#followLive(name, users, before);
    });
  }

  async #followLive(
    name: string,
    users: readonly ContainerEntry[],
    before: ReadonlyMap<string, ExpandedSettings>,
  ): Promise<void> {
    for (const failure of await this.apply(users, before))
      this.#deps.log.error(`The changed profile ${name} could not be applied to ${failure}`);
  }
}

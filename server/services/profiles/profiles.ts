// Profiles: use cases of the API, and passing a change on to the containers that use it.
import { profileName } from '../../api/names.ts';
import { containerUrl, plainName, profileUrl, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { Profile, ProfileCreate, ProfilePut } from '../../api/container/profile.ts';
import { validateContainerConfig } from '../../api/container/container-config.ts';
import { rawLxcProblems } from '../../api/container/raw-lxc.ts';
import { rootDisk, validateDevices } from '../../api/devices/index.ts';
import { errors } from '../../api/errors.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Sagas } from '../../operations/saga.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { ProfileDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { Caller } from '../caller.ts';
import { applyLive, applyRootSize } from '../containers/life/update.ts';
import { newlyShared } from '../containers/life/draft.ts';
import type { IdMaps } from '../containers/life/id-maps.ts';
import type { GuestAccess } from '../containers/guest-access.ts';
import type { RunningDevices } from '../containers/devices/running-devices.ts';
import type { ContainerEntry, ContainerView } from '../containers/view.ts';
import { checkIfMatch, etagOf } from '../etag.ts';
import { expand, type Expanded } from '../expand.ts';
import { ofProject, profileIn, profilesOf, projectWith, requireProject } from '../project-scope.ts';
import { mergeConfig, mergeDevices, replaceConfig, replaceDevices } from '../patch.ts';
import type { Pools } from '../storage/pools.ts';
import { othersWith } from '../other-users.ts';
import { maxUsersPerTransaction, moveNames, namingProfile, usersOfProfile } from './rename.ts';
import { renameProfileSaga } from './sagas/profile-rename.ts';

export interface ProfilesDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
  readonly view: ContainerView;
  readonly idMaps: IdMaps;
  readonly running: RunningDevices;
  readonly guests: GuestAccess;
  readonly pools: Pools;
  readonly sagas: Sagas;
  readonly events: EventHub;
  readonly log: Log;
}

export const defaultProfile = 'default';

export class Profiles {
  readonly #deps: ProfilesDeps;

  constructor(deps: ProfilesDeps) {
    this.#deps = deps;
  }

  /** Every server has the profile `default`. */
  async ensureDefault(): Promise<void> {
    if (this.#deps.records.profiles.has(defaultProfile)) return;
    await this.#deps.records.commit((changes) =>
      changes.put('profiles', defaultProfile, { v: 1, description: 'Default profile', config: {}, devices: {} }),
    );
  }

  /** Qualified names of the profiles that objects of this project may have; without one, of all. */
  names(project: string | undefined): readonly string[] {
    return this.#of(project).map((entry) => entry.name);
  }

  list(project: string | undefined): readonly Profile[] {
    const { records } = this.#deps;
    const users = new Map<string, string[]>();
    for (const { name, document } of records.containers.list()) {
      for (const profile of document.profiles) {
        const found = profileIn(records, projectOf(name), profile);
        const urls = users.get(found) ?? [];
        urls.push(containerUrl(name));
        users.set(found, urls);
      }
    }
    const urls = (name: string): readonly string[] =>
      [...(users.get(name) ?? []), ...this.#usersElsewhere(name).map((entry) => containerUrl(entry.name))].toSorted();
    return this.#of(project).map((entry) => render(entry, urls(entry.name)));
  }

  #of(project: string | undefined): readonly Entry<ProfileDocument>[] {
    const { records } = this.#deps;
    if (project === undefined) return records.profiles.list();
    return ofProject(records.profiles.list(), projectWith(records, project, 'features.profiles'));
  }

  get(name: string): { readonly object: Profile; readonly etag: string } {
    const entry = this.#find(name);
    const users = [...this.#users(name), ...this.#usersElsewhere(name)].map((user) => containerUrl(user.name));
    return { object: render(entry, users), etag: etagOf.profile(entry.document) };
  }

  async create(caller: Caller, body: ProfileCreate): Promise<void> {
    const rule = profileName(body.name);
    if (rule !== undefined) throw errors.invalidName('profile', body.name, rule);
    const name = profileIn(this.#deps.records, caller.project, body.name);
    const document: ProfileDocument = {
      v: 1,
      description: body.description ?? '',
      config: replaceConfig(body.config),
      devices: replaceDevices(body.devices),
    };
    checkProfile(name, document);
    await this.#deps.records.retry((changes) => {
      if (this.#deps.records.profiles.has(name)) throw errors.exists('profile', name);
      requireProject(this.#deps.records, changes, name);
      changes.put('profiles', name, document);
    });
    this.#deps.events.lifecycle('profile-created', profileUrl(name), undefined, caller.requestor);
  }

  put(caller: Caller, name: string, body: ProfilePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, () => ({
      v: 1,
      description: body.description ?? '',
      config: replaceConfig(body.config),
      devices: replaceDevices(body.devices),
    }));
  }

  patch(caller: Caller, name: string, body: ProfilePut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => ({
      v: 1,
      description: body.description ?? document.description,
      config: mergeConfig(document.config, body.config),
      devices: mergeDevices(document.devices, body.devices),
    }));
  }

  /** Containers and their snapshots follow: in the same transaction where that has room for them, else batch by batch. */
  async rename(caller: Caller, name: string, newName: string): Promise<void> {
    if (plainName(name) === defaultProfile) throw errors.protectedObject('The default profile cannot be renamed');
    this.#find(name);
    const elsewhere = this.#usersElsewhere(name).map((user) => user.name);
    if (elsewhere.length > 0)
      throw errors.badRequest(
        `The profile ${plainName(name)} cannot be renamed: containers of other cluster members use it (${elsewhere.slice(0, 3).join(', ')})`,
      );
    const rule = profileName(newName);
    if (rule !== undefined) throw errors.invalidName('profile', newName, rule);
    const to = qualifiedName(projectOf(name), newName);
    if (this.#deps.records.profiles.has(to)) throw errors.exists('profile', newName);
    if (namingProfile(this.#deps.records, name).length > maxUsersPerTransaction) {
      const context = { signal: new AbortController().signal, progress: () => {} };
      await this.#deps.sagas.run(renameProfileSaga(this.#deps), { name, to }, context);
    } else await this.#renameAtOnce(name, to);
    this.#deps.events.lifecycle('profile-renamed', profileUrl(name), { new_name: newName }, caller.requestor);
  }

  async #renameAtOnce(name: string, to: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      if (this.#deps.records.profiles.has(to)) throw errors.exists('profile', to);
      changes.delete('profiles', name);
      changes.put('profiles', to, document);
      moveNames(changes, namingProfile(this.#deps.records, name), name, to);
    });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    if (plainName(name) === defaultProfile) throw errors.protectedObject('The default profile cannot be deleted');
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      const users = [...this.#users(name), ...this.#usersElsewhere(name)].map((user) => user.name);
      if (users.length > 0) throw errors.inUse('profile', name, users);
      changes.delete('profiles', name);
    });
    this.#deps.events.lifecycle('profile-deleted', profileUrl(name), undefined, caller.requestor);
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: ProfileDocument) => ProfileDocument,
  ): Promise<void> {
    this.#find(name);
    const users = this.#users(name);
    const before = new Map(users.map((user) => [user.name, this.#deps.view.expanded(user)]));
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.profile(document), 'profile', name);
      const wanted = next(document);
      checkProfile(name, wanted, document);
      this.#checkUsers(name, wanted);
      changes.put('profiles', name, wanted);
    });
    this.#deps.events.lifecycle('profile-updated', profileUrl(name), undefined, caller.requestor);
    const failures = await this.#applyLive(users, before);
    if (failures.length > 0) {
      throw errors.internal(`The profile ${name} was saved, but could not be applied to: ${failures.join('; ')}`);
    }
  }

  async #applyLive(
    users: readonly ContainerEntry[],
    before: ReadonlyMap<string, Expanded>,
  ): Promise<readonly string[]> {
    const failures: string[] = [];
    for (const { name } of users) {
      try {
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

  /** The root disk of a container that uses the profile must stay in the pool where its files are; its id map must be possible. */
  #checkUsers(name: string, wanted: ProfileDocument): void {
    const broken = [...this.#users(name), ...this.#usersElsewhere(name)].flatMap((user) => {
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
    for (const user of this.#users(name)) {
      this.#deps.idMaps.check(user.name, user.document, new Map([[plainName(name), wanted]]));
    }
  }

  /** Containers of other members of the cluster. */
  #usersElsewhere(name: string) {
    return othersWith(this.#deps.records, 'profile', name);
  }

  /** From now on containers that run here follow changes of profiles that other members of the cluster make. */
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
      const users = this.#users(name);
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
    before: ReadonlyMap<string, Expanded>,
  ): Promise<void> {
    for (const failure of await this.#applyLive(users, before))
      this.#deps.log.error(`The changed profile ${name} could not be applied to ${failure}`);
  }

  #users(name: string): readonly ContainerEntry[] {
    return usersOfProfile(this.#deps.records, name);
  }

  #find(name: string): Entry<ProfileDocument> {
    const entry = this.#deps.records.profiles.get(name);
    if (entry === undefined) throw errors.notFound('profile', name);
    return entry;
  }
}

/** Entries that stay as they are in `previous` pass: an older choice must not block an unrelated change. */
function checkProfile(name: string, document: ProfileDocument, previous?: ProfileDocument): void {
  const problems = [
    ...validateContainerConfig(document.config, { profile: true }),
    ...rawLxcProblems(document.config, previous?.config),
    ...validateDevices(document.devices),
  ];
  if (problems.length > 0) throw errors.invalid(`profile ${name}`, problems);
}

function render({ name, document }: Entry<ProfileDocument>, usedBy: readonly string[]): Profile {
  return {
    name: plainName(name),
    description: document.description,
    config: { ...document.config },
    devices: { ...document.devices },
    used_by: [...usedBy],
  };
}

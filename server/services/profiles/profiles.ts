// Profiles: the use cases of the API.
import { refuseUnmountable } from '../containers/devices/block-sources.ts';
import { profileName } from '../../api/names.ts';
import { containerUrl, plainName, profileUrl, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { Profile, ProfileCreate, ProfilePut } from '../../api/container/profile.ts';
import { containerConfigKey, validateContainerConfig } from '../../api/container/container-config.ts';
import { rawLxcProblems } from '../../api/container/raw-lxc.ts';
import { validateDevices } from '../../api/devices/index.ts';
import { errors, mustFind, checkName } from '../../api/errors.ts';
import { newProblems } from '../../api/problem.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Sagas } from '../../operations/saga.ts';
import type { ProfileDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import { readSagaParams } from '../../records/saga-params.ts';
import { filterProblems, networkProblems } from '../containers/shared/draft-problems.ts';
import { uselessAddresses } from '../networks/nic-addresses.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { ofProject, profileIn, projectWith, requireProject } from '../shared/project-scope.ts';
import { mergeConfig, mergeDevices, replaceConfig, replaceDevices } from '../shared/patch.ts';
import { maxUsersPerTransaction, moveNames, namingProfile, type ProfileRename } from './rename.ts';
import { renameProfileSaga } from './sagas/profile-rename.ts';
import { ProfileUsers, type ProfileUsersDeps } from './profile-users.ts';

export interface ProfilesDeps extends ProfileUsersDeps {
  readonly sagas: Sagas;
  readonly events: EventHub;
}

export const defaultProfile = 'default';

export class Profiles {
  readonly #deps: ProfilesDeps;
  readonly #users: ProfileUsers;

  constructor(deps: ProfilesDeps) {
    this.#deps = deps;
    this.#users = new ProfileUsers(deps);
  }

  /** Every server has the profile `default`. */
  async ensureDefault(): Promise<void> {
    if (this.#deps.records.profiles.has(defaultProfile)) return;
    await this.#deps.records.commit((changes) =>
      changes.put('profiles', defaultProfile, { v: 1, description: 'Default profile', config: {}, devices: {} }),
    );
  }

  /** Qualified names of the profiles that the project's objects may have; without a project, of all. */
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
      [...(users.get(name) ?? []), ...this.#users.elsewhere(name).map((entry) => containerUrl(entry.name))].toSorted();
    return this.#of(project).map((entry) => render(entry, urls(entry.name)));
  }

  #of(project: string | undefined): readonly Entry<ProfileDocument>[] {
    const { records } = this.#deps;
    if (project === undefined) return records.profiles.list();
    return ofProject(records.profiles.list(), projectWith(records, project, 'features.profiles'));
  }

  get(name: string): { readonly object: Profile; readonly etag: string } {
    const entry = this.#find(name);
    const users = [...this.#users.here(name), ...this.#users.elsewhere(name)].map((user) => containerUrl(user.name));
    return { object: render(entry, users), etag: etagOf.profile(entry.document) };
  }

  async create(caller: Caller, body: ProfileCreate): Promise<void> {
    checkName('profile', body.name, profileName);
    const name = profileIn(this.#deps.records, caller.project, body.name);
    const document: ProfileDocument = {
      v: 1,
      description: body.description ?? '',
      config: replaceConfig(body.config, containerConfigKey),
      devices: replaceDevices(body.devices),
    };
    checkProfile(this.#deps.records, name, document);
    await refuseUnmountable(this.#deps, name, document.devices);
    await this.#deps.records.retry((changes) => {
      if (this.#deps.records.profiles.has(name)) throw errors.exists('profile', name);
      requireProject(this.#deps.records, changes, name, 'features.profiles');
      changes.put('profiles', name, document);
    });
    this.#deps.events.lifecycle('profile-created', profileUrl(name), caller);
  }

  async put(caller: Caller, name: string, body: ProfilePut, ifMatch: string | undefined): Promise<void> {
    await this.#checkDevices(name, body);
    return this.#change(caller, name, ifMatch, (document) => ({
      v: 1,
      description: body.description ?? '',
      config: replaceConfig(body.config, containerConfigKey, document.config),
      devices: replaceDevices(body.devices),
    }));
  }

  async patch(caller: Caller, name: string, body: ProfilePut, ifMatch: string | undefined): Promise<void> {
    await this.#checkDevices(name, body);
    return this.#change(caller, name, ifMatch, (document) => ({
      v: 1,
      description: body.description ?? document.description,
      config: mergeConfig(document.config, body.config, containerConfigKey),
      devices: mergeDevices(document.devices, body.devices),
    }));
  }

  #checkDevices(name: string, { devices }: Pick<ProfilePut, 'devices'>): Promise<void> {
    return refuseUnmountable(this.#deps, name, replaceDevices(devices), this.#find(name).document.devices);
  }

  /** A profile that takes its name before the change ends would get its containers. */
  #refuseRenamed(name: string): void {
    const changes = this.#deps.records.sagas.list().map(({ document }) => readSagaParams(document));
    const isRename = (one: (typeof changes)[number]): boolean =>
      'kind' in one && one.kind === 'profile-rename' && (one.params as ProfileRename).name === name;
    if (changes.some(isRename))
      throw errors.badRequest(`The profile ${plainName(name)} is being renamed: try again when that has ended`);
  }

  /** Updates containers and their snapshots: in the same transaction if they fit, otherwise in batches. */
  async rename(caller: Caller, name: string, newName: string): Promise<void> {
    if (plainName(name) === defaultProfile) throw errors.protectedObject('The default profile cannot be renamed');
    this.#find(name);
    this.#refuseRenamed(name);
    this.#refuseUsedOnOthers(name);
    checkName('profile', newName, profileName);
    const to = qualifiedName(projectOf(name), newName);
    if (this.#deps.records.profiles.has(to)) throw errors.exists('profile', newName);
    if (namingProfile(this.#deps.records, name).length > maxUsersPerTransaction) {
      const context = { signal: new AbortController().signal, progress: () => {} };
      await this.#deps.sagas.run(renameProfileSaga(this.#deps), { name, to }, context);
    } else await this.#renameAtOnce(name, to);
    this.#deps.events.lifecycle('profile-renamed', profileUrl(name), caller, { new_name: newName });
  }

  /** Each member writes only the records of its own containers. */
  #refuseUsedOnOthers(name: string): void {
    const elsewhere = this.#users.elsewhere(name).map((user) => plainName(user.name));
    if (elsewhere.length > 0)
      throw errors.badRequest(
        `The profile ${plainName(name)} cannot be renamed: containers of other cluster members use it (${elsewhere.slice(0, 3).join(', ')}). Make a profile with the new name, give it to them, and delete this one`,
      );
  }

  async #renameAtOnce(name: string, to: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      this.#refuseUsedOnOthers(name);
      if (this.#deps.records.profiles.has(to)) throw errors.exists('profile', to);
      changes.delete('profiles', name);
      changes.put('profiles', to, document);
      moveNames(changes, namingProfile(this.#deps.records, name), name, to);
    });
  }

  /** Running containers here follow profile changes by other members of the cluster. */
  follow(): () => void {
    return this.#users.follow();
  }

  async delete(caller: Caller, name: string): Promise<void> {
    if (plainName(name) === defaultProfile) throw errors.protectedObject('The default profile cannot be deleted');
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      this.#refuseRenamed(name);
      const users = [...this.#users.here(name), ...this.#users.elsewhere(name)].map((user) => user.name);
      if (users.length > 0) throw errors.inUse('profile', name, users);
      changes.delete('profiles', name);
    });
    this.#deps.events.lifecycle('profile-deleted', profileUrl(name), caller);
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: ProfileDocument) => ProfileDocument,
  ): Promise<void> {
    this.#find(name);
    const users = this.#users.here(name);
    const before = new Map(users.map((user) => [user.name, this.#deps.view.expanded(user)]));
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.profile(document), 'profile', name);
      const wanted = next(document);
      checkProfile(this.#deps.records, name, wanted, document);
      this.#users.check(name, wanted);
      changes.put('profiles', name, wanted);
    });
    this.#deps.events.lifecycle('profile-updated', profileUrl(name), caller);
    const failures = await this.#users.apply(users, before);
    if (failures.length > 0) {
      throw errors.internal(`The profile ${name} was saved, but could not be applied to: ${failures.join('; ')}`);
    }
  }

  #find(name: string): Entry<ProfileDocument> {
    return mustFind(this.#deps.records.profiles.get(name), 'profile', name);
  }
}

/** Entries unchanged from `previous` pass: an older choice must not block an unrelated change. */
function checkProfile(
  records: ProfilesDeps['records'],
  name: string,
  document: ProfileDocument,
  previous?: ProfileDocument,
): void {
  const problems = [
    ...validateContainerConfig(document.config, { profile: true }),
    ...rawLxcProblems(document.config, previous?.config),
    ...validateDevices(document.devices),
    ...uselessAddresses(records, document.devices, previous?.devices),
    ...newProblems(
      (devices) => [...networkProblems(records, devices), ...filterProblems(records, devices)],
      document.devices,
      previous?.devices,
    ),
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

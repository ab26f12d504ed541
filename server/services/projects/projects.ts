// Projects: use cases of the API.
import { errors, mustFind } from '../../api/errors.ts';
import { projectName } from '../../api/names.ts';
import type { Operation } from '../../api/operation.ts';
import type { Problem } from '../../api/problem.ts';
import { findProjectConfigKey } from '../../api/project/project-config.ts';
import { defaultProject, projectUrl, qualifiedName } from '../../api/project/project-names.ts';
import type { Project, ProjectCreate, ProjectPut, ProjectState } from '../../api/project/project.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { ProjectDocument } from '../../records/documents.ts';
import type { Changes, Entry, Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import type { RunningDevices } from '../containers/devices/running-devices.ts';
import { missingPackers } from '../shared/compression.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { ofProject } from '../shared/project-scope.ts';
import { patchDescribed, putDescribed, replaceConfig } from '../shared/patch.ts';
import { blockers, contentsOf, contentsOfAll, usedByOf, type ProjectObject } from './contents.ts';
import { moveGrants } from './grants.ts';
import { renameProject, type RenameProjectDeps } from './rename.ts';
import { stateOf } from '../limits/state.ts';
import { changedFeatures, configProblems, defaultConfig, withDefaults } from './features.ts';

export type ProjectsDeps = RenameProjectDeps & { readonly running: Pick<RunningDevices, 'applyAll'> };

export class Projects {
  readonly #deps: ProjectsDeps;

  constructor(deps: ProjectsDeps) {
    this.#deps = deps;
  }

  /** Every server has the project `default`. */
  async ensureDefault(): Promise<void> {
    if (this.#deps.records.projects.has(defaultProject)) return;
    await this.#deps.records.commit((changes) =>
      changes.put('projects', defaultProject, {
        v: 1,
        description: 'Default project',
        config: defaultConfig,
        lifecycle: 'ready',
      }),
    );
  }

  names(): readonly string[] {
    return this.#deps.records.projects.list().map((entry) => entry.name);
  }

  list(): readonly Project[] {
    const contents = contentsOfAll(this.#deps.records);
    return this.#deps.records.projects.list().map((entry) => render(entry, contents.get(entry.name) ?? []));
  }

  get(name: string): { readonly object: Project; readonly etag: string } {
    const entry = this.#find(name);
    return { object: render(entry, contentsOf(this.#deps.records, name)), etag: etagOf.project(entry.document) };
  }

  state(name: string): ProjectState {
    this.#find(name);
    return stateOf(this.#deps.records, name);
  }

  async create(caller: Caller, body: ProjectCreate): Promise<void> {
    const { records } = this.#deps;
    const { name } = body;
    const config = withDefaults(replaceConfig(body.config, findProjectConfigKey));
    const rule = projectName(name);
    const problems: readonly Problem[] = [
      ...(rule === undefined ? [] : [{ path: 'name', message: rule }]),
      ...configProblems(config),
      ...(await missingPackers(config, {})),
    ];
    if (problems.length > 0) throw errors.invalid(`project ${JSON.stringify(name)}`, problems);
    await records.retry((changes) => {
      if (records.projects.has(name)) throw errors.exists('project', name);
      changes.put('projects', name, { v: 1, description: body.description ?? '', config, lifecycle: 'ready' });
      keepOwnProfile(records, changes, name, config);
    });
    this.#deps.events.lifecycle('project-created', projectUrl(name), caller);
  }

  put(caller: Caller, name: string, body: ProjectPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => putDescribed(document, body, findProjectConfigKey));
  }

  patch(caller: Caller, name: string, body: ProjectPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => patchDescribed(document, body, findProjectConfigKey));
  }

  /** Renames everything in it, too. */
  rename(caller: Caller, name: string, to: string): Operation {
    return renameProject(this.#deps, caller, name, to);
  }

  async delete(caller: Caller, name: string): Promise<void> {
    const { records } = this.#deps;
    if (name === defaultProject) throw errors.protectedObject('The project default cannot be deleted');
    await records.retry((changes) => {
      this.#ready(name);
      const users = blockers(records, name);
      if (users.length > 0) throw errors.inUse('project', name, users);
      changes.delete('projects', name);
      const profile = qualifiedName(name, 'default');
      if (records.profiles.has(profile)) changes.delete('profiles', profile);
      moveGrants(records, changes, name);
    });
    this.#deps.events.lifecycle('project-deleted', projectUrl(name), caller);
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: ProjectDocument) => ProjectDocument,
  ): Promise<void> {
    const { records } = this.#deps;
    const { document: before } = this.#ready(name);
    const missing = await missingPackers(next(before).config, before.config);
    await records.retry((changes) => {
      const { document } = this.#ready(name);
      checkIfMatch(ifMatch, etagOf.project(document), 'project', name);
      const wanted = next(document);
      const problems = [...configProblems(wanted.config, document.config), ...missing];
      if (problems.length > 0) throw errors.invalid(`project ${name}`, problems);
      this.#checkFeatures(changes, name, document.config, wanted.config);
      changes.put('projects', name, wanted);
      if (name !== defaultProject) keepOwnProfile(records, changes, name, wanted.config);
    });
    await this.#applyTo(name);
    this.#deps.events.lifecycle('project-updated', projectUrl(name), caller);
  }

  /** Running containers here follow project changes by other members of the cluster. */
  follow(): () => void {
    return this.#deps.records.onShared((kind, name) => {
      if (kind === 'projects') void this.#applyTo(name);
    });
  }

  /** Filters of nics depend on their project's restrictions. */
  #applyTo(project: string): Promise<void> {
    const { records, running } = this.#deps;
    return running.applyAll(ofProject(records.containers.list(), project).map(({ name }) => name));
  }

  /** A change would hide objects of the project, or show others in it. */
  #checkFeatures(changes: Changes, name: string, before: ConfigMap, after: ConfigMap): void {
    const features = changedFeatures(before, after);
    if (features.length === 0) return;
    const refuse = (why: string) =>
      errors.invalid(
        `project ${name}`,
        features.map((key) => ({ path: `config.${key}`, message: why })),
      );
    if (name === defaultProject) throw refuse('cannot change in the project default, whose objects others share');
    const users = blockers(this.#deps.records, name);
    if (users.length > 0)
      throw refuse(`changes only while the project is empty: it has ${users.slice(0, 5).join(', ')}`);
    // Nothing may be on its way into it.
    changes.claim('projects', name);
  }

  #find(name: string): Entry<ProjectDocument> {
    return mustFind(this.#deps.records.projects.get(name), 'project', name);
  }

  #ready(name: string): Entry<ProjectDocument> {
    const entry = this.#find(name);
    if (entry.document.lifecycle !== 'ready')
      throw errors.unavailable(`The project ${name} is being renamed; try again`);
    return entry;
  }
}

/** A project with its own profiles has a `default` one, without devices. */
function keepOwnProfile(records: Records, changes: Changes, project: string, config: ConfigMap): void {
  const name = qualifiedName(project, 'default');
  const isThere = records.profiles.has(name);
  const isWanted = isTrue(config['features.profiles']);
  if (isThere && !isWanted) changes.delete('profiles', name);
  if (isThere || !isWanted) return;
  changes.put('profiles', name, {
    v: 1,
    description: `Default profile of the project ${project}`,
    config: {},
    devices: {},
  });
}

function render({ name, document }: Entry<ProjectDocument>, contents: readonly ProjectObject[]): Project {
  return { name, description: document.description, config: { ...document.config }, used_by: usedByOf(contents) };
}

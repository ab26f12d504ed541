// Renders stored containers for clients: profiles applied, live status added. Reads only.
import type { Container, ContainerState } from '../../api/container/container.ts';
import { rootDisk } from '../../api/devices/index.ts';
import type { Snapshot } from '../../api/container/snapshot.ts';
import { statusCodes, statusTexts, type StatusCode } from '../../api/status.ts';
import type { RuntimeDriver, RuntimeMetrics } from '../../drivers/runtime/driver.ts';
import { keepJson } from '../../lib/cached-json.ts';
import { isLong, LongList } from '../../lib/shared/long-list.ts';
import type { ContainerDocument, SnapshotDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import type { OtherEntry } from '../../records/other-members.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { expand, type ExpandedSettings } from './expand.ts';
import { ofProject, profilesOf } from './project-scope.ts';

export type ContainerEntry = Entry<ContainerDocument>;

/** Facts about containers of other cluster members. */
export interface ContainerPlaces {
  /** Name of this member; `none` without a cluster. */
  readonly ownName: string;
  readonly members: { nameOf(member: number): string; statusOf(member: number, container: string): StatusCode };
}

export interface ContainerViewDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
  /** Default: there is no cluster. */
  readonly places?: ContainerPlaces;
  /** Bytes of the root volume in the pool, if known without reading it. */
  readonly rootUse?: (pool: string, container: string) => Promise<number | undefined>;
}

/** A recorded container of this member or another one. */
type AnyEntry = Pick<ContainerEntry, 'name' | 'document'>;

export class ContainerView {
  readonly #deps: ContainerViewDeps;
  /** The expansion is cached per entry until a profile changes. */
  #expanded = new WeakMap<AnyEntry, ExpandedSettings>();
  #profilesGeneration = -1;
  /** The rendered form of an entry; cached until its expansion or status changes. */
  readonly #rendered = new WeakMap<AnyEntry, { readonly expanded: ExpandedSettings; readonly object: Container }>();
  /** The containers of all members in order of name, cached until one of them changes. */
  #sorted:
    | {
        readonly own: number;
        readonly others: number;
        readonly all: readonly (ContainerEntry | OtherEntry<ContainerDocument>)[];
      }
    | undefined;
  readonly #lists = new Map<string | undefined, WeakRef<readonly Container[]>>();
  /** Set during an action, so that readers see Starting, Stopping … */
  readonly #transient = new Map<string, StatusCode>();

  constructor(deps: ContainerViewDeps) {
    this.#deps = deps;
  }

  expanded(entry: AnyEntry): ExpandedSettings {
    const { profiles } = this.#deps.records;
    if (profiles.generation !== this.#profilesGeneration) {
      this.#expanded = new WeakMap();
      this.#profilesGeneration = profiles.generation;
    }
    let expanded = this.#expanded.get(entry);
    if (expanded === undefined) {
      expanded = expand(entry.document, profilesOf(this.#deps.records, entry.name));
      this.#expanded.set(entry, expanded);
    }
    return expanded;
  }

  async during<T>(name: string, status: StatusCode, work: () => Promise<T>): Promise<T> {
    this.#transient.set(name, status);
    try {
      return await work();
    } finally {
      this.#transient.delete(name);
    }
  }

  statusCode(name: string): StatusCode {
    return this.#transient.get(name) ?? this.runtimeStatusCode(name);
  }

  /** The runtime's status, without actions in progress. */
  runtimeStatusCode(name: string): StatusCode {
    const { status } = this.#deps.runtime.probe(name);
    if (status === 'stopped') return statusCodes.stopped;
    return status === 'frozen' ? statusCodes.frozen : statusCodes.running;
  }

  /** Returns the same object until it changes, so that its JSON is made once. */
  render(entry: ContainerEntry): Container {
    return this.#render(entry, this.statusCode(entry.name), this.#deps.places?.ownName ?? 'none');
  }

  renderOther(entry: OtherEntry<ContainerDocument>): Container {
    const { members } = this.#deps.places ?? noPlaces;
    return this.#render(entry, members.statusOf(entry.member, entry.name), members.nameOf(entry.member));
  }

  #render(entry: AnyEntry, code: StatusCode, location: string): Container {
    const expanded = this.expanded(entry);
    const last = this.#rendered.get(entry)?.object;
    const isSame = last?.status_code === code && last.location === location;
    if (isSame && this.#rendered.get(entry)?.expanded === expanded) return last;
    const object = keepJson(renderContainer(entry, expanded, code, location));
    this.#rendered.set(entry, { expanded, object });
    return object;
  }

  /** The containers of a project, or of all, in order of name. A short list is the same as long as its members are the same; it is held
   *  weakly, so that an idle daemon frees its memory. */
  renderAll(project: string | undefined): readonly Container[] | LongList<Container> {
    const entries = this.#all(project);
    const rendered = (entry: (typeof entries)[number]): Container =>
      'member' in entry ? this.renderOther(entry) : this.render(entry);
    if (isLong(entries)) return LongList.of(entries, rendered);
    const objects = entries.map(rendered);
    const last = this.#lists.get(project)?.deref();
    if (last?.length === objects.length && objects.every((object, index) => object === last[index])) return last;
    this.#lists.set(project, new WeakRef(keepJson(objects)));
    return objects;
  }

  /** Qualified names of all members' containers, in order. */
  names(project: string | undefined): readonly string[] {
    return this.#all(project).map(({ name }) => name);
  }

  /** The containers of all members, in order of name. */
  #all(project: string | undefined): readonly (ContainerEntry | OtherEntry<ContainerDocument>)[] {
    const { containers, others } = this.#deps.records;
    const of = <E extends AnyEntry>(all: readonly E[]): readonly E[] =>
      project === undefined ? all : ofProject(all, project);
    const generation = others.generation('containers');
    if (generation === 0) return of(containers.list());
    if (this.#sorted?.own !== containers.generation || this.#sorted.others !== generation) {
      const all = [...containers.list(), ...others.list('containers')].sort((a, b) => (a.name < b.name ? -1 : 1));
      this.#sorted = { own: containers.generation, others: generation, all };
    }
    return of(this.#sorted.all);
  }

  async state(name: string): Promise<ContainerState> {
    const probe = this.#deps.runtime.probe(name);
    const code = this.statusCode(name);
    const disk = await this.#disk(name);
    if (probe.status === 'stopped') return renderState(code, disk, undefined);
    // The container may end between the probe and the read: then it counts as stopped.
    const metrics = await this.#deps.runtime.metrics(name).catch(() => undefined);
    return renderState(metrics === undefined ? this.statusCode(name) : code, disk, metrics);
  }

  async #disk(name: string): Promise<ContainerState['disk']> {
    const entry = this.#deps.records.containers.get(name);
    const root = entry === undefined ? undefined : rootDisk(this.expanded(entry).devices);
    const usage = root?.pool === undefined ? undefined : await this.#deps.rootUse?.(root.pool, name);
    return root === undefined || usage === undefined ? {} : { [root.name]: { usage } };
  }
}

const noPlaces: ContainerPlaces = {
  ownName: 'none',
  members: { nameOf: () => 'none', statusOf: () => statusCodes.error },
};

/** The fields common to containers and their snapshots. */
export const renderFields = (
  document: ContainerDocument | SnapshotDocument,
  expanded: ExpandedSettings,
): Omit<Snapshot, 'name' | 'description' | 'expires_at'> => ({
  architecture: document.architecture,
  profiles: [...document.profiles],
  ephemeral: document.ephemeral,
  config: document.config,
  devices: document.devices,
  expanded_config: expanded.config,
  expanded_devices: expanded.devices,
  created_at: document.createdAt,
  last_used_at: document.lastUsedAt,
  stateful: document.stateful,
});

function renderContainer(
  { name, document }: AnyEntry,
  expanded: ExpandedSettings,
  code: StatusCode,
  location: string,
): Container {
  return {
    name: plainName(name),
    ...renderFields(document, expanded),
    status: statusTexts[code],
    status_code: code,
    description: document.description,
    location,
    project: projectOf(name),
  };
}

function renderState(
  code: StatusCode,
  disk: ContainerState['disk'],
  metrics: RuntimeMetrics | undefined,
): ContainerState {
  const none = { usage: 0, usage_peak: 0, swap_usage: 0, swap_usage_peak: 0 };
  return {
    status: statusTexts[code],
    status_code: code,
    cpu: { usage: metrics?.cpuUsageNs ?? 0 },
    disk,
    memory: { ...(metrics?.memory ?? none) },
    network:
      metrics === undefined ? null : (structuredClone(metrics.network) as NonNullable<ContainerState['network']>),
    pid: metrics?.initPid ?? 0,
    processes: metrics?.processes ?? 0,
  };
}

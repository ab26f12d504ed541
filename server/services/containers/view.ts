// Renders stored containers for clients: profiles applied, live status added. Reads only.
import type { Container, ContainerState } from '../../api/container/container.ts';
import { statusCodes, statusTexts, type StatusCode } from '../../api/status.ts';
import type { RuntimeDriver, RuntimeMetrics } from '../../drivers/runtime/driver.ts';
import { keepJson } from '../../lib/cached-json.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { expand, type Expanded } from '../expand.ts';
import { ofProject, profilesOf } from '../project-scope.ts';

export type ContainerEntry = Entry<ContainerDocument>;

interface Rendered {
  readonly expanded: Expanded;
  readonly object: Container;
}

export interface ContainerViewDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
}

export class ContainerView {
  readonly #deps: ContainerViewDeps;
  /** Expansion is kept per entry until a profile changes. */
  #expanded = new WeakMap<ContainerEntry, Expanded>();
  #profilesGeneration = -1;
  /** What clients last saw of an entry; kept until its expansion or status is another. */
  readonly #rendered = new WeakMap<ContainerEntry, Rendered>();
  readonly #lists = new Map<string | undefined, WeakRef<readonly Container[]>>();
  /** Set while an action is under way, so that readers see Starting, Stopping … */
  readonly #transient = new Map<string, StatusCode>();

  constructor(deps: ContainerViewDeps) {
    this.#deps = deps;
  }

  expanded(entry: ContainerEntry): Expanded {
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
    return this.#transient.get(name) ?? this.settledStatusCode(name);
  }

  /** What the runtime says, without actions under way. */
  settledStatusCode(name: string): StatusCode {
    const { status } = this.#deps.runtime.probe(name);
    if (status === 'stopped') return statusCodes.stopped;
    return status === 'frozen' ? statusCodes.frozen : statusCodes.running;
  }

  /** The same object for as long as nothing of it changes, so that its JSON is made once. */
  render(entry: ContainerEntry): Container {
    const expanded = this.expanded(entry);
    const code = this.statusCode(entry.name);
    const last = this.#rendered.get(entry);
    if (last?.expanded === expanded && last.object.status_code === code) return last.object;
    const object = keepJson(renderContainer(entry, expanded, code));
    this.#rendered.set(entry, { expanded, object });
    return object;
  }

  /** The containers of a project, or of all, in order of name: the same list for as long as it has the same members. It is long, so it is held
   *  weakly: a daemon that nobody asks gives its memory back. */
  renderAll(project: string | undefined): readonly Container[] {
    const all = this.#deps.records.containers.list();
    const objects = (project === undefined ? all : ofProject(all, project)).map((entry) => this.render(entry));
    const last = this.#lists.get(project)?.deref();
    if (last?.length === objects.length && objects.every((object, index) => object === last[index])) return last;
    this.#lists.set(project, new WeakRef(keepJson(objects)));
    return objects;
  }

  async state(name: string): Promise<ContainerState> {
    const probe = this.#deps.runtime.probe(name);
    const code = this.statusCode(name);
    if (probe.status === 'stopped') return renderState(code, undefined);
    // The container may end between the probe and the read; then it is a stopped one.
    const metrics = await this.#deps.runtime.metrics(name).catch(() => undefined);
    return renderState(metrics === undefined ? this.statusCode(name) : code, metrics);
  }
}

function renderContainer({ name, document }: ContainerEntry, expanded: Expanded, code: StatusCode): Container {
  return {
    name: plainName(name),
    architecture: document.architecture,
    profiles: document.profiles as string[],
    ephemeral: document.ephemeral,
    config: document.config,
    devices: document.devices,
    expanded_config: expanded.config,
    expanded_devices: expanded.devices,
    created_at: document.createdAt,
    last_used_at: document.lastUsedAt,
    stateful: document.stateful,
    status: statusTexts[code],
    status_code: code,
    description: document.description,
    location: 'none',
    project: projectOf(name),
  };
}

function renderState(code: StatusCode, metrics: RuntimeMetrics | undefined): ContainerState {
  const none = { usage: 0, usage_peak: 0, swap_usage: 0, swap_usage_peak: 0 };
  return {
    status: statusTexts[code],
    status_code: code,
    cpu: { usage: metrics?.cpuUsageNs ?? 0 },
    disk: {},
    memory: { ...(metrics?.memory ?? none) },
    network:
      metrics === undefined ? null : (structuredClone(metrics.network) as NonNullable<ContainerState['network']>),
    pid: metrics?.initPid ?? 0,
    processes: metrics?.processes ?? 0,
  };
}

// Renders stored containers for clients: profiles applied, live status added. Reads only.
import type { Container, ContainerState } from '../../api/container.ts';
import { statusCodes, statusTexts, type StatusCode } from '../../api/status.ts';
import type { RuntimeDriver, RuntimeMetrics } from '../../drivers/runtime/driver.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Entry, Records } from '../../records/records.ts';
import { expand, type Expanded } from '../expand.ts';

export type ContainerEntry = Entry<ContainerDocument>;

export interface ContainerViewDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
}

export class ContainerView {
  readonly #deps: ContainerViewDeps;
  /** Expansion is kept per entry until a profile changes. */
  #expanded = new WeakMap<ContainerEntry, Expanded>();
  #profilesGeneration = -1;
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
      expanded = expand(entry.document, (name) => profiles.get(name)?.document);
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

  render(entry: ContainerEntry): Container {
    const { name, document } = entry;
    const expanded = this.expanded(entry);
    const code = this.statusCode(name);
    return {
      name,
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
    };
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

// Metrics of this server: of its running containers, its operations, the requests that it answered, and its own process.
import { statfs } from 'node:fs/promises';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { statusTexts } from '../../api/status.ts';
import type { LoopFigures } from '../../lib/event-loop-monitor.ts';
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import type { ContainerView } from '../shared/container-view.ts';
import type { Pools } from '../storage/pools.ts';
import type { Warnings } from '../warnings/warnings.ts';
import { figuresOf, processMetrics, type Running, type RootSpace } from './metric-figures.ts';
import { counted, metricsText, type Metric } from './metrics-text.ts';
import { mapAtMost } from '../../lib/shared/concurrency-limit.ts';

export interface ServerMetricsDeps {
  readonly records: Records;
  readonly view: Pick<ContainerView, 'statusCode'>;
  readonly runtime: Pick<RuntimeDriver, 'probe' | 'metrics'>;
  readonly pools: Pick<Pools, 'volumePath'>;
  readonly operations: Pick<Operations, 'projectsUnderWay'>;
  readonly loop: { readonly figures: LoopFigures };
  readonly warnings: Pick<Warnings, 'activeHere'>;
}

/** Max containers read at the same time. */
const readAtOnce = 32;

export class ServerMetrics {
  readonly #deps: ServerMetricsDeps;
  /** By endpoint, then by HTTP status. */
  readonly #answers = new Map<string, Map<number, number>>();

  constructor(deps: ServerMetricsDeps) {
    this.#deps = deps;
  }

  /** `endpoint` is an id of the endpoint table, so that clients cannot add labels. */
  countAnswer(endpoint: string, status: number): void {
    const byStatus = this.#answers.get(endpoint) ?? new Map<number, number>();
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    this.#answers.set(endpoint, byStatus);
  }

  /** Metrics of the named project, else of all that the caller may see. The server's own metrics require a caller who may see all of it and
   *  named no project. */
  async text({ projects }: Pick<Caller, 'projects'>, project: string | undefined): Promise<string> {
    const wanted = project === undefined ? projects : [project];
    const isSeen = (name: string): boolean => wanted?.includes(name) ?? true;
    const names = this.#deps.records.containers
      .list()
      .map(({ name }) => name)
      .filter((name) => isSeen(projectOf(name)));
    const running = await this.#running(names);
    return metricsText([
      this.#containers(names),
      ...figuresOf(running),
      this.#operations(isSeen, wanted === undefined),
      ...(wanted === undefined ? [this.#requests(), this.#warnings(), ...processMetrics(this.#deps.loop.figures)] : []),
    ]);
  }

  async #running(names: readonly string[]): Promise<readonly Running[]> {
    const read = await mapAtMost(readAtOnce, names, (name) => this.#figures(name));
    return read.filter((one) => one !== undefined);
  }

  /** Undefined if it does not run, or ends during the read. */
  async #figures(name: string): Promise<Running | undefined> {
    const { runtime, pools, records } = this.#deps;
    if (runtime.probe(name).status === 'stopped') return undefined;
    const metrics = await runtime.metrics(name).catch(() => undefined);
    if (metrics === undefined) return undefined;
    const pool = records.containers.get(name)?.document.pool;
    const space = pool === undefined ? undefined : await rootSpace(pools.volumePath(pool, { type: 'container', name }));
    const known = { name: plainName(name), project: projectOf(name), metrics, usage: metrics.usage() };
    return space === undefined ? known : { ...known, space };
  }

  #containers(names: readonly string[]): Metric {
    const status = (name: string): string => statusTexts[this.#deps.view.statusCode(name)];
    const samples = counted(names.map((name) => ({ project: projectOf(name), status: status(name) })));
    return { name: 'gantry_containers', type: 'gauge', help: 'Containers by project and status.', samples };
  }

  #operations(isSeen: (project: string) => boolean, isWhole: boolean): Metric {
    const projects = this.#deps.operations
      .projectsUnderWay()
      .filter((project) => (project === undefined ? isWhole : isSeen(project)));
    const samples = counted(projects.map((project = '') => ({ project })));
    return { name: 'lxd_operations_total', type: 'gauge', help: 'Operations under way, by project.', samples };
  }

  #warnings(): Metric {
    const samples = [{ labels: {}, value: this.#deps.warnings.activeHere() }];
    return { name: 'lxd_warnings_total', type: 'gauge', help: 'The number of active warnings.', samples };
  }

  #requests(): Metric {
    const samples = [...this.#answers].flatMap(([endpoint, byStatus]) =>
      [...byStatus].map(([status, value]) => ({ labels: { endpoint, code: String(status) }, value })),
    );
    return { name: 'gantry_api_requests_total', type: 'counter', help: 'Answered requests.', samples };
  }
}

/** Numbers of statfs(2). */
const fileSystems: ReadonlyMap<number, string> = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x2fc1_2fc1, 'zfs'],
  [0x5846_5342, 'xfs'],
  [0x6969, 'nfs'],
  [0x794c_7630, 'overlayfs'],
  [0x9123_683e, 'btrfs'],
  [0xef53, 'ext4'],
]);

/** `path`: on the host, beyond the container's control. Undefined for disks without files. */
async function rootSpace(path: string): Promise<RootSpace | undefined> {
  try {
    const { type, bsize, bavail, bfree, blocks } = await statfs(path);
    const fstype = fileSystems.get(type >>> 0) ?? `0x${(type >>> 0).toString(16)}`;
    return { fstype, avail: bavail * bsize, free: bfree * bsize, size: blocks * bsize };
  } catch {
    return undefined;
  }
}

// Prometheus metrics of a controller: gauges of its sets, sources and hosts, and counters of runs and drift.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Controller } from '../controller.ts';
import {
  hostStatuses,
  setStatuses,
  type ControllerEvent,
  type DriftRecord,
  type Operation,
  type Overview,
} from '../contract/index.ts';

type MetricsSource = Pick<Controller, 'overview' | 'subscribe' | 'isReady'>;

/** Max differences tracked until their repair; beyond it the oldest do not count as healed. */
const maxOpenDrift = 10_000;
const seconds = (text: string): number => Date.parse(text) / 1000;
const durations = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800];

export class ControllerMetrics {
  readonly #registry = new Registry();
  readonly #controller: MetricsSource;
  readonly #unsubscribe: () => void;
  readonly #openDrift = new Map<string, DriftRecord>();
  readonly #runs = this.#counter('runs_total', 'Runs that ended.', ['set', 'kind', 'outcome']);
  readonly #runSeconds = this.#histogram('run_duration_seconds', 'Duration of runs.', ['set', 'kind']);
  readonly #drift = this.#counter('drift_detected_total', 'Differences that others made.', ['set']);
  readonly #healed = this.#counter('drift_healed_total', 'Differences that were repaired.', ['set']);
  readonly #healSeconds = this.#histogram('drift_heal_seconds', 'Time from a difference to its repair.', ['set']);
  readonly #sourceChecks = this.#counter('source_checks_total', 'Reports of sources.', ['source', 'outcome']);
  readonly #requests = this.#counter('http_requests_total', 'Answered requests.', ['endpoint', 'code']);
  readonly #requestSeconds = this.#histogram('http_request_duration_seconds', 'Time to answer requests.', ['endpoint']);
  readonly #logins = this.#counter('logins_total', 'Tokens and logins: accepted, refused, throttled.', ['outcome']);

  constructor(controller: MetricsSource, listeners: () => number = () => 0) {
    this.#controller = controller;
    collectDefaultMetrics({ register: this.#registry });
    this.#gauges(listeners);
    this.#unsubscribe = controller.subscribe((event) => this.#count(event));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Names as queries use them, including the parts of histograms. */
  async names(): Promise<readonly string[]> {
    const all = await this.#registry.getMetricsAsJSON();
    return all.flatMap(({ name, type }) =>
      String(type) === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
  }

  answered(endpoint: string, code: number, durationMs: number): void {
    this.#requests.inc({ endpoint, code: String(code) });
    this.#requestSeconds.observe({ endpoint }, durationMs / 1000);
  }

  loggedIn(outcome: 'accepted' | 'refused' | 'throttled'): void {
    this.#logins.inc({ outcome });
  }

  close(): void {
    this.#unsubscribe();
    this.#registry.clear();
  }

  #counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new Counter({ name: `gantry_${name}`, help, labelNames, registers: [this.#registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> {
    const registers = [this.#registry];
    return new Histogram({ name: `gantry_${name}`, help, labelNames, buckets: durations, registers });
  }

  #count(event: ControllerEvent): void {
    if (event.type === 'run') this.#countRun(event.operation);
    if (event.type === 'drift') this.#countDrift(event.set, event.drift);
    if (event.type === 'source')
      this.#sourceChecks.inc({
        source: event.source.name,
        outcome: event.source.error === undefined ? 'ok' : 'failed',
      });
  }

  #countRun({ set, kind, status, startedAt, endedAt }: Operation): void {
    if (endedAt === undefined) return;
    this.#runs.inc({ set, kind, outcome: status });
    this.#runSeconds.observe({ set, kind }, Math.max(0, seconds(endedAt) - seconds(startedAt)));
  }

  #countDrift(set: string, drift: DriftRecord): void {
    const isNew = !this.#openDrift.has(drift.id);
    if (isNew) this.#drift.inc({ set });
    if (drift.healedAt === undefined) {
      this.#openDrift.set(drift.id, drift);
      const [oldest] = this.#openDrift.keys();
      if (this.#openDrift.size > maxOpenDrift && oldest !== undefined) this.#openDrift.delete(oldest);
      return;
    }
    this.#openDrift.delete(drift.id);
    this.#healed.inc({ set });
    this.#healSeconds.observe({ set }, Math.max(0, seconds(drift.healedAt) - seconds(drift.at)));
  }

  /** All gauges of one scrape come from one overview. */
  #gauges(listeners: () => number): void {
    const gauge = <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      fill: (set: (labels: Readonly<Record<L, string>>, value: number) => void, overview: Overview) => void,
    ): void => {
      const overview = (): Overview => this.#controller.overview();
      const made = new Gauge({
        name: `gantry_${name}`,
        help,
        labelNames,
        registers: [],
        collect() {
          this.reset();
          fill((labels, value) => this.set(labels, value), overview());
        },
      });
      this.#registry.registerMetric(made);
    };
    gauge('controller_info', 'The version of the controller.', ['name', 'version'], (set, { controller }) =>
      set({ name: controller.name, version: controller.version }, 1),
    );
    gauge('controller_active', '1: it acts; 0: another controller does.', [], (set, { controller }) =>
      set({}, Number(controller.isActive)),
    );
    gauge('config_problems', 'Why gantry.yaml or the hosts file is not in use as written.', [], (set, { controller }) =>
      set({}, controller.config?.problems.length ?? 0),
    );
    gauge('config_read_timestamp_seconds', 'When the configuration in use was taken.', [], (set, { controller }) => {
      if (controller.config !== undefined) set({}, seconds(controller.config.readAt));
    });
    gauge('controller_ready', '1: every set was looked at.', [], (set) => set({}, Number(this.#controller.isReady())));
    gauge('event_listeners', 'Pages that listen to events.', [], (set) => set({}, listeners()));
    gauge('sets', 'Sets by status.', ['status'], (set, { sets }) => {
      for (const status of setStatuses) set({ status }, sets.filter((one) => one.status === status).length);
    });
    gauge('set_status', '1 for the status of the set.', ['set', 'status'], (set, { sets }) => {
      for (const one of sets)
        for (const status of setStatuses) set({ set: one.name, status }, Number(one.status === status));
    });
    gauge('set_host_status', '1 for the status of the set on the host.', ['set', 'host', 'status'], (set, { sets }) => {
      for (const { name, hosts } of sets) for (const { host, status } of hosts) set({ set: name, host, status }, 1);
    });
    gauge('set_objects', 'Objects of the set by status, on all of its hosts.', ['set', 'status'], (set, { sets }) => {
      for (const { name, hosts } of sets)
        for (const status of ['total', 'synced', 'drifted', 'failed'] as const)
          set(
            { set: name, status },
            hosts.reduce((sum, { objects }) => sum + objects[status], 0),
          );
    });
    gauge(
      'set_last_sync_timestamp_seconds',
      'When the set was last applied on the host.',
      ['set', 'host'],
      (set, { sets }) => {
        for (const { name, hosts } of sets)
          for (const { host, lastSyncAt } of hosts)
            if (lastSyncAt !== undefined) set({ set: name, host }, seconds(lastSyncAt));
      },
    );
    gauge('set_suspensions', 'Suspensions of the set.', ['set'], (set, { sets }) => {
      for (const { name, suspensions } of sets) set({ set: name }, suspensions.length);
    });
    gauge(
      'set_awaits_approval',
      'Hosts on which a plan of the set waits for an approval.',
      ['set'],
      (set, { sets }) => {
        for (const { name, approvalGate } of sets) set({ set: name }, approvalGate?.hosts.length ?? 0);
      },
    );
    gauge('set_problems', 'Errors in the newest manifests of the set.', ['set'], (set, { sets }) => {
      for (const { name, problems } of sets) set({ set: name }, problems.length);
    });
    gauge('source_up', '1: the last check of the source succeeded.', ['source', 'kind'], (set, { sources }) => {
      for (const { name, kind, error } of sources) set({ source: name, kind }, Number(error === undefined));
    });
    gauge('source_checked_timestamp_seconds', 'When the source last answered.', ['source'], (set, { sources }) => {
      for (const { name, checkedAt } of sources) if (checkedAt !== undefined) set({ source: name }, seconds(checkedAt));
    });
    gauge('host_status', '1 for the status of the connection to the host.', ['host', 'status'], (set, { hosts }) => {
      for (const host of hosts)
        for (const status of hostStatuses) set({ host: host.name, status }, Number(host.status === status));
    });
  }
}

// The hosts of `gantry run`: rolls new manifests out batch by batch and keeps each host as declared. No batch starts while a
// host of an earlier one fails, unless --keep-going.
import { Rollouts } from '../../../controller/sets/rollouts.ts';
import type { RunStart } from '../../../controller/sets/run.ts';
import type { SetOnHost } from '../../../controller/sets/on-host/set-on-host.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { batchesOf, type Batch } from '../../hosts/batches.ts';
import { outcomeWord, worstCode } from '../../hosts/each-host.ts';
import { jsonLine } from '../../output/render-json.ts';
import { setPlaceOf } from '../../session/place.ts';
import { pacedIntervalMs } from '../../watch/watch-times.ts';
import { noteBatch } from './rollout.ts';
import type { RunHostsDeps } from './run-context.ts';
import { RunHost } from './run-host.ts';
import type { HostManifests } from './run-manifests.ts';
import { ShownRun } from './shown-run.ts';

export class RunHosts {
  readonly #deps: RunHostsDeps;
  readonly #hosts = new Map<string, RunHost>();
  readonly #list: SetOnHost[] = [];
  readonly #rollouts: Rollouts;
  #batches: readonly Batch<SetOnHost>[] = [];
  #at = 0;
  #lastNote = '';
  #offered = '';
  /** Processor time of the longest full comparison. */
  #lookCpuMs = 0;

  constructor(deps: RunHostsDeps) {
    this.#deps = deps;
    const { context } = deps;
    const keepGoing = context.options.keepGoing === true;
    this.#rollouts = new Rollouts({
      rollout: { stopAfter: keepGoing ? Number.POSITIVE_INFINITY : 1, rollback: false },
      batchesOf: (hosts) => this.#inBatches(hosts),
      waitsForAway: !keepGoing,
      hosts: this.#list,
      appliedText: () => undefined,
      noteGiven: () => this.#beginBatch(),
      begin: (start) => this.#run(start),
      hasEarlier: () => false,
      goBack: async () => undefined,
      onWithdrawn: () => {},
      onGood: () => {},
      // Each host reports its own failures.
      onError: () => {},
      by: 'gantry run',
      nowMs: context.io.nowMs,
    });
  }

  /** The time between two full comparisons, and between two readings of the manifests. */
  intervalMs(): number {
    return pacedIntervalMs(this.#deps.settings, this.#lookCpuMs);
  }

  /** Rolls manifests out to the hosts whose manifests differ. */
  async offer(revision: string, manifests: readonly HostManifests[]): Promise<void> {
    if (this.#hosts.size === 0) for (const one of manifests) await this.#begin(one);
    for (const { host, set } of manifests) this.#hosts.get(host.name)?.check(set.loaded.documents);
    const sets = new Map(manifests.map(({ host, set }) => [host.name, set]));
    const others = this.#list.filter(({ name, target }) => target?.loaded.text !== sets.get(name)?.text);
    if (revision === this.#offered) return;
    this.#offered = revision;
    const start = { kind: 'sync', reason: 'manifests', by: 'gantry run' } as const;
    this.#rollouts.start(
      revision,
      { hosts: sets, problems: [] },
      start,
      others.map(({ name }) => name),
    );
  }

  async ended(): Promise<void> {
    this.#rollouts.stop('The run ends.');
    await Promise.all([...this.#hosts.values()].map((host) => host.ended));
  }

  /** The most urgent exit code of all hosts. A single host that never answered rethrows its error. */
  code(): ExitCode {
    const hosts = [...this.#hosts.values()];
    for (const { failure } of hosts) if (!this.#deps.isFleet && failure !== undefined) throw failure;
    return worstCode(hosts.map(({ code = exitCodes.ok }) => code));
  }

  async #begin({ host, context, set }: HostManifests): Promise<void> {
    const { loaded } = set;
    const name = setNameOf({ ...context.options, project: undefined }, loaded.documents);
    const place = await setPlaceOf(context, loaded.files);
    const kept = new RunHost({
      ...this.#deps,
      context,
      host,
      set: name,
      place,
      intervalMs: () => this.intervalMs(),
      onLook: (cpuMs) => void (this.#lookCpuMs = Math.max(cpuMs, this.#lookCpuMs)),
      onState: () => this.#stateChanged(),
      beginOwn: (planned, late) =>
        this.#run({
          kind: 'heal',
          revision: this.#offered,
          by: 'gantry run',
          reason: 'drift',
          ...late?.start,
          planned,
        }),
    });
    this.#hosts.set(host.name, kept);
    this.#list.push(kept.onHost);
    kept.begin();
  }

  #run(start: RunStart): ShownRun {
    const { context, settings } = this.#deps;
    const hub = { emit: () => {}, isHeard: false, tracing: settings.tracer };
    return new ShownRun(this.#hosts, start, context.io.nowMs(), hub);
  }

  #inBatches(hosts: readonly SetOnHost[]): readonly (readonly SetOnHost[])[] {
    const known = this.#list.map(({ name }) => name);
    this.#batches = batchesOf(this.#deps.context.options, hosts, known);
    this.#at = 0;
    return this.#batches.map((batch) => batch.hosts);
  }

  #beginBatch(): void {
    const batch = this.#batches[this.#at];
    if (this.#deps.isFleet && batch !== undefined) noteBatch(this.#deps.context, batch, this.#at, this.#batches.length);
    this.#at += 1;
  }

  #stateChanged(): void {
    this.#rollouts.wake();
    if (!this.#deps.isFleet || this.#deps.context.options.keepGoing === true) return;
    const given = this.#batches.slice(0, this.#at).flatMap(({ hosts }) => hosts.map(({ name }) => name));
    const later = this.#batches.slice(this.#at).flatMap(({ hosts }) => hosts.map(({ name }) => name));
    const bad = given.flatMap((name) => {
      const { code = exitCodes.ok } = this.#hosts.get(name) ?? {};
      return code === exitCodes.ok ? [] : [`${name} (${outcomeWord(code)})`];
    });
    const text = `Failing: ${bad.join(', ')}. Until they recover, these hosts are not changed: ${later.join(', ')}`;
    if (bad.length === 0 || later.length === 0 || text === this.#lastNote) return;
    this.#lastNote = text;
    const { note, json, io } = this.#deps.context;
    note(text);
    json(jsonLine('fleet_halt', text, { waiting: later }, io.nowMs(), 'warn'));
  }
}

// One host of `gantry run`: its connection, its reconcile loop, and its output.
import type { Client } from '../../../../server/client/client.ts';
import { DriftRules } from '../../../controller/decide/drift-rules.ts';
import type { AppliedRevision } from '../../../controller/decide/set-state.ts';
import { HostLink } from '../../../controller/hosts/host-link.ts';
import type { HostSetConfig, SetOnHostDeps } from '../../../controller/sets/on-host/host-target.ts';
import { SetOnHost } from '../../../controller/sets/on-host/set-on-host.ts';
import type { Document } from '../../../core/documents/document.ts';
import { describeSeen, type LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { SetPlace } from '../../../core/ownership/place.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import { stateDirectory } from '../../../engine/runs/journal.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { commandError } from '../../errors/usage-error.ts';
import { parseCount, parseDuration } from '../../flags/parse-values.ts';
import { planOptionsOf } from '../../flags/plan-flags.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { jsonLine } from '../../output/render-json.ts';
import { hostName } from '../../session/connect.ts';
import { revisionFacts } from '../../session/revision.ts';
import { printPlan } from '../../session/show-plan.ts';
import { reportingOnce } from '../../watch/report-once.ts';
import { refusalOf } from './refused-parts.ts';
import type { RunHostsDeps, RunContext } from './run-context.ts';

export interface RunHostDeps extends RunHostsDeps, Pick<SetOnHostDeps, 'beginOwn' | 'onState'> {
  readonly host: Host;
  readonly set: string;
  readonly place: SetPlace;
  readonly intervalMs: () => number;
  /** Called with the processor time of a full comparison. */
  readonly onLook: (cpuMs: number) => void;
}

const maxSeen = 2000;

export class RunHost {
  readonly context: RunContext;
  readonly onHost: SetOnHost;
  readonly #deps: RunHostDeps;
  readonly #link: HostLink;
  readonly #closed = new AbortController();
  readonly #seen = new Map<string, LifecycleChange>();
  #applied: AppliedRevision | undefined;
  #failure: unknown;
  #cpu: NodeJS.CpuUsage | undefined;
  #lastNote = '';
  #ended: Promise<unknown> = Promise.resolve();

  constructor(deps: RunHostDeps) {
    const { context, host, end, intervalMs } = deps;
    this.#deps = deps;
    this.context = reportingOnce(context);
    this.#link = new HostLink(host, {
      intervalMs,
      parallelism: 4,
      connect: () => this.#connect(),
      onStatus: ({ status, message = '' }) => {
        if (end.aborted) return;
        if (status === 'offline') this.#reportWaiting(message);
        deps.onState();
      },
    });
    this.#link.listen(({ seen, isWhole }) => {
      for (const one of seen) this.#seen.set(one.address, one);
      if (this.#seen.size > maxSeen) this.#seen.clear();
      if (isWhole) this.#cpu = process.cpuUsage();
    });
    this.onHost = new SetOnHost(this.#onHostDeps(), () => this.#applied);
  }

  get set(): string {
    return this.#deps.set;
  }

  get ended(): Promise<unknown> {
    return this.#ended;
  }

  /** Why the host has never answered. */
  get failure(): unknown {
    return this.#failure;
  }

  /** The outcome of the last comparison with the present manifests; undefined before it, and while changes wait for a window. */
  get code(): ExitCode | undefined {
    const { state, made, isTried, target } = this.onHost;
    if (target === undefined) return undefined;
    if (this.#link.status.status === 'offline') return exitCodes.unreachable;
    if (state.isLocked === true) return exitCodes.locked;
    if (!isTried) return undefined;
    if (state.status === 'failed') return (made?.plan.guards.length ?? 0) > 0 ? exitCodes.guard : exitCodes.error;
    return state.status === 'synced' ? exitCodes.ok : undefined;
  }

  /** Prints the drift that the plan repairs, then the plan. */
  async show(plan: Plan): Promise<void> {
    const { context } = this;
    const repaired = plan.changes.flatMap(({ address }) => this.#seen.get(address) ?? []);
    this.#seen.clear();
    for (const one of await this.#link.named(repaired, context.stop))
      context.note(`${one.address}: ${describeSeen(one)}`);
    await printPlan(context, plan, 'apply');
  }

  begin(): void {
    const linked = this.#link.run(this.#closed.signal);
    this.#ended = this.onHost.run(this.#deps.end).then(() => {
      this.#closed.abort();
      return linked;
    });
  }

  /** Refuses documents of another set: the run would prune the objects of its own set. */
  check(documents: readonly Document[]): void {
    const named = setNameOf({ ...this.context.options, project: undefined }, documents);
    if (named !== this.#deps.set)
      throw commandError(
        `the manifests name the set ${named} now, and this run keeps ${this.#deps.set}: start it again`,
      );
  }

  #config(): HostSetConfig {
    const { options } = this.context;
    const allow = this.#deps.settings.windows;
    return {
      name: this.#deps.set,
      plan: planOptionsOf(options),
      allowsPartial: options.partial === true,
      retry: { firstMs: 5000, longestMs: 60_000 },
      health: { wait: true },
      windows: { allow, deny: [] },
      disruptive: { allow: [], deny: [] },
    };
  }

  #onHostDeps(): SetOnHostDeps {
    const { context } = this;
    const { io, options, cancel } = context;
    const { place, beginOwn, isFleet } = this.#deps;
    return {
      config: this.#config(),
      link: this.#link,
      rules: new DriftRules('heal', []),
      place,
      suspensions: () => [],
      approvals: () => [],
      isActive: () => true,
      stored: async () => {},
      waitsFor: () => undefined,
      isPruneApproved: () => false,
      beginOwn,
      onState: () => this.#looked(),
      onObjects: () => {},
      onDrift: () => {},
      onChanges: () => {},
      onApplied: (_host, applied) => void (this.#applied = applied),
      log: (level, text) => {
        if (level === 'warn') context.note(text);
      },
      turn: (work) => work(),
      facts: async (target, run) => ({
        ...(await revisionFacts(context, { paths: target.loaded.loaded.files, place: place.here })),
        ...(isFleet && target.run === run ? { rollout: run.id } : {}),
        onlyNew: true,
      }),
      journal: (client) => ({ directory: stateDirectory(io.env), host: hostName(context, client) }),
      limits: {
        parallelism: parseCount('--parallelism', options.parallelism) ?? 4,
        lockTimeoutMs: parseDuration('--lock-timeout', options.lockTimeout),
        failFast: options.failFast === true,
        cancel,
      },
      nowMs: io.nowMs,
    };
  }

  /** Ends the run for any error but an unreachable host: a retry would not help. */
  async #connect(): Promise<Client> {
    try {
      const client = await this.#deps.connect({ ...this.context, stop: this.#deps.end });
      this.#failure = undefined;
      return client;
    } catch (error) {
      if (this.#deps.end.aborted) throw error;
      this.#failure = error;
      if (codeOf(error) !== exitCodes.unreachable) this.#deps.fail(error);
      throw error;
    }
  }

  #reportWaiting(why: string): void {
    const text = `Waiting for the server: ${why}. Retrying`;
    this.#note(text);
    const fields = { diagnostic: { severity: 'warning', summary: why, detail: '' } };
    this.context.json(jsonLine('diagnostic', text, fields, this.context.io.nowMs(), 'warn'));
  }

  #looked(): void {
    const { state, made, target } = this.onHost;
    if (state.status === 'syncing') return;
    if (this.#cpu !== undefined) {
      const { user, system } = process.cpuUsage(this.#cpu);
      this.#deps.onLook((user + system) / 1000);
      this.#cpu = undefined;
    }
    const locate = target?.loaded.loaded.locate ?? ((found) => found);
    void this.context.diagnostics((made?.plan.diagnostics ?? []).map(locate));
    this.#note(this.#textOfState());
    this.#deps.onState();
  }

  /** Empty when all is well. */
  #textOfState(): string {
    const { state, made } = this.onHost;
    const { status, error = '', isLocked } = state;
    if (status !== 'waiting' && status !== 'failed') return '';
    if (isLocked === true) return `Suspended: ${error}`;
    const refusal = made === undefined ? undefined : refusalOf(this.context.options, made.plan);
    if (made !== undefined && refusal !== undefined)
      return [...made.plan.guards.map(({ message }) => `Refused: ${message}`), refusal].join('\n');
    if (status === 'failed') return `The run failed and is retried: ${error}`;
    const addresses = [...new Set(made?.plan.steps.map(({ address }) => address))];
    return `${addresses.slice(0, 5).join(', ')}${addresses.length > 5 ? ' and others' : ''} differ: ${error}`;
  }

  /** Prints a text unless it equals the last one. */
  #note(text: string): void {
    if (text !== '' && text !== this.#lastNote) this.context.note(text);
    this.#lastNote = text;
  }
}

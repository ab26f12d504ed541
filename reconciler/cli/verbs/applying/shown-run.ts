// A run of `gantry run` on its hosts: shows each plan, its progress and its outcome, and is a trace of its own on each host.
import { randomBytes } from 'node:crypto';
import type { Tracer } from '../../../../server/lib/shared/spans.ts';
import type { HostRun } from '../../../controller/sets/on-host/host-target.ts';
import type { RunStart } from '../../../controller/sets/run.ts';
import type { ComparisonTime } from '../../../controller/traces/run-trace.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import type { EngineEvent } from '../../../engine/steps/events.ts';
import type { Reporter } from '../../output/reporter.ts';
import { traceRepair } from '../../session/trace-verb.ts';
import { beginReport, showOutcome } from './carry-out.ts';
import type { KeptHost } from './run-host.ts';

export class ShownRun implements HostRun {
  readonly id = randomBytes(6).toString('hex');
  readonly start: RunStart;
  isEnded = false;
  readonly #hosts: ReadonlyMap<string, KeptHost>;
  readonly #tracer: Tracer | undefined;
  readonly #plans = new Map<string, Plan>();
  readonly #reports = new Map<string, Reporter>();
  readonly #compared = new Map<string, ComparisonTime>();

  constructor(
    hosts: ReadonlyMap<string, KeptHost>,
    tracer: Tracer | undefined,
    start: Partial<RunStart> & Pick<RunStart, 'reason'>,
    planned?: ComparisonTime,
  ) {
    this.#hosts = hosts;
    this.#tracer = tracer;
    this.start = { kind: 'heal', revision: '', by: 'gantry run', ...start };
    if (planned !== undefined) this.#compared.set(planned.host, planned);
  }

  include(): void {}

  async planning<T>(host: string, work: () => Promise<T>): Promise<T> {
    const fromMs = Date.now();
    const made = await work();
    this.#compared.set(host, { host, fromMs, toMs: Date.now() });
    return made;
  }

  hostBegan(host: string, plan: Plan): void {
    this.#plans.set(host, plan);
  }

  async onHost(host: string, work: () => Promise<RunResult>): Promise<RunResult> {
    const kept = this.#hosts.get(host);
    const plan = this.#plans.get(host);
    if (kept === undefined || plan === undefined) return work();
    const { context } = kept;
    await kept.show(plan);
    const report = beginReport(context, plan);
    this.#reports.set(host, report);
    const nowMs = Date.now();
    const { fromMs, toMs } = this.#compared.get(host) ?? { fromMs: nowMs, toMs: nowMs };
    try {
      return await traceRepair(this.#tracer, { set: kept.set, host: kept.address, fromMs, toMs }, work);
    } finally {
      report.finish();
    }
  }

  event(host: string, event: EngineEvent): void {
    this.#reports.get(host)?.event(event);
  }

  hostEnded(host: string, plan: Plan | undefined, result: RunResult | undefined): void {
    const context = this.#hosts.get(host)?.context;
    if (context !== undefined && plan !== undefined && result !== undefined) showOutcome(context, plan, result);
  }

  end(): void {
    this.isEnded = true;
  }
}

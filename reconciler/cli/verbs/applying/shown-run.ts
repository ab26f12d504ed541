// A run of `gantry run` with output: the plan of each host, its progress and its outcome.
import { Run, type RunHub, type RunStart } from '../../../controller/sets/run.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import type { EngineEvent } from '../../../engine/steps/events.ts';
import type { Reporter } from '../../output/reporter.ts';
import { beginReport, showOutcome } from './carry-out.ts';
import type { RunHost } from './run-host.ts';

export class ShownRun extends Run {
  readonly #hosts: ReadonlyMap<string, RunHost>;
  readonly #plans = new Map<string, Plan>();
  readonly #reports = new Map<string, Reporter>();

  constructor(hosts: ReadonlyMap<string, RunHost>, start: RunStart, nowMs: number, hub: RunHub) {
    const [first] = hosts.values();
    super(first?.set ?? '', start, nowMs, () => {}, hub);
    this.#hosts = hosts;
  }

  override hostBegan(host: string, plan: Plan): void {
    super.hostBegan(host, plan);
    this.#plans.set(host, plan);
  }

  override async onHost<T>(host: string, work: () => Promise<T>): Promise<T> {
    const kept = this.#hosts.get(host);
    const plan = this.#plans.get(host);
    if (kept === undefined || plan === undefined) return super.onHost(host, work);
    await kept.show(plan);
    const report = beginReport(kept.context, plan);
    this.#reports.set(host, report);
    try {
      return await super.onHost(host, work);
    } finally {
      report.finish();
    }
  }

  override event(host: string, event: EngineEvent): void {
    super.event(host, event);
    this.#reports.get(host)?.event(event);
  }

  override hostEnded(host: string, plan: Plan | undefined, result: RunResult | undefined, failure?: string): void {
    super.hostEnded(host, plan, result, failure);
    const context = this.#hosts.get(host)?.context;
    if (context !== undefined && plan !== undefined && result !== undefined) showOutcome(context, plan, result);
  }
}

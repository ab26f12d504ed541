// Applies a plan under the lock of its set: runs each step when its dependencies are done, within the concurrency limit.
import type { Operation } from '../../server/api/operation.ts';
import { remedyFor } from '../../server/client/client-error.ts';
import { pause, within } from '../../server/lib/shared/deadline.ts';
import { inSpan, type Span } from '../../server/lib/shared/spans.ts';
import type { Plan, Step } from '../core/plan/plan.ts';
import type { EngineEvent, Failure } from './steps/events.ts';
import { bindImages } from './bind-images.ts';
import { failureOf } from './failure.ts';
import { PlannedOwners } from './planned-owners.ts';
import type { RunResult } from './run-result.ts';
import type { Journal } from './runs/journal.ts';
import type { SetRun } from './runs/set-run.ts';
import { StaleError, type EngineClient, type StepContext, type StepGuard } from './steps/context.ts';
import { StepQueue } from './step-queue.ts';
import { runStep } from './steps/run-step.ts';
import { ConcurrencyLimit } from '../../server/lib/shared/concurrency-limit.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface ExecuteDeps {
  readonly client: EngineClient;
  readonly emit: (event: EngineEvent) => void;
  /** Steps at once; default 4. */
  readonly parallelism?: number;
  /** Starts no further steps and lets running ones end. The signal of `execute` also cancels running steps. */
  readonly stop?: AbortSignal;
  /** Starts no further steps after the first failure. Default: steps that do not depend on the failed one continue. */
  readonly failFast?: boolean;
  /** Locks the set and records the run; absent: no lock and no owner records. */
  readonly run?: Pick<SetRun, 'begin' | 'finish' | 'hash'> & Partial<Pick<SetRun, 'isTaken'>>;
  readonly journal?: Journal;
  /** Its time does not count as time of the step. */
  readonly beforeStep?: BeforeStep | undefined;
  /** Checks each step before it is sent. */
  readonly permit?: StepGuard | undefined;
  readonly nowMs?: () => number;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Work that must be done before a step starts, such as hooks; the step fails when it rejects. */
export type BeforeStep = (step: Step, signal: AbortSignal) => Promise<void>;

type Outcome = 'done' | 'failed' | 'skipped';

/**
 * Reports failures of steps in the result and never rejects for them. Steps of one object never overlap: the plan chains them.
 * Throws the errors of `SetRun.begin`.
 */
export async function execute(
  plan: Plan,
  deps: ExecuteDeps,
  signal: AbortSignal = new AbortController().signal,
): Promise<RunResult> {
  const { run, journal } = deps;
  await run?.begin(plan, signal);
  let result: RunResult | undefined;
  try {
    journal?.begin(plan);
    result = await new Execution(plan, deps, signal).finish();
    return result;
  } finally {
    await run?.finish(result);
    journal?.finish(result);
  }
}

/** Lives as long as one apply. */
class Execution {
  readonly #steps: readonly Step[];
  readonly #owners: PlannedOwners;
  readonly #deps: ExecuteDeps;
  readonly #signal: AbortSignal;
  readonly #nowMs: () => number;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #failures: Failure[] = [];
  readonly #made = new Map<string, string>();
  readonly #byId: ReadonlyMap<string, Step>;
  readonly #queue: StepQueue;
  /** Failed steps whose dependents are not skipped yet. */
  #failed: string[] = [];
  #running = 0;
  /** The last profile update; these run one after another. */
  readonly #profiles = new ConcurrencyLimit(1);
  /** One step could not reach the server in all its attempts, so the others would fail as well. */
  #isUnreachable = false;
  /** A step did not start since another run has the lock now. */
  #isOvertaken = false;
  #wake = (): void => {};

  constructor(plan: Plan, deps: ExecuteDeps, signal: AbortSignal) {
    const { steps } = plan;
    this.#steps = steps;
    this.#owners = new PlannedOwners(plan);
    this.#byId = new Map(steps.map((step) => [step.id, step]));
    this.#queue = new StepQueue(steps);
    this.#deps = deps;
    this.#signal = signal;
    this.#nowMs = deps.nowMs ?? Date.now;
  }

  readonly #emit: ExecuteDeps['emit'] = (event) => {
    this.#deps.journal?.event(event);
    this.#deps.emit(event);
  };

  async finish(): Promise<RunResult> {
    for (this.#advance(); this.#running > 0; this.#advance()) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const of = (outcome: Outcome): string[] =>
      this.#steps.filter(({ id }) => this.#outcomes.get(id) === outcome).map(({ id }) => id);
    const isInterrupted = this.#isStopping();
    return { done: of('done'), failures: this.#failures, skipped: of('skipped'), made: this.#made, isInterrupted };
  }

  #isStopping(): boolean {
    return this.#signal.aborted || this.#deps.stop?.aborted === true;
  }

  #advance(): void {
    for (const id of this.#failed.splice(0)) {
      for (const step of this.#queue.dropDependents(id)) this.#skip(step, `${this.#blockerOf(step)} did not succeed`);
    }
    if (this.#isStopping()) this.#skipAll('the run was interrupted');
    else if (this.#deps.failFast === true && this.#failures.length > 0) this.#skipAll('another step failed');
    else if (this.#isOvertaken) this.#skipAll('another run of the set took the lock');
    else if (this.#isUnreachable) this.#skipAll('the server cannot be reached');
    const max = Math.max(1, this.#deps.parallelism ?? 4);
    while (this.#running < max) {
      const step = this.#queue.take();
      if (step === undefined) return;
      this.#start(step);
    }
  }

  /** Dependencies come first in the plan, so their outcomes are known. */
  #blockerOf({ needs }: Step): string {
    return needs.find((id) => this.#outcomes.get(id) === 'failed' || this.#outcomes.get(id) === 'skipped') ?? '';
  }

  #skipAll(because: string): void {
    for (const step of this.#queue.dropAll()) this.#skip(step, because, { isOneOfAll: true });
  }

  #skip(step: Step, because: string, more: { readonly isOneOfAll?: true } = {}): void {
    this.#outcomes.set(step.id, 'skipped');
    this.#emit({ type: 'apply_skipped', step, atMs: this.#nowMs(), because, ...more });
  }

  #start(step: Step): void {
    this.#running += 1;
    void this.#run(step).finally(() => {
      this.#running -= 1;
      this.#wake();
    });
  }

  async #run(step: Step): Promise<void> {
    const emit = this.#emit;
    const startedMs = this.#nowMs();
    emit({ type: 'apply_start', step, atMs: startedMs });
    try {
      await this.#deps.beforeStep?.(step, this.#signal);
      this.#refuseOvertaken();
      const bound = bindImages(step, this.#byId, this.#made);
      // A wait has its own limit, with a better message.
      const timeoutMs = step.action === 'wait' ? undefined : step.timeoutMs;
      const { action, address } = step;
      const attributes = { 'gantry.object': address, 'gantry.action': action, 'gantry.step': step.id };
      const note = await inSpan(`${action} ${address}`, { attributes }, (span) =>
        this.#inTurn(step, () =>
          within(timeoutMs, (signal) => runStep(this.#context(step, span), bound, signal), this.#signal),
        ),
      );
      this.#outcomes.set(step.id, 'done');
      this.#queue.done(step.id);
      const atMs = this.#nowMs();
      const elapsedMs = atMs - startedMs;
      emit({ type: 'apply_complete', step, atMs, elapsedMs, ...withoutUndefined({ note }) });
    } catch (error) {
      const failure = failureOf(step, error, this.#signal.aborted);
      this.#outcomes.set(step.id, 'failed');
      this.#failed.push(step.id);
      this.#failures.push(failure);
      this.#isUnreachable ||= failure.code === 'unreachable' && remedyFor(error, false) === 'retry';
      const atMs = this.#nowMs();
      emit({ type: 'apply_errored', step, atMs, elapsedMs: atMs - startedMs, failure });
    }
  }

  #refuseOvertaken(): void {
    if (this.#deps.run?.isTaken !== true) return;
    this.#isOvertaken = true;
    throw new StaleError('another run of the set took the lock, which this run had not renewed in time');
  }

  /** Real LXD updates the containers of a profile with it, and refuses that while another profile of the same container is being updated. */
  #inTurn<T>({ action, kind }: Step, work: () => Promise<T>): Promise<T> {
    return action === 'update' && kind === 'profile' ? this.#profiles.run(work) : work();
  }

  #context(step: Step, span: Span | undefined): StepContext {
    const { client, run, journal, permit } = this.#deps;
    const emit = this.#emit;
    const operations = new Set<string>();
    const note = (operation: Operation): void => {
      if (span !== undefined) span.set('gantry.operation', [...operations.add(operation.id)].join(' '));
    };
    return {
      client,
      permit,
      owners: this.#owners.of(step.address),
      ...(run === undefined ? {} : { hash: run.hash }),
      ...(journal === undefined ? {} : { onBegun: (operation: Operation) => journal.begun(step, operation) }),
      onMade: (fingerprint) => void this.#made.set(step.id, fingerprint),
      nowMs: this.#nowMs,
      pause: this.#deps.pause ?? pause,
      onOutput: (output) => emit({ type: 'exec_output', step, atMs: this.#nowMs(), ...output }),
      onOperation: (operation) => {
        note(operation);
        emit({ type: 'operation_update', step, atMs: this.#nowMs(), operation });
      },
      onProgress: (text, percent) =>
        emit({
          type: 'apply_progress',
          step,
          atMs: this.#nowMs(),
          text,
          ...withoutUndefined({ percent }),
        }),
    };
  }
}

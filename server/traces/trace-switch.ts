// The tracer of a daemon: opened, changed and closed by config while the daemon runs.
import { reasonOf } from '../lib/shared/reason.ts';
import type { Tracer } from '../lib/shared/spans.ts';
import { openTarget, type OpenTracer } from './open.ts';
import { traceTarget, type Environment, type TraceSettings, type TraceTarget } from './target.ts';

export interface TraceSwitchDeps {
  readonly env: Environment;
  readonly service: string;
  readonly onProblem: (message: string) => void;
}

export class TraceSwitch {
  readonly #deps: TraceSwitchDeps;
  #tracer: OpenTracer | undefined;
  /** The settings that are open, or being opened. */
  #wanted = '';
  #turn: Promise<void> = Promise.resolve();
  readonly #closing = new Set<Promise<void>>();

  constructor(deps: TraceSwitchDeps) {
    this.#deps = deps;
  }

  /** Undefined: tracing is off. */
  get tracer(): Tracer | undefined {
    return this.#tracer;
  }

  /** Resolves when the settings are applied. Reports invalid settings, and turns tracing off. Never rejects. */
  follow(settings: TraceSettings): Promise<void> {
    let target: TraceTarget | undefined;
    try {
      target = traceTarget(this.#deps.env, this.#deps.service, settings);
    } catch (error) {
      this.#deps.onProblem(`nothing is traced: ${reasonOf(error)}`);
    }
    const wanted = target === undefined ? '' : JSON.stringify(target);
    if (wanted !== this.#wanted) {
      this.#wanted = wanted;
      this.#turn = this.#turn.then(() => this.#change(target));
    }
    return this.#turn;
  }

  /** Resolves when the last settings are applied. */
  get settled(): Promise<void> {
    return this.#turn;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#change(undefined);
    await Promise.all(this.#closing);
  }

  async #change(target: TraceTarget | undefined): Promise<void> {
    const before = this.#tracer;
    this.#tracer = undefined;
    if (target !== undefined)
      try {
        this.#tracer = await openTarget(target, this.#deps.onProblem);
      } catch (error) {
        this.#deps.onProblem(`nothing is traced: ${reasonOf(error)}`);
      }
    if (before === undefined) return;
    // Its last spans are sent in the background.
    const closed = before.close().finally(() => void this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}

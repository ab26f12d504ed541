// Runs due tasks once a minute, at the start of each minute of the host's clock.
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';

export interface ScheduledTask {
  readonly name: string;
  /** `minute`: the minute that has begun. */
  run(minute: Date, signal: AbortSignal): Promise<void>;
}

/** Calls `tick` shortly after each minute has begun, until stopped. */
export type MinuteTimer = (tick: () => void) => { stop(): void };

const minuteMs = 60_000;

export interface SchedulerDeps {
  readonly tasks: readonly ScheduledTask[];
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
  readonly timer: MinuteTimer;
}

export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #abort = new AbortController();
  #timer: { stop(): void } | undefined;
  #lastMinute: number;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    // Skips the minute of the daemon's start: it may have run before a restart.
    this.#lastMinute = minuteOf(deps.clock);
  }

  start(): void {
    this.#timer ??= this.#deps.timer(() => void this.tick());
  }

  /** Resolves when running tasks have ended. */
  async stop(): Promise<void> {
    this.#timer?.stop();
    this.#abort.abort(new Error('the daemon is stopping'));
    await this.#running;
  }

  /** Each minute at most once, unless the clock is set back; skips minutes that passed while tasks ran, or the host slept. */
  async tick(): Promise<void> {
    const minute = minuteOf(this.#deps.clock);
    if (minute === this.#lastMinute || this.#abort.signal.aborted) return;
    this.#lastMinute = minute;
    this.#running = this.#running.then(() => this.#runAll(new Date(minute * minuteMs)));
    await this.#running;
  }

  async #runAll(minute: Date): Promise<void> {
    for (const task of this.#deps.tasks) {
      if (this.#abort.signal.aborted) return;
      try {
        await task.run(minute, this.#abort.signal);
      } catch (error) {
        this.#deps.log.error(`${task.name} failed: ${errorText(error)}`);
      }
    }
  }
}

const minuteOf = (clock: Pick<Clock, 'nowMs'>): number => Math.floor(clock.nowMs() / minuteMs);

export const systemMinutes: MinuteTimer = (tick) => {
  let timer: NodeJS.Timeout;
  const next = (): void => {
    timer = setTimeout(
      () => {
        tick();
        next();
      },
      minuteMs - (Date.now() % minuteMs),
    );
    timer.unref();
  };
  next();
  return { stop: () => clearTimeout(timer) };
};

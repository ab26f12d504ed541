// Runs due tasks once a minute, at the start of each minute of the host's clock.
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { pause } from '../../lib/shared/deadline.ts';
import { errorText } from '../../lib/shared/reason.ts';

export interface ScheduledTask {
  readonly name: string;
  /** `minute`: the minute that has begun. */
  run(minute: Date, signal: AbortSignal): Promise<void>;
}

/** Calls `tick` shortly after each minute has begun, until stopped. */
export type MinuteTimer = (tick: () => void) => { stop(): void };

const minuteMs = 60_000;
/** Minutes of a task that run later because an earlier run lasts: a schedule that names one of them is not lost. */
const mostWaiting = 60;
/** The log names a task that lasts until so many of its minutes wait. */
const warnedWaiting = 11;

export interface SchedulerDeps {
  readonly tasks: readonly ScheduledTask[];
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
  readonly timer: MinuteTimer;
}

/** How long the end of the daemon waits for tasks under way. */
const longestEndMs = 10_000;

export class Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #abort = new AbortController();
  readonly #lines: readonly TaskLine[];
  #timer: { stop(): void } | undefined;
  #lastMinute: number;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    this.#lines = deps.tasks.map((task) => new TaskLine(task, deps.log, this.#abort.signal));
    // Skips the minute of the daemon's start: it may have run before a restart.
    this.#lastMinute = minuteOf(deps.clock);
  }

  start(): void {
    this.#timer ??= this.#deps.timer(() => void this.tick());
  }

  /** Resolves when running tasks have ended, or after `graceMs`: a task at a dead file system never ends. */
  async stop(graceMs = longestEndMs): Promise<void> {
    this.#timer?.stop();
    this.#abort.abort(new Error('the daemon is stopping'));
    const ended = new AbortController();
    await Promise.race([this.#all((line) => line.ended), pause(graceMs, ended.signal).catch(() => {})]);
    ended.abort();
  }

  /** Each minute at most once, unless the clock is set back; skips minutes that passed while the host slept. */
  async tick(): Promise<void> {
    const minute = minuteOf(this.#deps.clock);
    if (minute === this.#lastMinute || this.#abort.signal.aborted) return;
    this.#lastMinute = minute;
    await this.#all((line) => line.run(new Date(minute * minuteMs)));
  }

  async #all(each: (line: TaskLine) => Promise<void>): Promise<void> {
    await Promise.all(this.#lines.map(each));
  }
}

/** A task waits for its own earlier runs only: one that hangs stops no other. */
class TaskLine {
  readonly #task: ScheduledTask;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  #waiting = 0;
  ended: Promise<void> = Promise.resolve();

  constructor(task: ScheduledTask, log: Log, signal: AbortSignal) {
    this.#task = task;
    this.#log = log;
    this.#signal = signal;
  }

  /** Resolves when this run has ended; leaves the minute out while too many wait. */
  run(minute: Date): Promise<void> {
    if (this.#waiting >= mostWaiting) return this.ended;
    this.#waiting += 1;
    if (this.#waiting === warnedWaiting)
      this.#log.warn(
        `${this.#task.name} has not ended for ${warnedWaiting - 1} minutes, and does not run until it has: something that it needs, ` +
          'a storage pool for example, may not answer',
      );
    this.ended = this.ended.then(() => this.#runNow(minute));
    return this.ended;
  }

  async #runNow(minute: Date): Promise<void> {
    try {
      if (!this.#signal.aborted) await this.#task.run(minute, this.#signal);
    } catch (error) {
      this.#log.error(`${this.#task.name} failed: ${errorText(error)}`);
    }
    this.#waiting -= 1;
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

// Shows the progress of a run in the form that fits the output: repainted rows, plain lines, or JSON lines.
import type { Writable } from 'node:stream';
import type { EngineEvent } from '../../engine/steps/events.ts';
import { canRepaint } from './process-io.ts';
import { colorOf, type ShownIo } from './safe-io.ts';
import { paintFor, type Paint } from './paint.ts';
import { reduceProgress, startProgress, type Progress } from './progress.ts';
import { eventLine } from './render-json.ts';
import { renderPlainEvent, renderStill } from './render-plain.ts';
import { renderFrame } from './render-tty.ts';

export interface Reporter {
  event(event: EngineEvent): void;
  /** Prints a line that stays. */
  say(text: string): void;
  finish(): void;
}

export function reporterFor(
  io: ShownIo,
  options: { readonly json: boolean; readonly color: boolean },
  steps: number,
): Reporter {
  if (options.json) return jsonReporter(together(io.stdout));
  const paint = paintFor(colorOf(io, io.stderr, options.color));
  return canRepaint(io.env, io.stderr)
    ? new TtyReporter(io, paint, steps)
    : new PlainReporter(together(io.stderr), paint, steps, io.nowMs);
}

/** How long a line is buffered. Each write wakes the reader, which costs more than most steps. */
const lingerMs = 20;

interface Together {
  write(text: string): void;
  /** Writes all buffered lines. */
  flush(): void;
}

function together(stream: Writable): Together {
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    stream.uncork();
  };
  return {
    write(text) {
      if (timer === undefined) {
        stream.cork();
        timer = setTimeout(flush, lingerMs);
      }
      stream.write(text);
    },
    flush,
  };
}

function jsonReporter(stdout: Together): Reporter {
  return {
    event(event) {
      const line = eventLine(event);
      if (line !== undefined) stdout.write(`${line}\n`);
    },
    say() {},
    finish: () => stdout.flush(),
  };
}

const stillEveryMs = 10_000;

class PlainReporter implements Reporter {
  readonly #stream: Together;
  readonly #paint: Paint;
  readonly #timer: NodeJS.Timeout;
  #progress: Progress;

  constructor(stream: Together, paint: Paint, steps: number, nowMs: () => number) {
    this.#stream = stream;
    this.#paint = paint;
    this.#progress = startProgress(steps);
    this.#timer = setInterval(() => {
      for (const row of this.#progress.rows) this.say(renderStill(row, nowMs()));
    }, stillEveryMs);
  }

  event(event: EngineEvent): void {
    this.#progress = reduceProgress(this.#progress, event);
    const line = renderPlainEvent(event, this.#paint);
    if (line !== undefined) this.say(line);
  }

  say(text: string): void {
    this.#stream.write(`${text}\n`);
  }

  finish(): void {
    clearInterval(this.#timer);
    this.#stream.flush();
  }
}

const frameMs = 100;

/** Permanent lines go above; the rows below them are erased and repainted. */
class TtyReporter implements Reporter {
  readonly #io: ShownIo;
  readonly #paint: Paint;
  readonly #timer: NodeJS.Timeout;
  #progress: Progress;
  #painted = 0;

  constructor(io: ShownIo, paint: Paint, steps: number) {
    this.#io = io;
    this.#paint = paint;
    this.#progress = startProgress(steps);
    this.#timer = setInterval(() => this.#repaint([]), frameMs);
  }

  event(event: EngineEvent): void {
    this.#progress = reduceProgress(this.#progress, event);
    const line = renderPlainEvent(event, this.#paint, false);
    if (line !== undefined) this.#repaint([line]);
  }

  say(text: string): void {
    this.#repaint([text]);
  }

  finish(): void {
    clearInterval(this.#timer);
    this.#erase();
    this.#painted = 0;
  }

  #erase(): void {
    if (this.#painted > 0) this.#io.raw.stderr.write(`\u001b[${this.#painted}A\u001b[J`);
  }

  #repaint(lasting: readonly string[]): void {
    const width = this.#io.stderr.columns ?? 0;
    // The last column stays free: some terminals wrap when it is written. A width of 0 means unknown.
    const columns = (width > 0 ? width : 80) - 1;
    const frame = renderFrame(this.#progress, this.#io.nowMs(), columns, this.#paint);
    const text = [...lasting, ...frame].map((line) => `${line}\n`).join('');
    this.#erase();
    this.#io.stderr.write(text);
    this.#painted = frame.length;
  }
}

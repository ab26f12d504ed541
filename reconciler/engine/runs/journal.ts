// Writes the journal of a run, a file of JSON lines under the state directory: planned, begun and finished steps, with the id of each
// operation before the wait for it. It never has values of objects. resume-operations.ts reads journals.
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation } from '../../../server/api/operation.ts';
import type { Plan, Step } from '../../core/plan/plan.ts';
import { isChange } from '../../core/plan/summary.ts';
import type { EngineEvent } from '../steps/events.ts';
import type { RunResult } from '../run-result.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { homeFolder } from '../../manifest/text/home-folder.ts';
import { makeFolderSync } from '../../../server/lib/shared/make-folder.ts';

export interface JournalPlace {
  /** $XDG_STATE_HOME/gantry, or ~/.local/state/gantry. */
  readonly directory: string;
  readonly set: string;
  /** As in `--host`. */
  readonly host: string;
}

/** One line of the file. `at` is RFC 3339. */
export type JournalLine =
  | {
      readonly type: 'run';
      readonly at: string;
      readonly id: string;
      readonly set: string;
      readonly host: string;
      readonly mode: Plan['mode'];
      /** Addresses, actions and paths; no values, no `manage:`, no flags. */
      readonly changes: readonly {
        readonly address: string;
        readonly action: string;
        readonly paths: readonly string[];
      }[];
    }
  | { readonly type: 'start'; readonly at: string; readonly step: string }
  | { readonly type: 'operation'; readonly at: string; readonly step: string; readonly operation: string }
  /** The last output of a command of a document. */
  | {
      readonly type: 'output';
      readonly at: string;
      readonly step: string;
      readonly exec: string;
      readonly code: number;
      readonly output: string;
    }
  | { readonly type: 'done'; readonly at: string; readonly step: string; readonly elapsedMs: number }
  | {
      readonly type: 'failed';
      readonly at: string;
      readonly step: string;
      readonly code: string;
      readonly elapsedMs: number;
    }
  | { readonly type: 'skipped'; readonly at: string; readonly step: string; readonly because: string }
  | {
      readonly type: 'end';
      readonly at: string;
      readonly done: number;
      readonly failed: number;
      readonly skipped: number;
      readonly isInterrupted: boolean;
    };

export function stateDirectory(env: Readonly<Record<string, string | undefined>>): string {
  const named = env['XDG_STATE_HOME'];
  const base = named !== undefined && named.startsWith('/') ? named : join(homeFolder(env), '.local/state');
  return join(base, 'gantry');
}

export const runsDirectory = ({ directory, set }: Pick<JournalPlace, 'directory' | 'set'>): string =>
  join(directory, 'runs', set);

/** Number of journals to keep for each set. */
const maxJournals = 200;

/** Names begin with the time. */
function forgetOld(folder: string): void {
  const names = readdirSync(folder).filter((name) => name.endsWith('.ndjson'));
  const old = names.sort().slice(0, Math.max(0, names.length - maxJournals));
  for (const name of old) rmSync(join(folder, name), { force: true });
}

/** The journal of one run. After a write error it warns once and stops writing: the run matters more. */
export class Journal {
  readonly id: string;
  readonly #place: JournalPlace;
  readonly #nowMs: () => number;
  readonly #warn: (text: string) => void;
  #file: number | undefined;
  /** Lines of finished steps, for the next write. */
  #waiting = '';

  constructor(place: JournalPlace, runId: string, nowMs: () => number, warn: (text: string) => void) {
    this.#place = place;
    this.#nowMs = nowMs;
    this.#warn = warn;
    // The name sorts by time.
    this.id = `${new Date(nowMs()).toISOString().replaceAll(/[-:]/g, '').replace('.', '')}-${runId}`;
  }

  begin(plan: Plan): void {
    const { set, host } = this.#place;
    const changes = plan.changes.filter(isChange).map((change) => ({
      address: change.address,
      action: change.action === 'no-op' ? (change.power ?? 'record') : change.action,
      paths: change.changes.map(({ path }) => path),
    }));
    this.#guarded(() => {
      const folder = runsDirectory(this.#place);
      makeFolderSync(folder, 0o700);
      this.#file = openSync(join(folder, `${this.id}.ndjson`), 'ax', 0o600);
      forgetOld(folder);
    });
    this.#write({ type: 'run', at: this.#at(), id: this.id, set, host, mode: plan.mode, changes });
  }

  begun(step: Step, operation: Operation): void {
    this.#write({ type: 'operation', at: this.#at(), step: step.id, operation: operation.id });
  }

  event(event: EngineEvent): void {
    const at = new Date(event.atMs).toISOString();
    const step = event.step.id;
    if (event.type === 'apply_start') this.#write({ type: 'start', at, step });
    if (event.type === 'exec_output') {
      const { exec, code, output } = event;
      this.#write({ type: 'output', at, step, exec, code, output });
    }
    if (event.type === 'apply_complete') this.#append({ type: 'done', at, step, elapsedMs: event.elapsedMs });
    if (event.type === 'apply_skipped') this.#write({ type: 'skipped', at, step, because: event.because });
    if (event.type === 'apply_errored') {
      this.#write({ type: 'failed', at, step, code: event.failure.code, elapsedMs: event.elapsedMs });
    }
  }

  /** `undefined` when the run threw. */
  finish(result: RunResult | undefined): void {
    const { done = [], failures = [], skipped = [], isInterrupted = false } = result ?? {};
    const counts = { done: done.length, failed: failures.length, skipped: skipped.length };
    this.#write({ type: 'end', at: this.#at(), ...counts, isInterrupted });
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #at(): string {
    return new Date(this.#nowMs()).toISOString();
  }

  /** Writes at once, so that the line survives this process; a power cut may lose the last lines. */
  #write(line: JournalLine): void {
    this.#waiting += `${JSON.stringify(line)}\n`;
    this.#flush();
  }

  /** Writes with the next line, usually the start of the next step, or shortly after. A lost line can be recovered from the server. */
  #append(line: JournalLine): void {
    if (this.#waiting === '') setImmediate(() => this.#flush());
    this.#waiting += `${JSON.stringify(line)}\n`;
  }

  #flush(): void {
    const text = this.#waiting;
    this.#waiting = '';
    const file = this.#file;
    if (file !== undefined && text !== '') this.#guarded(() => void writeSync(file, text));
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#file = undefined;
      this.#warn(`the journal of this run cannot be written: ${reasonOf(error)}`);
    }
  }
}

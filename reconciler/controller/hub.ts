// Passes events of the controller to listeners of the API, and keeps the last lines of its log.
import type { HttpLog } from './http/app.ts';
import type { ControllerEvent, LogLevel, LogLine } from './contract/index.ts';
import type { OpenTracer } from '../../server/traces/open.ts';

const maxLines = 5000;
const order: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export class Hub {
  readonly #listeners = new Set<(event: ControllerEvent) => void>();
  readonly #lines: LogLine[] = [];
  /** Opens traces of runs; absent: no tracing. */
  tracing: OpenTracer | undefined;
  readonly #print: ((line: LogLine) => void) | undefined;

  /** `print` writes a line to the terminal of the controller. */
  constructor(print?: (line: LogLine) => void) {
    this.#print = print;
  }

  subscribe(listener: (event: ControllerEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** True if there are listeners; otherwise callers skip making events. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  emit(event: ControllerEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  log(level: LogLevel, message: string, about: Pick<LogLine, 'set' | 'host' | 'source'> = {}): void {
    const line: LogLine = { at: new Date().toISOString(), level, message, ...about };
    this.#lines.push(line);
    if (this.#lines.length > 2 * maxLines) this.#lines.splice(0, this.#lines.length - maxLines);
    this.#print?.(line);
    this.emit({ type: 'log', line });
  }

  /** The log of the HTTP API. */
  readonly httpLog: HttpLog = {
    debug: (message) => this.log('debug', message),
    info: (message) => this.log('info', message),
    warn: (message) => this.log('warn', message),
    error: (message) => this.log('error', message),
  };

  /** Oldest first: lines of that level and above. */
  lines(query: { readonly set?: string; readonly level?: LogLevel; readonly limit?: number } = {}): readonly LogLine[] {
    const { set, level = 'debug', limit = 500 } = query;
    return this.#lines
      .filter((line) => order.indexOf(line.level) >= order.indexOf(level) && (set === undefined || line.set === set))
      .slice(-limit);
  }
}

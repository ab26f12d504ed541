// The logging interface of rooms; the composition root decides what writes it (pino, an event feed).
import { errorText } from './shared/reason.ts';

export type LogContext = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  debug(message: string, context?: LogContext): void;
  info(message: string, context?: LogContext): void;
  warn(message: string, context?: LogContext): void;
  error(message: string, context?: LogContext): void;
  /** Whether debug lines go anywhere now; absent: yes. Callers that write one per request check it first. */
  writesDebug?(): boolean;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

export const readableLog = (log: Log, readable: (text: string) => string): Log => ({
  debug: (message, context) => log.debug(readable(message), context),
  info: (message, context) => log.info(readable(message), context),
  warn: (message, context) => log.warn(readable(message), context),
  error: (message, context) => log.error(readable(message), context),
  writesDebug: () => writesDebug(log),
});

export const writesDebug = (log: Log): boolean => log.writesDebug?.() ?? true;

/** For a failure that nobody else hears of. `what`: `Starting web again`. */
export const logFailure =
  (log: Pick<Log, 'error'>, what: string, context?: LogContext) =>
  (error: unknown): void =>
    log.error(`${what} failed: ${errorText(error)}`, context);

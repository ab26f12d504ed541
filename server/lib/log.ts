// The logging interface that rooms receive; what writes it (pino, an event feed) is decided by the composition root.

export type LogContext = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Log {
  debug(message: string, context?: LogContext): void;
  info(message: string, context?: LogContext): void;
  warn(message: string, context?: LogContext): void;
  error(message: string, context?: LogContext): void;
  /** Whether lines of level debug go anywhere now; absent: yes. Whoever writes one for each request asks before it makes one. */
  writesDebug?(): boolean;
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Passes lines on in words for people. */
export const readableLog = (log: Log, readable: (text: string) => string): Log => ({
  debug: (message, context) => log.debug(readable(message), context),
  info: (message, context) => log.info(readable(message), context),
  warn: (message, context) => log.warn(readable(message), context),
  error: (message, context) => log.error(readable(message), context),
  writesDebug: () => writesDebug(log),
});

export const writesDebug = (log: Log): boolean => log.writesDebug?.() ?? true;

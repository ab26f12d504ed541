// The process as the CLI sees it: streams, environment, signals. All input and output goes through it.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { watchReader } from './reader-watch.ts';
import { deferOptimization } from '../../../server/client/defer-optimization.ts';

export interface CliIo {
  readonly argv: readonly string[];
  /** The same words as bytes. Absent where they are not known. */
  readonly argvBytes?: () => readonly Buffer[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly userId: number;
  readonly nowMs: () => number;
  /** Calls back at each SIGINT, SIGTERM and SIGHUP; returns how to stop listening. */
  readonly onInterrupt: (listener: () => void) => () => void;
  /** Makes SIGHUP call this instead of interrupting. Absent where there are no signals. */
  readonly onHangup?: (listener: () => void) => void;
  /** Switches the terminal to raw input and output. */
  readonly setRaw?: (isRaw: boolean) => void;
  /** Calls back once when the reader of standard output has gone; returns how to stop listening. */
  readonly onReaderGone?: (listener: () => void) => () => void;
  /** Tells V8 to optimize less, since the daemon needs the processors more. */
  readonly deferOptimization?: () => void;
}

/** The words of the command line that started this process; flags of Node may come before ours. */
function commandLine(): readonly Buffer[] {
  // latin1 keeps each byte.
  const words = readFileSync('/proc/self/cmdline', 'latin1').split('\0').slice(0, -1);
  return words.map((word) => Buffer.from(word, 'latin1'));
}

export function processIo(): CliIo {
  let hungUp: (() => void) | undefined;
  return {
    argv: process.argv.slice(2),
    ...(process.platform === 'linux' ? { argvBytes: () => commandLine().slice(2 - process.argv.length) } : {}),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    userId: process.getuid?.() ?? 0,
    nowMs: Date.now,
    setRaw(isRaw) {
      if (!process.stdin.isTTY) return;
      process.stdin.setRawMode(isRaw);
      // Node's raw mode still adds a carriage return to each line feed; only stty can turn that off.
      if (isRaw) spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
    },
    onReaderGone: (listener) => watchReader(process.stdout.fd, process.pid, listener),
    // Optimizing would take processor time from the daemon.
    deferOptimization,
    onHangup(listener) {
      hungUp = listener;
    },
    onInterrupt(listener) {
      const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
      let count = 0;
      const stopListening = (): void => {
        for (const signal of signals) process.off(signal, onSignal);
      };
      // The third signal ends the process even if something cannot be interrupted, such as opening a pipe without a writer.
      const onSignal = (signal: NodeJS.Signals): void => {
        if (signal === 'SIGHUP' && hungUp !== undefined) return hungUp();
        count += 1;
        if (count === 2) stopListening();
        listener();
      };
      for (const signal of signals) process.on(signal, onSignal);
      return stopListening;
    },
  };
}

type Env = CliIo['env'];
const isSet = (value: string | undefined): boolean => value !== undefined && value !== '';

/** --no-color and NO_COLOR win over FORCE_COLOR; then a terminal that can. */
export function hasColor(env: Env, stream: { readonly isTTY?: boolean }, isWanted: boolean): boolean {
  if (!isWanted || isSet(env['NO_COLOR'])) return false;
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

/** Whether lines may be painted over: never in CI logs. */
export function canRepaint(env: Env, stream: { readonly isTTY?: boolean }): boolean {
  return stream.isTTY === true && env['TERM'] !== 'dumb' && !isSet(env['CI']);
}

// The exit codes of every command, in one table; 0 to 2 as Terraform has them, the rest stand above both conventions.
import type { RunResult } from '../../engine/execute.ts';

export const exitCodes = {
  ok: 0,
  error: 1,
  /** With --detailed-exitcode: there are changes. */
  changes: 2,
  /** Something changed since the plan that was approved. */
  stale: 3,
  /** The plan holds a change that protection or disruption rules refuse. */
  guard: 4,
  /** Someone else holds the lock. */
  locked: 5,
  notReady: 6,
  unreachable: 7,
  usage: 64,
  interrupted: 130,
  /** Whoever read the output has closed it (`| head`): as a shell says it of a program that SIGPIPE ended. */
  readerGone: 141,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** `gantry exec` ends with the command's own code, whatever that is. */
export const exitCodeOfCommand = (code: number): ExitCode => code as ExitCode;

/** Of several failures the one that needs the user's attention first decides. */
export function exitCodeOf(result: RunResult): ExitCode {
  const has = (code: string): boolean => result.failures.some((failure) => failure.code === code);
  if (result.isInterrupted && (result.skipped.length > 0 || result.failures.length > 0)) return exitCodes.interrupted;
  if (has('stale')) return exitCodes.stale;
  if (has('unreachable')) return exitCodes.unreachable;
  if (result.failures.length > 0 && result.failures.every(({ code }) => code === 'not-ready'))
    return exitCodes.notReady;
  return result.failures.length > 0 ? exitCodes.error : exitCodes.ok;
}

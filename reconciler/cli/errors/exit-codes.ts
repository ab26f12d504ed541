// The exit codes of every command, in one table; 0 to 2 match Terraform's.
import type { Plan } from '../../core/plan/plan.ts';
import { hasDifferences } from '../../core/plan/summary.ts';
import type { RunResult } from '../../engine/run-result.ts';

export const exitCodes = {
  ok: 0,
  error: 1,
  /** There are changes (--detailed-exitcode only). */
  changes: 2,
  /** Something changed since the plan that was approved. */
  stale: 3,
  /** The plan has a change that protection or disruption rules refuse. */
  guard: 4,
  /** Someone else holds the lock. */
  locked: 5,
  notReady: 6,
  unreachable: 7,
  usage: 64,
  interrupted: 130,
  /** The reader closed the output (`| head`): the code of a program that SIGPIPE ended. */
  readerGone: 141,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** `gantry exec` ends with the exit code of the command. */
export const exitCodeOfCommand = (code: number): ExitCode => code as ExitCode;

/** The most urgent of several failures decides. */
export function exitCodeOf(result: RunResult): ExitCode {
  const has = (code: string): boolean => result.failures.some((failure) => failure.code === code);
  if (result.isInterrupted && (result.skipped.length > 0 || result.failures.length > 0)) return exitCodes.interrupted;
  if (has('stale')) return exitCodes.stale;
  if (has('unreachable')) return exitCodes.unreachable;
  if (result.failures.length > 0 && result.failures.every(({ code }) => code === 'not-ready'))
    return exitCodes.notReady;
  return result.failures.length > 0 ? exitCodes.error : exitCodes.ok;
}

/** The exit code of a plan: applied or tried with this result, or only shown. */
export function exitCodeOfPlan(plan: Plan, isDetailed: boolean | undefined, result?: RunResult): ExitCode {
  const code = result === undefined ? exitCodes.ok : exitCodeOf(result);
  if (code !== exitCodes.ok) return code;
  if (plan.guards.length > 0) return exitCodes.guard;
  return isDetailed === true && hasDifferences(plan) ? exitCodes.changes : exitCodes.ok;
}

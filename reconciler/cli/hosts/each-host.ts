// Works on several hosts at once, up to a limit, and collects the outcome of each: a value or a failure.
import { inSpan } from '../../../server/lib/shared/spans.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import { codeOf, messageOf } from '../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { CliError } from '../errors/usage-error.ts';
import { mapAtMost } from '../../../server/lib/shared/concurrency-limit.ts';

export interface HostFailure {
  readonly code: ExitCode;
  readonly message: string;
}

export type HostOutcome<T> =
  | { readonly host: Host; readonly value: T; readonly failure?: undefined }
  | { readonly host: Host; readonly failure: HostFailure };

/** Concurrency limit: hosts may be slow, but cost little here. */
const hostsAtOnce = 10;

/** Outcomes in the given order. Rejects only when `stop` fires, with its reason and the hosts without an answer. */
export async function eachHost<One extends { readonly host: Host }, T>(
  hosts: readonly One[],
  work: (one: One) => Promise<T>,
  stop: AbortSignal,
  atOnce = hostsAtOnce,
): Promise<readonly HostOutcome<T>[]> {
  const outcomes = new Map<One, HostOutcome<T>>();
  await mapAtMost(atOnce, hosts, async (one) => {
    if (stop.aborted) return;
    const outcome = await outcomeOf(one, work);
    if (!stop.aborted) outcomes.set(one, outcome);
  });
  if (stop.aborted) {
    const silent = hosts.flatMap((one) => (outcomes.has(one) ? [] : [one.host.name]));
    throw new CliError(`${messageOf(stop.reason)}; no answer from: ${silent.join(', ')}`, codeOf(stop.reason));
  }
  return hosts.flatMap((one) => outcomes.get(one) ?? []);
}

export async function outcomeOf<One extends { readonly host: Host }, T>(
  one: One,
  work: (one: One) => Promise<T>,
): Promise<HostOutcome<T>> {
  const { host } = one;
  try {
    const attributes = { 'gantry.host': host.name };
    return { host, value: await inSpan(`host ${host.name}`, { attributes }, () => work(one)) };
  } catch (error) {
    return { host, failure: { code: codeOf(error), message: messageOf(error) } };
  }
}

const order: readonly ExitCode[] = [
  exitCodes.interrupted,
  exitCodes.usage,
  exitCodes.unreachable,
  exitCodes.stale,
  exitCodes.locked,
  exitCodes.error,
  exitCodes.guard,
  exitCodes.notReady,
  exitCodes.changes,
];

/** The most urgent of several exit codes. */
export const worstCode = (codes: readonly ExitCode[]): ExitCode =>
  order.find((code) => codes.includes(code)) ?? exitCodes.ok;

const words = new Map<ExitCode, string>([
  [exitCodes.interrupted, 'interrupted'],
  [exitCodes.unreachable, 'unreachable'],
  [exitCodes.stale, 'stale'],
  [exitCodes.locked, 'locked'],
  [exitCodes.guard, 'refused'],
  [exitCodes.notReady, 'not ready'],
  [exitCodes.ok, 'done'],
  [exitCodes.changes, 'done'],
]);

/** `unreachable`, for tables. */
export const outcomeWord = (code: ExitCode): string => words.get(code) ?? 'failed';

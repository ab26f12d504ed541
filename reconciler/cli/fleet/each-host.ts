// Does something for several hosts at once, a bounded number of them, and keeps what came of each: a value or why there is none.
import type { Host } from '../../manifest/hosts-file.ts';
import { codeOf, messageOf } from '../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { CliError } from '../errors/usage-error.ts';

export interface HostFailure {
  readonly code: ExitCode;
  readonly message: string;
}

export type HostOutcome<T> =
  | { readonly host: Host; readonly value: T; readonly failure?: undefined }
  | { readonly host: Host; readonly failure: HostFailure };

/** Hosts that are asked at the same time; each may be slow, none is much work here. */
export const hostsAtOnce = 10;

/** In the order given. Rejects only when `stop` fires, with its reason and who was not heard of. */
export async function eachHost<T>(
  hosts: readonly Host[],
  work: (host: Host) => Promise<T>,
  stop: AbortSignal,
  atOnce = hostsAtOnce,
): Promise<readonly HostOutcome<T>[]> {
  const outcomes = new Map<Host, HostOutcome<T>>();
  const left = [...hosts];
  const worker = async (): Promise<void> => {
    for (let host = left.shift(); host !== undefined && !stop.aborted; host = left.shift()) {
      const outcome = await outcomeOf(host, work);
      if (!stop.aborted) outcomes.set(host, outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, hosts.length) }, worker));
  if (stop.aborted) {
    const silent = hosts.filter((host) => !outcomes.has(host)).map(({ name }) => name);
    throw new CliError(`${messageOf(stop.reason)}; no answer from: ${silent.join(', ')}`, codeOf(stop.reason));
  }
  return hosts.flatMap((host) => outcomes.get(host) ?? []);
}

export async function outcomeOf<T>(host: Host, work: (host: Host) => Promise<T>): Promise<HostOutcome<T>> {
  try {
    return { host, value: await work(host) };
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

/** Of several hosts' codes the one that needs attention first. */
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

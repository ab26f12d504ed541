// The order of a rollout: canaries first, then batches of hosts. Pure.
import { usageError } from '../errors/usage-error.ts';
import type { RolloutOptions } from '../flags/host-flags.ts';

export interface Batch<T> {
  readonly isCanary: boolean;
  readonly hosts: readonly T[];
}

interface Named {
  readonly name: string;
}

/** `hosts`: hosts with changes, in the order of the file. `known`: further names that --canary accepts. */
export function batchesOf<T extends Named>(
  options: RolloutOptions,
  hosts: readonly T[],
  known: readonly string[],
): readonly Batch<T>[] {
  const size = sizeOf(options.batch ?? '1', hosts.length);
  const canaries = canariesOf(options.canary, hosts, known);
  const rest = hosts.filter((host) => !canaries.includes(host));
  const batches: Batch<T>[] = canaries.length === 0 ? [] : [{ isCanary: true, hosts: canaries }];
  for (let at = 0; at < rest.length; at += size) batches.push({ isCanary: false, hosts: rest.slice(at, at + size) });
  return batches;
}

/** Refuses wrong flags before anything is read. */
export function checkBatchFlags(options: RolloutOptions): void {
  sizeOf(options.batch ?? '1', 1);
  if (options.canary === '' || options.canary === '0')
    throw usageError('--canary takes names of hosts or their number');
}

/** A share is rounded up to at least one host. */
function sizeOf(text: string, count: number): number {
  const match = /^(\d{1,6})(%?)$/.exec(text);
  const number = Number(match?.[1]);
  const isShare = match?.[2] === '%';
  if (match === null || number < 1 || (isShare && number > 100))
    throw usageError(
      `--batch ${JSON.stringify(text)} is neither a number of hosts (at least 1) nor a share such as 25%`,
    );
  return isShare ? Math.max(1, Math.ceil((count * number) / 100)) : number;
}

function canariesOf<T extends Named>(
  text: string | undefined,
  hosts: readonly T[],
  known: readonly string[],
): readonly T[] {
  if (text === undefined) return [];
  if (/^\d+$/.test(text) && !known.includes(text)) return hosts.slice(0, Number(text));
  const names = text.split(',').map((name) => name.trim());
  const strange = names.find((name) => !known.includes(name));
  if (strange !== undefined)
    throw usageError(`--canary: ${strange} is not among the selected hosts (${known.slice(0, 12).join(', ')})`);
  return hosts.filter(({ name }) => names.includes(name));
}

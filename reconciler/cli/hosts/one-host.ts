// Runs a command that works on one host only on the host that --hosts selects.
import { usageError } from '../errors/usage-error.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import type { Fleet, Context } from '../session/context.ts';
import { oneHostContext, scopeOf } from './host-context.ts';

/** `what`: names the command in the message when several hosts are selected. */
export function onOneHost<O extends HostOptions, Result>(
  context: Context<O>,
  { chosen, all }: Fleet,
  what: string,
  work: (context: Context<O>) => Promise<Result>,
): Promise<Result> {
  const [host, ...others] = chosen;
  if (host === undefined || others.length > 0) {
    const names = chosen.map((one) => one.name).slice(0, 12);
    throw usageError(`${what} works on one host: select it with --host (${names.join(', ')})`);
  }
  return work(oneHostContext(context, host, scopeOf(all, undefined)));
}

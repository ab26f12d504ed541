// `gantry lock|force-unlock --hosts`: the lock of the set on each host, each on its own; what could not be locked is told.
import { forceUnlock, lock } from '../verbs/applying/lock.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import { isApproved, type CliOptions } from '../flags/options.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { codeOfAll, errorOf, hear, hostsToHear, type HeardHost } from './ask-hosts.ts';

export async function lockFleet(context: OpenContext, fleet: Fleet, options: CliOptions): Promise<ExitCode> {
  const { for: duration, reason } = options as { readonly for?: string; readonly reason?: string };
  const wanted = { ...(duration === undefined ? {} : { for: duration }), ...(reason === undefined ? {} : { reason }) };
  return tell(context, await hear(context, hostsToHear(context, fleet), (own) => lock(own, wanted), { isJson: false }));
}

export async function unlockFleet(context: OpenContext, fleet: Fleet, id: string | undefined): Promise<ExitCode> {
  if (id !== undefined) throw usageError(`the lock ${id} is of one host: name that host with --host`);
  if (!isApproved(context.options))
    throw usageError('taking the locks of several hosts away is not asked one by one: approve it with --auto-approve');
  const heard = await hear(context, hostsToHear(context, fleet), (own) => forceUnlock(own, undefined), {
    isJson: false,
  });
  return tell(context, heard);
}

function tell(context: OpenContext, heard: readonly HeardHost[]): ExitCode {
  const textOf = (one: HeardHost): string => (one.failure === undefined ? one.value.text.trimEnd() : '');
  if (context.isJson) {
    const hosts = heard.map((one) => ({
      host: one.host.name,
      ...(one.failure === undefined ? { message: textOf(one) } : errorOf(one)),
    }));
    context.io.stdout.write(`${JSON.stringify({ hosts })}\n`);
  } else for (const one of heard) if (one.failure === undefined) context.out(`${one.host.name}: ${textOf(one)}`);
  return codeOfAll(heard);
}

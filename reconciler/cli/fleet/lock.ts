// `gantry lock|force-unlock --hosts`: the lock of the set on each host, each on its own; what could not be locked is told.
import { forceUnlock, lock } from '../verbs/applying/lock.ts';
import type { OpenContext } from '../session/context.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import { isApproved } from '../flags/plan-flags.ts';
import type { LockOptions, UnlockOptions } from '../verbs/applying/applying-verbs.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Fleet } from './choose-hosts.ts';
import { codeOfAll, errorOf, hear, hostsToHear, type HeardHost } from './ask-hosts.ts';

export async function lockFleet(context: OpenContext<LockOptions>, fleet: Fleet): Promise<ExitCode> {
  return tell(context, await hear(context, hostsToHear(context, fleet), lock, { isJson: false }));
}

export async function unlockFleet(
  context: OpenContext<UnlockOptions>,
  fleet: Fleet,
  id: string | undefined,
): Promise<ExitCode> {
  if (id !== undefined) throw usageError(`lock ids are those of one host: select the host of ${id} with --host`);
  if (!isApproved(context.options)) throw usageError('removing the locks of several hosts needs --auto-approve');
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

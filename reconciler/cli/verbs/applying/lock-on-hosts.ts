// `gantry lock|force-unlock --hosts`: the lock of the set on each host; hosts that could not be locked are listed.
import type { RunOnHosts } from '../../hosts/choose-hosts.ts';
import { forceUnlock, lock } from './lock.ts';
import type { OpenContext } from '../../session/context.ts';
import type { ExitCode } from '../../errors/exit-codes.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import type { LockOptions, UnlockOptions } from './applying-verbs.ts';
import { usageError } from '../../errors/usage-error.ts';
import { worstCodeOf, errorOf, askHosts, hostsToAsk, type HostAnswer } from '../../hosts/ask-hosts.ts';

export const lockFleet: RunOnHosts<LockOptions> = async (context, fleet) => {
  return tell(context, await askHosts(context, hostsToAsk(context, fleet), (own) => lock(own, []), { isJson: false }));
};

export const unlockFleet: RunOnHosts<UnlockOptions> = async (context, fleet, [id]) => {
  if (id !== undefined) throw usageError(`lock ids are those of one host: select the host of ${id} with --host`);
  if (!isApproved(context.options)) throw usageError('removing the locks of several hosts needs --auto-approve');
  const answers = await askHosts(context, hostsToAsk(context, fleet), (own) => forceUnlock(own, []), {
    isJson: false,
  });
  return tell(context, answers);
};

function tell(context: OpenContext, answers: readonly HostAnswer[]): ExitCode {
  const textOf = (one: HostAnswer): string => (one.failure === undefined ? one.value.text.trimEnd() : '');
  if (context.isJson) {
    const hosts = answers.map((one) => ({
      host: one.host.name,
      ...(one.failure === undefined ? { message: textOf(one) } : errorOf(one)),
    }));
    context.io.stdout.write(`${JSON.stringify({ hosts })}\n`);
  } else for (const one of answers) if (one.failure === undefined) context.out(`${one.host.name}: ${textOf(one)}`);
  return worstCodeOf(answers);
}

// `gantry run`: keeps a host, or several, as declared until it is stopped.
import type { Client } from '../../../../server/client/client.ts';
import { parseWindow, type Window } from '../../../core/drift/repair-pace.ts';
import type { Run } from '../../session/context.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { parseCount } from '../../flags/parse-values.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import type { RunVerbOptions } from './applying-verbs.ts';
import { retryUntilReachable } from '../../watch/retry-until-reachable.ts';
import { messageOf } from '../../session/revision.ts';
import { loadSet } from '../../session/load-set.ts';
import { withClient } from '../../session/connect.ts';
import { withTracer } from '../../session/trace-verb.ts';
import { usageError } from '../../errors/usage-error.ts';
import { endOf, timesOf } from '../../watch/watch-times.ts';
import { firstOf, Keeper, type RunContext, type RunSettings } from './keeper.ts';

const defaultIntervalMs = 60_000;

export const run: Run<RunVerbOptions> = (context, args, fleet) => {
  const settings = runSettings(context);
  return withTracer(context, async (tracer) =>
    fleet === undefined
      ? runTraced(context, args, { ...settings, tracer })
      : (await import('./run-on-hosts.ts')).runOnHosts(context, fleet, args, { ...settings, tracer }),
  );
};

async function runTraced(context: RunContext, args: readonly string[], settings: RunSettings): Promise<ExitCode> {
  const end = endOf(context, settings.limitMs);
  // Manifests from stdin cannot be read again.
  const isOnce = args.includes('-');
  const read = isOnce ? {} : { read: (own: RunContext) => loadSet(own, args) };
  try {
    const loaded = await firstOf(context, isOnce, end, (own) => loadSet(own, args));
    const work = async (client: Client): Promise<void> => {
      const keeper = new Keeper(context, client, { ...settings, ...read, loaded });
      await keeper.keep(end);
    };
    // An embedded daemon that fails to start is not a temporary error.
    const passes = (error: unknown): boolean =>
      context.options.embedded === undefined && codeOf(error) === exitCodes.unreachable;
    await retryUntilReachable(context, () => withClient({ ...context, stop: end }, work), {
      what: 'the server',
      passes,
      end,
    });
  } catch (error) {
    // An interruption is the normal end.
    if (context.stop.aborted && codeOf(context.stop.reason) === exitCodes.interrupted) return exitCodes.ok;
    throw error;
  }
  return exitCodes.ok;
}

/** Refuses wrong flags before anything is read. */
function runSettings(context: RunContext): RunSettings {
  const { options } = context;
  if (!isApproved(options)) throw usageError('run applies changes without asking: it needs --auto-approve');
  messageOf(context);
  parseCount('--parallelism', options.parallelism);
  return { ...timesOf(options, defaultIntervalMs), windows: (options.window ?? []).map(windowOf) };
}

function windowOf(text: string): Window {
  const window = parseWindow(text);
  if (window === undefined)
    throw usageError(`--window ${JSON.stringify(text)} is not a time of day (UTC) such as 22:00-06:00`);
  return window;
}

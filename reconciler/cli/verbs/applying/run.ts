// `gantry run`: keeps a host, or several, as declared until it is stopped, with the loop of the controller.
import { setMaxListeners } from 'node:events';
import type { Window } from '../../../controller/config/config.ts';
import { dailyWindow } from '../../../controller/decide/windows.ts';
import { SourceWatch } from '../../../controller/sets/source-watch.ts';
import type { Fleet, Run } from '../../session/context.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import type { RunVerbOptions } from './applying-verbs.ts';
import { checkRolloutFlags } from './rollout.ts';
import type { RunHostsDeps, RunContext, RunSettings } from './run-context.ts';
import { RunHosts } from './run-hosts.ts';
import { ManifestSource } from './run-manifests.ts';
import { messageOf } from '../../session/revision.ts';
import { openClient, withClient } from '../../session/connect.ts';
import { withTracer } from '../../session/trace-verb.ts';
import { usageError } from '../../errors/usage-error.ts';
import { endOf, timesOf } from '../../watch/watch-times.ts';

const defaultIntervalMs = 60_000;

export const run: Run<RunVerbOptions> = (context, args, fleet) => {
  const settings = runSettings(context);
  const { embedded, runtime } = context.options;
  return withTracer(context, (tracer) => {
    const keep = (connect: RunHostsDeps['connect']): Promise<ExitCode> =>
      keepHosts(context, args, fleet, connect, { ...settings, tracer });
    return embedded === undefined && runtime === undefined
      ? keep(openClient)
      : withClient(context, (client) => keep(async () => client));
  });
};

async function keepHosts(
  context: RunContext,
  args: readonly string[],
  fleet: Fleet | undefined,
  connect: RunHostsDeps['connect'],
  settings: RunSettings,
): Promise<ExitCode> {
  const fatal = new AbortController();
  const end = AbortSignal.any([endOf(context, settings.limitMs), fatal.signal]);
  // Each host's loop adds a listener; Node warns from the eleventh on.
  setMaxListeners(0, end);
  const fail = (error: unknown): void => fatal.abort(error);
  const source = new ManifestSource(context, args, fleet, fail);
  const hosts = new RunHosts({ context, isFleet: fleet !== undefined, connect, settings, end, fail });
  const once = new AbortController();
  const watch = new SourceWatch({
    source,
    intervalMs: () => hosts.intervalMs(),
    onRevision: async ({ revision }) => {
      await hosts.offer(revision, source.latest);
      if (source.isReadOnce) once.abort();
    },
    onStatus: () => {},
    onError: (why) => source.showError(why),
    nowMs: context.io.nowMs,
  });
  await watch.run(AbortSignal.any([end, once.signal]));
  await hosts.ended();
  if (fatal.signal.aborted) throw fatal.signal.reason;
  // An interruption is the normal end.
  if (context.stop.aborted && codeOf(context.stop.reason) === exitCodes.interrupted) return exitCodes.ok;
  if (source.latest.length === 0) throw source.failure;
  return hosts.code();
}

/** Refuses wrong flags before anything is read. */
function runSettings(context: RunContext): RunSettings {
  const { options } = context;
  if (!isApproved(options)) throw usageError('run applies changes without asking: it needs --auto-approve');
  messageOf(context);
  checkRolloutFlags(context);
  return { ...timesOf(options, defaultIntervalMs), windows: (options.window ?? []).map(windowOf) };
}

function windowOf(text: string): Window {
  const window = dailyWindow(text);
  if (window === undefined)
    throw usageError(`--window ${JSON.stringify(text)} is not a time of day (UTC) such as 22:00-06:00`);
  return window;
}

// What a command does with --hosts: some work on several hosts at once, all others on the one that is chosen.
import type { Plan } from '../../core/plan/plan.ts';
import type { OpenContext } from '../session/context.ts';
import type { DriftCommandOptions } from '../verbs/planning/drift-options.ts';
import type { ExitCode } from '../errors/exit-codes.ts';
import { dryRunKind, type CliOptions } from '../flags/options.ts';
import { savedPlanAt } from '../verbs/planning/saved-plan.ts';
import { usageError } from '../errors/usage-error.ts';
import { chooseHosts, type Fleet } from './choose-hosts.ts';
import { oneHostContext, scopeOf } from './host-context.ts';

export interface SingleCommand {
  readonly name: string;
  readonly work: (context: OpenContext, args: readonly string[], options: CliOptions) => Promise<ExitCode>;
}

type FleetCommand = (
  context: OpenContext,
  fleet: Fleet,
  args: readonly string[],
  options: CliOptions,
) => Promise<ExitCode>;

async function applyFleet(context: OpenContext, fleet: Fleet, args: readonly string[]): Promise<ExitCode> {
  const { fleetPlanAt } = await import('./fleet-plan.ts');
  const saved = await fleetPlanAt(args);
  if (saved === undefined) return changeFleet(context, fleet, args, 'apply');
  return dryRunKind(context.options) === undefined
    ? (await import('./rollout.ts')).rollOutSaved(context, fleet, saved)
    : (await import('./plan.ts')).dryRunSaved(context, fleet, saved);
}

const changeFleet = async (
  context: OpenContext,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> =>
  dryRunKind(context.options) === undefined
    ? (await import('./rollout.ts')).rollOut(context, fleet, args, mode)
    : (await import('./plan.ts')).planFleet(context, fleet, args, mode);

const commands: Readonly<Record<string, FleetCommand>> = {
  plan: async (context, fleet, args, options) =>
    (await import('./plan.ts')).planFleet(
      context,
      fleet,
      args,
      (options as { readonly destroy?: boolean }).destroy === true ? 'destroy' : 'apply',
    ),
  apply: applyFleet,
  destroy: (context, fleet, args) => changeFleet(context, fleet, args, 'destroy'),
  rollback: async (context, fleet, args) => (await import('./rollback.ts')).rollBackFleet(context, fleet, args[0]),
  run: async (context, fleet, args, options) => (await import('./run.ts')).runFleet(context, fleet, args, options),
  drift: async (context, fleet, args, options) =>
    (options as DriftCommandOptions).watch === true
      ? (await import('./watch.ts')).watchFleet(context, fleet, args, options)
      : (await import('./drift-status-get.ts')).driftFleet(context, fleet, args, options),
  status: async (context, fleet, args) => (await import('./drift-status-get.ts')).statusFleet(context, fleet, args),
  get: async (context, fleet, args) => (await import('./drift-status-get.ts')).getFleet(context, fleet, args),
  diff: async (context, fleet, args) => (await import('./diff-history-doctor.ts')).diffFleet(context, fleet, args),
  history: async (context, fleet) => (await import('./diff-history-doctor.ts')).historyFleet(context, fleet),
  lock: async (context, fleet, _args, options) => (await import('./lock.ts')).lockFleet(context, fleet, options),
  'force-unlock': async (context, fleet, args) => (await import('./lock.ts')).unlockFleet(context, fleet, args[0]),
  export: async (context, fleet, args, options) =>
    (await import('./export.ts')).exportFleet(context, fleet, args, options),
  doctor: async (context, fleet) => (await import('./diff-history-doctor.ts')).doctorFleet(context, fleet),
  validate: async (context, fleet, args) => (await import('./validate.ts')).validateFleet(context, fleet, args),
};

export async function onHosts(
  context: OpenContext,
  args: readonly string[],
  options: CliOptions,
  { name, work }: SingleCommand,
): Promise<ExitCode> {
  const fleet = await chooseHosts(context);
  const several = commands[name];
  const onlyOne = name === 'apply' && (await savedPlanAt(args, context)) !== undefined ? 'a kept plan' : undefined;
  if (several !== undefined && onlyOne === undefined) return several(context, fleet, args, options);
  const [host, ...others] = fleet.chosen;
  if (host === undefined || others.length > 0) {
    const names = fleet.chosen.map((one) => one.name).slice(0, 12);
    throw usageError(
      `${onlyOne ?? `gantry ${name}`} is for one host: name it with --host, such as ${names.join(', ')}`,
    );
  }
  return work(oneHostContext(context, host, scopeOf(fleet.all, undefined)), args, options);
}

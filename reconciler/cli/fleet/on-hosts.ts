// What a command does with --hosts: some work on several hosts at once, all others on the one that is chosen.
import type { OpenContext } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { dryRunKind, type CliOptions } from '../options.ts';
import { savedPlanAt } from '../saved-plan.ts';
import { usageError } from '../usage-error.ts';
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
  const [{ rollOut, rollOutSaved }, { fleetPlanAt }] = await Promise.all([
    import('./rollout.ts'),
    import('./fleet-plan.ts'),
  ]);
  const saved = await fleetPlanAt(args);
  return saved === undefined ? rollOut(context, fleet, args, 'apply') : rollOutSaved(context, fleet, saved);
}

const commands: Readonly<Record<string, FleetCommand>> = {
  plan: async (context, fleet, args, options) =>
    (await import('./plan.ts')).planFleet(
      context,
      fleet,
      args,
      (options as { readonly destroy?: boolean }).destroy === true ? 'destroy' : 'apply',
    ),
  apply: async (context, fleet, args) =>
    dryRunKind(context.options) === 'client'
      ? (await import('./plan.ts')).planFleet(context, fleet, args, 'apply')
      : applyFleet(context, fleet, args),
  destroy: async (context, fleet, args) =>
    dryRunKind(context.options) === 'client'
      ? (await import('./plan.ts')).planFleet(context, fleet, args, 'destroy')
      : (await import('./rollout.ts')).rollOut(context, fleet, args, 'destroy'),
  drift: async (context, fleet, args, options) => (await import('./read.ts')).driftFleet(context, fleet, args, options),
  status: async (context, fleet, args) => (await import('./read.ts')).statusFleet(context, fleet, args),
  get: async (context, fleet, args) => (await import('./read.ts')).getFleet(context, fleet, args),
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
  const onlyOne = await whyOnlyOne(context, args, name, several);
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

/** What of the command line can be had for one host only. */
async function whyOnlyOne(
  context: OpenContext,
  args: readonly string[],
  name: string,
  several: FleetCommand | undefined,
): Promise<string | undefined> {
  if (several === undefined) return undefined;
  if (dryRunKind(context.options) === 'server') return '--dry-run=server';
  if (name === 'drift' && (context.options as { readonly watch?: boolean }).watch === true) return '--watch';
  return name === 'apply' && (await savedPlanAt(args, context)) !== undefined ? 'a kept plan' : undefined;
}

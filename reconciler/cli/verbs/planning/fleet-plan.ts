// A saved plan of several hosts: one file with the plan of each, bound to its server, and applied with the same hosts file.
import { readFile } from 'node:fs/promises';
import type { Plan } from '../../../core/plan/plan.ts';
import type { SavedPlan } from '../../../core/history/saved-plan.ts';
import { resume } from '../../session/resume.ts';
import type { Fleet, Context } from '../../session/context.ts';
import type { ApplyOptions } from '../../flags/plan-flags.ts';
import { checkedPlan, fleetPlanFormat, planAgain, startsAs } from './saved-plan.ts';
import { withClient } from '../../session/connect.ts';
import { usageError } from '../../errors/usage-error.ts';
import { hostsToAsk } from '../../hosts/ask-hosts.ts';
import { eachHost, type HostOutcome } from '../../hosts/each-host.ts';
import type { PlannedHost } from './plan-hosts.ts';

export interface FleetPlan {
  readonly mode: Plan['mode'];
  readonly createdAt: string;
  /** Keys are names of the hosts file. */
  readonly plans: ReadonlyMap<string, SavedPlan>;
}

/** The content of the file; its first member identifies the format. */
export const fleetPlanOf = (plans: ReadonlyMap<string, SavedPlan>, nowMs: number): object => ({
  format: fleetPlanFormat,
  version: 1,
  createdAt: new Date(nowMs).toISOString(),
  hosts: [...plans].map(([name, plan]) => ({ name, plan })),
});

export const isFleetPlan = async ([path, ...others]: readonly string[]): Promise<boolean> =>
  path !== undefined && path !== '-' && others.length === 0 && startsAs(path, fleetPlanFormat);

/** Undefined unless the only argument names a saved plan. */
export async function fleetPlanAt(args: readonly string[]): Promise<FleetPlan | undefined> {
  const [path = ''] = args;
  if (!(await isFleetPlan(args))) return undefined;
  const file = parse(await readFile(path, 'utf8'), path);
  const plans = new Map(file.hosts.map(({ name, plan }) => [name, checkedPlan(JSON.stringify(plan), path)]));
  const [first] = plans.values();
  if (first === undefined) throw usageError(`${path} contains no plan`);
  return { mode: first.mode, createdAt: file.createdAt, plans };
}

interface File {
  readonly version: number;
  readonly createdAt: string;
  readonly hosts: readonly { readonly name: string; readonly plan: object }[];
}

function parse(text: string, path: string): File {
  let file: Partial<File>;
  try {
    file = JSON.parse(text) as Partial<File>;
  } catch {
    throw usageError(`${path} is damaged: make the plan again`);
  }
  if (file.version !== 1) throw usageError(`${path} was made by a newer gantry: make the plan again`);
  return { version: 1, createdAt: String(file.createdAt), hosts: Array.isArray(file.hosts) ? file.hosts : [] };
}

/** The remaining part of the plan on each selected host. */
export async function planSaved(
  context: Context<ApplyOptions>,
  fleet: Fleet,
  { plans }: FleetPlan,
): Promise<readonly HostOutcome<PlannedHost>[]> {
  const known = new Set(fleet.all.map(({ name }) => name));
  const lost = [...plans.keys()].filter((name) => !known.has(name));
  if (lost.length > 0) throw usageError(`the hosts file no longer has ${lost.join(', ')}: make the plan again`);
  const hosts = hostsToAsk(context, fleet).flatMap((one) => {
    const saved = plans.get(one.host.name);
    return saved === undefined ? [] : [{ ...one, saved }];
  });
  if (hosts.length === 0)
    throw usageError(`the plan is for ${[...plans.keys()].join(', ')}, none of which is selected`);
  return eachHost(
    hosts,
    ({ host, context: own, saved }) =>
      withClient(own, async (client): Promise<PlannedHost> => {
        await resume(own, client, saved.set);
        return { host, context: own, isUnselected: false, planned: await planAgain(own, client, saved) };
      }),
    context.stop,
  );
}

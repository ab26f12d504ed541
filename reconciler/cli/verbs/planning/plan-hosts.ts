// Plans several hosts concurrently. A host that cannot be planned gets a failure in place of a plan.
import type { Plan } from '../../../core/plan/plan.ts';
import { hasDifferences } from '../../../core/plan/summary.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Command } from '../../session/context.ts';
import type { DryRun } from '../../../core/plan/dry-run.ts';
import type { RunResult } from '../../../engine/run-result.ts';
import type { ApplyOptions } from '../../flags/plan-flags.ts';
import { planOf, type SetPlan, type ReadClient } from '../../session/plan.ts';
import { withClient } from '../../session/connect.ts';
import type { Client } from '../../../../server/client/client.ts';
import { eachHost, type HostOutcome } from '../../hosts/each-host.ts';
import type { HostContext } from '../../hosts/host-context.ts';
import { showDiagnostics, type LoadedHost } from '../../hosts/load-hosts.ts';

/** `result` is absent when there was nothing to do. */
export type TriedPlan = DryRun & { readonly result?: RunResult };

export interface PlannedHost {
  readonly host: Host;
  readonly context: HostContext<ApplyOptions>;
  readonly isUnselected: boolean;
  readonly planned: SetPlan;
  /** Adds the place in the manifests to a diagnostic; absent without manifests. */
  readonly locate?: Loaded['locate'];
  /** The outcome on a copy of the host. */
  readonly tried?: TriedPlan;
  /** Makes the plan again; absent when exactly this plan was approved. */
  readonly replan?: (client: Client) => Promise<SetPlan>;
}

export interface PlanHostsOptions {
  readonly mode: Plan['mode'];
  /** Work on each host before and after its plan is made. */
  readonly before?: (host: LoadedHost, client: Client) => Promise<void>;
  readonly after?: (host: LoadedHost, client: Client, planned: SetPlan) => Promise<void>;
}

export async function planHosts(
  context: Command,
  loaded: readonly LoadedHost[],
  { mode, before, after }: PlanHostsOptions,
): Promise<readonly HostOutcome<PlannedHost>[]> {
  const outcomes = await eachHost(
    loaded,
    (one) =>
      withClient(one.context, async (client): Promise<PlannedHost> => {
        await before?.(one, client);
        const planned = await planOne(one, client, mode);
        await after?.(one, client, planned);
        const { locate } = one.loaded;
        return { ...one, planned, locate, replan: (again) => planOne(one, again, mode) };
      }),
    context.stop,
  );
  await showDiagnostics(
    context,
    loaded.map(({ host, context: own }) => ({ host, diagnostics: own.collected })),
    loaded.length,
  );
  return outcomes;
}

/** A host without selected objects is planned without documents, since no targets would mean everything. */
const planOne = (
  { context, loaded, isUnselected }: LoadedHost,
  client: ReadClient,
  mode: Plan['mode'],
): Promise<SetPlan> =>
  isUnselected
    ? planOf({ ...context, options: withoutSelectors(context) }, client, { ...loaded, documents: [] }, mode)
    : planOf(context, client, loaded, mode);

function withoutSelectors({ options }: LoadedHost['context']): LoadedHost['context']['options'] {
  const { objectSelector: _objects, selector: _hosts, prune: _prune, ...rest } = options;
  return rest;
}

export const planHasDifferences = ({ planned }: PlannedHost): boolean => hasDifferences(planned.plan);

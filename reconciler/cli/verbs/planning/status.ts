// `gantry status`: each declared object with its live state, its addresses, and whether a plan would change it.
import type { Client } from '../../../../server/client/client.ts';
import type { ContainerState } from '../../../../server/api/container/container.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import type { Plan, ResourceChange } from '../../../core/plan/plan.ts';
import { globalAddresses } from '../../../../server/client/wait/describe-state.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Command, Context, Run } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { askLoaded, jsonRows, renderHosts, worstCodeOf } from '../../hosts/ask-hosts.ts';
import type { StatusOptions } from './planning-verbs.ts';
import { planOf } from '../../session/plan.ts';
import { withClient } from '../../session/connect.ts';

interface HostStatus {
  readonly rows: readonly StatusRow[];
  readonly code: ExitCode;
}

interface StatusRow {
  readonly address: string;
  readonly state: string;
  readonly sync: string;
  readonly addresses: readonly string[];
}

export const status: Run<StatusOptions> = async (context, args, fleet) => {
  const answers = await askLoaded(context, fleet, args, statusOn);
  if (context.isJson) context.io.stdout.write(`${JSON.stringify(jsonRows(answers, ({ rows }) => rows))}\n`);
  else
    context.out(
      renderHosts(context, fleet, answers, {
        head: ['OBJECT', 'STATE', 'MANIFEST', 'ADDRESSES'],
        rows: ({ rows }) =>
          rows.map(({ address, state, sync, addresses }) => [address, state, sync, addresses.join(' ')]),
        failed: (word, message) => ['', word, '', message],
      }),
    );
  return worstCodeOf(answers);
};

async function statusOn(context: Context<StatusOptions>, loaded: Loaded): Promise<HostStatus> {
  return withClient(context, async (client) => {
    const { plan } = await planOf(context, client, loaded, 'apply');
    const rows = statusRows(plan, await containerStates(context, client, plan));
    const isChanged = plan.changes.some((change) => syncOf(change) !== 'in sync');
    return { rows, code: context.options.detailedExitcode === true && isChanged ? exitCodes.changes : exitCodes.ok };
  });
}

/** The states of declared containers that exist. Skips one that is deleted in the meantime. */
async function containerStates(
  context: Command,
  client: Client,
  plan: Plan,
): Promise<ReadonlyMap<string, ContainerState>> {
  const declared = plan.changes.filter(({ kind, action }) => kind === 'container' && action !== 'create');
  const read = declared.map(async ({ name, live }) => {
    const { project } = (live ?? {}) as { readonly project?: string };
    const there = project === undefined ? client : client.inProject(project);
    const reply = await there.containerState(plainName(name, project), context.stop).catch(() => undefined);
    return reply === undefined ? [] : [[name, reply.metadata] as const];
  });
  return new Map((await Promise.all(read)).flat());
}

function statusRows(plan: Plan, states: ReadonlyMap<string, ContainerState>): readonly StatusRow[] {
  return plan.changes.map((change) => {
    const state = change.kind === 'container' ? states.get(change.name) : undefined;
    const addresses = state === undefined ? [] : globalAddresses(state).map(({ address }) => address);
    const there = change.action === 'create' ? 'absent' : 'present';
    return { address: change.address, state: state?.status ?? there, sync: syncOf(change), addresses };
  });
}

function syncOf(change: ResourceChange): string {
  const action = change.action === 'no-op' ? (change.power ?? 'in sync') : change.action;
  if (action === 'in sync') return change.guard === undefined ? action : `refused: ${change.guard.code}`;
  return change.guard === undefined ? `to ${action}` : `to ${action} (refused: ${change.guard.code})`;
}

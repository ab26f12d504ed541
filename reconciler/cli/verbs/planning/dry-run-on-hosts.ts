// `--dry-run=server --hosts`: carries the plan of each host out on a copy of it in this process, and shows the outcomes together.
import { countOf, dryRunSummary, refusalsOf, renderDryRun, type Verdict } from '../../../core/plan/dry-run.ts';
import type { Command, Output } from '../../session/context.ts';
import { showTried, tryPlan } from './dry-run.ts';
import { paintFor } from '../../output/paint.ts';
import { jsonLine } from '../../output/render-json.ts';
import { withClient } from '../../session/connect.ts';
import { firstLine, renderTable } from '../../output/table.ts';
import { eachHost, outcomeWord } from '../../hosts/each-host.ts';
import { showDiagnostics } from '../../hosts/load-hosts.ts';
import type { PlannedHost } from './plan-hosts.ts';
import { groupsOf, hostCount, namesOf, type PlanOutcome } from './render-plans.ts';

/** Each copy is a daemon in this process, so more of them would only share its processor. */
const copiesAtOnce = 2;

/** Adds its outcome to each plan. The hosts only get GET requests. */
export async function tryHosts(context: Command, outcomes: readonly PlanOutcome[]): Promise<readonly PlanOutcome[]> {
  const tried = await eachHost(
    outcomes.flatMap((one) => (one.failure === undefined ? [one.value] : [])),
    (one): Promise<PlannedHost> =>
      withClient(one.context, async (client) => ({ ...one, tried: await tryPlan(one.context, client, one.planned) })),
    context.stop,
    copiesAtOnce,
  );
  const byHost = new Map(tried.map((one) => [one.host, one]));
  return outcomes.map((one) => byHost.get(one.host) ?? one);
}

const titles: readonly (readonly [Verdict, string])[] = [
  ['accepted', 'WOULD SUCCEED'],
  ['refused', 'REFUSED'],
  ['unreached', 'NOT REACHED'],
  ['untried', 'NOT TRIED'],
];

/** For people: equal outcomes once, then a table of all hosts; for programs the lines of each host. */
export async function showTriedHosts(context: Output, outcomes: readonly PlanOutcome[]): Promise<void> {
  const hosts = outcomes.flatMap((one) => (one.failure === undefined ? [one.value] : []));
  if (context.isJson) {
    for (const { context: own, tried, locate } of hosts)
      if (tried !== undefined) await showTried({ ...own, diagnostics: context.diagnostics }, tried, locate);
    context.json(jsonLine('fleet_dry_run', triedLine(outcomes), { hosts: countsOf(outcomes) }, context.io.nowMs()));
    return;
  }
  await showRefusals(context, hosts);
  const paint = paintFor(context.color);
  const { color } = context;
  for (const group of groupsOf(outcomes, ({ tried }) =>
    tried === undefined ? '' : renderDryRun(tried, { color }).trimEnd(),
  )) {
    if (group.members.some(({ tried }) => tried !== undefined && tried.trials.length > 0))
      context.out(`\n${paint.bold(`Tried on a copy of ${namesOf(group)}`)}\n${group.text}`);
  }
  const rows = outcomes.map((one) => {
    if (one.failure !== undefined)
      return [
        one.host.name,
        ...titles.map(() => ''),
        `${outcomeWord(one.failure.code)}: ${firstLine(one.failure.message)}`,
      ];
    const tried = one.value.tried ?? { trials: [] };
    const note = tried.trials.length === 0 ? 'nothing to try' : '';
    return [one.host.name, ...titles.map(([verdict]) => String(countOf(tried, verdict))), note];
  });
  context.out(`\n${renderTable(['HOST', ...titles.map(([, title]) => title), 'NOTE'], rows, paint)}`);
  context.out(`\n${paint.bold(triedLine(outcomes))}`);
}

/** Prints each refusal once, with its place in the manifests. */
export const showRefusals = (context: Output, hosts: readonly PlannedHost[]): Promise<void> =>
  showDiagnostics(
    context,
    hosts.map(({ host, tried = { trials: [] }, locate = (found) => found }) => ({
      host,
      diagnostics: refusalsOf(tried).map((refusal) => locate(refusal)),
    })),
    hosts.length,
  );

const countsOf = (outcomes: readonly PlanOutcome[]): readonly object[] =>
  outcomes.map(({ host, ...one }) => {
    if (one.failure !== undefined) return { host: host.name, exit_code: one.failure.code };
    const tried = one.value.tried ?? { trials: [] };
    return {
      host: host.name,
      exit_code: 0,
      ...Object.fromEntries(titles.map(([verdict]) => [verdict, countOf(tried, verdict)])),
    };
  });

function triedLine(outcomes: readonly PlanOutcome[]): string {
  const trials = outcomes.flatMap((one) => (one.failure === undefined ? (one.value.tried?.trials ?? []) : []));
  const untold = outcomes.flatMap((one) => (one.failure === undefined ? [] : [one.host.name]));
  const line = dryRunSummary({ trials }).replace('Dry run:', `Dry run on ${hostCount(outcomes.length)}:`);
  return untold.length === 0 ? line : `${line.replace(/\.$/, '')}; not tried for: ${untold.join(', ')}.`;
}

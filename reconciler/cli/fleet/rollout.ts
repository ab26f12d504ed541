// `gantry apply --hosts` and `gantry destroy --hosts`: plans all hosts, asks once, then works batch by batch. The first bad host ends
// it: nobody after its batch is begun, unless --keep-going says so.
import { hasChanges } from '../../core/summary.ts';
import type { Plan } from '../../core/plan.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import { carryOutOr, resume } from '../commands/apply.ts';
import { confirm } from '../confirm.ts';
import type { OpenContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { parseCount, parseDuration } from '../options.ts';
import type { Counts } from '../outcome.ts';
import { hostName, planOf, withClient } from '../session.ts';
import { setNameOf } from '../set-name.ts';
import { batchesOf, checkBatchFlags, type Batch } from './batches.ts';
import type { Fleet } from './choose-hosts.ts';
import { outcomeOf, worstCode } from './each-host.ts';
import { codeOfPlans, showPlans } from './plan.ts';
import { loadHosts, planHosts, type PlannedHost } from './plan-hosts.ts';
import type { PlanOutcome } from './render-plans.ts';
import { showRollout, type HostResult } from './render-rollout.ts';

export async function rollOut(
  context: OpenContext,
  fleet: Fleet,
  args: readonly string[],
  mode: Plan['mode'],
): Promise<ExitCode> {
  const { options } = context;
  parseCount('--parallelism', options.parallelism);
  parseDuration('--lock-timeout', options.lockTimeout);
  checkBatchFlags(options);
  const loaded = await loadHosts(context, fleet, args);
  const outcomes = await planHosts(context, loaded, {
    mode,
    before: (one, client) => resume(one.context, client, setNameOf(one.context.options, one.loaded.documents)),
  });
  await showPlans(context, outcomes, mode);
  const results = new Map<Host, HostResult>();
  for (const outcome of outcomes) results.set(outcome.host, foreseen(outcome));
  const working = outcomes.flatMap((outcome) =>
    outcome.failure === undefined && hasSteps(outcome.value) ? [outcome.value] : [],
  );
  const bad = codeOfPlans(outcomes, false);
  const names = fleet.chosen.map(({ name }) => name);
  const batches = batchesOf(
    options,
    working.map((one) => ({ ...one, name: one.host.name })),
    names,
  );
  if (working.length === 0 || (bad !== exitCodes.ok && options.keepGoing !== true)) {
    if (bad !== exitCodes.ok) showRollout(context, mode, [...results.values()]);
    return bad;
  }
  await confirm(context, question(mode, working.length, batches.length));
  for (const [index, batch] of batches.entries()) {
    if (context.stop.aborted) break;
    tellBatch(context, batch, index, batches.length);
    const done = await Promise.all(batch.hosts.map((one) => runHost(context, one, mode)));
    for (const result of done) results.set(result.host, result);
    if (options.keepGoing !== true && done.some(({ code }) => isBad(code))) break;
  }
  const all = [...results.values()];
  showRollout(context, mode, all);
  if (context.stop.aborted) return exitCodes.interrupted;
  const code = worstCode(all.map((result) => result.code));
  return code === exitCodes.changes && options.detailedExitcode !== true ? exitCodes.ok : code;
}

const isBad = (code: ExitCode): boolean => code !== exitCodes.ok && code !== exitCodes.changes;
const hasSteps = ({ planned }: PlannedHost): boolean => planned.plan.steps.length > 0;

function question(mode: Plan['mode'], hosts: number, batches: number): string {
  const where = `on ${hosts} ${hosts === 1 ? 'host' : 'hosts'}${batches > 1 ? `, in ${batches} batches` : ''}`;
  return mode === 'apply'
    ? `Do you want to perform these actions ${where}?`
    : `Do you really want to destroy all of this ${where}?`;
}

/** What is so when no batch is begun. */
function foreseen(outcome: PlanOutcome): HostResult {
  const { host, failure } = outcome;
  if (failure !== undefined) return { host, code: failure.code, state: 'failed', message: failure.message };
  const { plan } = outcome.value.planned;
  if (plan.steps.length > 0) return { host, code: exitCodes.ok, state: 'not-begun' };
  if (plan.guards.length === 0) return { host, code: exitCodes.ok, state: hasChanges(plan) ? 'done' : 'unchanged' };
  return {
    host,
    code: exitCodes.guard,
    state: 'failed',
    message: plan.guards.map(({ message }) => message).join('; '),
  };
}

function tellBatch(
  context: OpenContext,
  { isCanary, hosts }: Batch<{ readonly name: string }>,
  at: number,
  of: number,
): void {
  const names = hosts.map(({ name }) => name).join(', ');
  context.note(`${isCanary ? 'Canary' : 'Batch'} (${at + 1} of ${of}): ${names}`);
}

/** Its waits are part of the plan: who is done is ready, too. Never rejects. */
async function runHost(context: OpenContext, one: PlannedHost, mode: Plan['mode']): Promise<HostResult> {
  const { host, context: own, loaded } = one;
  let counts: Counts | undefined;
  const tell = (made: Counts): void => {
    counts = made;
  };
  const outcome = await outcomeOf(host, () =>
    withClient(own, async (client) => {
      if (hostName(own, client) === '') throw new Error('a host without a name');
      const attempt = async (planned: PlannedHost['planned'], round: number): Promise<ExitCode> =>
        planned.plan.steps.length === 0
          ? exitCodes.ok
          : carryOutOr(
              own,
              client,
              planned,
              round,
              async () => attempt(await planOf(own, client, loaded, mode), round + 1),
              tell,
            );
      return attempt(one.planned, 1);
    }),
  );
  const done = counts === undefined ? {} : { counts };
  if (outcome.failure === undefined)
    return { host, code: outcome.value, state: isBad(outcome.value) ? 'failed' : 'done', ...done };
  own.note(`Error: ${outcome.failure.message}`);
  const isUnbegun = context.stop.aborted && counts === undefined;
  return {
    host,
    code: isUnbegun ? exitCodes.interrupted : outcome.failure.code,
    state: 'failed',
    message: outcome.failure.message,
    ...done,
  };
}

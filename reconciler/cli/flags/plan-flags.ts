// Flags of verbs that make a plan and carry it out, and what they mean to the core.
import type { PlanOptions } from '../../core/plan/plan.ts';
import { inSection, list, text, toggle, type Options } from './flag.ts';
import { hostFlags, rolloutFlags, selectorFlags } from './host-flags.ts';
import { lockFileFlag, manifestFlags, manifestSetFlag } from './manifest-flags.ts';
import { parseAddress } from './parse-values.ts';
import { usageError } from '../errors/usage-error.ts';

/** Which objects a plan is about, and what it may do to them. */
export const guardFlags = {
  ...inSection('Selection:', {
    target: list('--target <kind/name>', 'plan only this object and what it needs; may be repeated'),
    exclude: list(
      '--exclude <kind/name>',
      'leave out this object and what needs it (destroy: what it needs); may be repeated',
    ),
    replace: list('--replace <kind/name>', 'recreate this object even without a change; may be repeated'),
  }),
  ...inSection('Execution:', {
    forceConflicts: toggle('--force-conflicts', 'take over keys that another set owns'),
    takeOver: toggle('--take-over', "change and delete what the set got from another directory; it is this one's then"),
    prune: toggle('--prune', 'delete objects that the set owns and no manifest declares'),
    pruneLimit: text('--prune-limit <n|n%>', 'refuse to prune more than this (default: half of the set)'),
    allowDestroy: toggle('--allow-destroy', 'allow pruning of objects that hold data'),
    allowRestart: toggle('--allow-restart', 'restart containers even if their manifest forbids it'),
    allowRecreate: toggle('--allow-recreate', 'delete and create objects again where a change requires it'),
  }),
  ...inSection('Output:', {
    detailedExitcode: toggle(
      '--detailed-exitcode',
      'exit with 2 when there are changes; taking over an object as it is does not count',
    ),
  }),
};
export type GuardOptions = Options<typeof guardFlags>;

export const dryRunFlag = inSection('Execution:', {
  dryRun: text('--dry-run <kind>', 'client: only make the plan; server: run it on a copy of the daemon in memory'),
});

export const planFlags = {
  ...selectorFlags,
  ...guardFlags,
  ...inSection('Execution:', {
    expectNoChanges: toggle('--expect-no-changes', 'when there are changes, exit with 1 and do nothing'),
    wait: toggle('--no-wait', 'skip the waits of manage.wait'),
    input: toggle('--no-input', 'never ask; changes that need approval fail without --auto-approve'),
  }),
  ...inSection('Output:', {
    compact: toggle('--compact', 'print one line per object, equal objects together (text only)'),
    pager: toggle('--no-pager', 'do not show plans through $PAGER'),
    showSecrets: toggle('--show-secrets', 'print masked values (text only)'),
  }),
  ...manifestSetFlag,
  ...lockFileFlag,
  ...dryRunFlag,
};
export type PlanFlagOptions = Options<typeof planFlags>;

const approvalDoc = 'do not ask for approval';
export const approveFlag = inSection('Execution:', { autoApprove: toggle('-y, --auto-approve', approvalDoc) });

export const lockTimeoutFlag = inSection('Execution:', {
  lockTimeout: text('--lock-timeout <duration>', 'wait this long for the lock of the set (default: fail at once)'),
});

/** How a plan is carried out. */
export const runFlags = {
  ...rolloutFlags,
  ...approveFlag,
  ...lockTimeoutFlag,
  ...inSection('Execution:', {
    yes: toggle('--yes', approvalDoc, { isHidden: true }),
    partial: toggle('--partial', 'when parts of the plan are refused, do the rest (still exits with 4)'),
    parallelism: text('--parallelism <n>', 'number of steps at once (default 4)'),
    continueOnError: toggle('--continue-on-error', 'continue with steps that do not need a failed one (the default)'),
    failFast: toggle('--fail-fast', 'start no step after the first failure'),
    message: text('-m, --message <text>', 'reason of the change, for gantry history'),
    historyLimit: text('--history-limit <n>', 'revisions of the set to keep on the server (default 30; 0: none)'),
  }),
};
export type RunOptions = Options<typeof runFlags>;

export const applyFlags = { ...manifestFlags, ...hostFlags, ...planFlags, ...runFlags };
export type ApplyOptions = Options<typeof applyFlags>;

export const planOptionsOf = (options: GuardOptions): PlanOptions => ({
  targets: (options.target ?? []).map(parseAddress),
  replace: (options.replace ?? []).map(parseAddress),
  ...(options.exclude === undefined ? {} : { exclude: options.exclude.map(parseAddress) }),
  allowRestart: options.allowRestart === true,
  allowRecreate: options.allowRecreate === true,
  allowDestroy: options.allowDestroy === true,
  forceConflicts: options.forceConflicts === true,
  prune: options.prune === true,
  ...pruneLimitOf(options.pruneLimit),
});

/** `5` objects or `20%` of what the set owns. */
function pruneLimitOf(given: string | undefined): Pick<PlanOptions, 'pruneLimit'> {
  if (given === undefined) return {};
  const match = /^(\d{1,7})(%?)$/.exec(given);
  const count = Number(match?.[1]);
  if (match === null || (match[2] === '%' && count > 100)) {
    throw usageError(
      `--prune-limit ${JSON.stringify(given)} is neither a number of objects nor a percentage such as 20%`,
    );
  }
  return { pruneLimit: match[2] === '%' ? { percent: count } : { count } };
}

export const isApproved = ({ autoApprove, yes }: Pick<RunOptions, 'autoApprove' | 'yes'>): boolean =>
  autoApprove === true || yes === true;

/** Where a dry run ends: with the plan (client), or on a copy of the daemon in memory (server). */
export type DryRunKind = 'client' | 'server';

export function dryRunKind({ dryRun }: Options<typeof dryRunFlag>): DryRunKind | undefined {
  if (dryRun === undefined || dryRun === 'client' || dryRun === 'server') return dryRun;
  throw usageError(`--dry-run ${JSON.stringify(dryRun)} is neither client (only the plan) nor server (a copy of it)`);
}

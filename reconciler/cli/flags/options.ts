// Parses what commander leaves as text: targets, variables, durations. Pure; wrong values are usage errors.
import { kindNames, kindOfWord } from '../../../server/api/kinds.ts';
import type { Address } from '../../core/documents/document.ts';
import type { PlanOptions } from '../../core/plan/plan.ts';
import { usageError } from '../errors/usage-error.ts';

/** As commander hands them over; every command has a subset. */
export interface CliOptions {
  readonly file?: readonly string[];
  readonly overlay?: readonly string[];
  readonly varFile?: readonly string[];
  readonly selector?: string;
  readonly objectSelector?: string;
  readonly hosts?: string;
  readonly batch?: string;
  readonly canary?: string;
  readonly keepGoing?: boolean;
  readonly var?: readonly string[];
  readonly host?: string;
  readonly embedded?: string;
  readonly runtime?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  readonly serverCert?: string;
  readonly project?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly detailedExitcode?: boolean;
  readonly autoApprove?: boolean;
  readonly partial?: boolean;
  readonly yes?: boolean;
  readonly parallelism?: string;
  readonly target?: readonly string[];
  readonly replace?: readonly string[];
  readonly exclude?: readonly string[];
  readonly allowRestart?: boolean;
  readonly allowRecreate?: boolean;
  readonly allowDestroy?: boolean;
  readonly forceConflicts?: boolean;
  readonly set?: string;
  readonly prune?: boolean;
  readonly pruneLimit?: string;
  readonly message?: string;
  readonly historyLimit?: string;
  readonly lock?: boolean;
  readonly lockTimeout?: string;
  readonly lockFile?: string;
  readonly failFast?: boolean;
  readonly timeout?: string;
  readonly format?: string;
  readonly output?: string;
  readonly out?: string;
  readonly dryRun?: string;
  readonly expectNoChanges?: boolean;
  readonly showSecrets?: boolean;
  readonly compact?: boolean;
  /** --no-pager */
  readonly pager?: boolean;
  /** --no-wait */
  readonly wait?: boolean;
  /** --no-input */
  readonly input?: boolean;
  readonly recursive?: boolean;
  readonly createDirs?: boolean;
  readonly uid?: string;
  readonly gid?: string;
  readonly mode?: string;
}

/** `container/web1`, with some leniency about the kind. */
export function parseAddress(text: string): Address {
  const slash = text.indexOf('/');
  const word = text.slice(0, Math.max(slash, 0));
  const kind = kindOfWord(word);
  const name = text.slice(slash + 1);
  if (kind === undefined || name === '') {
    throw usageError(`${JSON.stringify(text)} is not KIND/NAME; kinds are ${kindNames.join(', ')}`);
  }
  return `${kind}/${name}`;
}

export function parseVars(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw usageError(`--var ${JSON.stringify(pair)} is not NAME=VALUE`);
      return [pair.slice(0, equals), pair.slice(equals + 1)];
    }),
  );
}

export function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1) throw usageError(`${flag} ${JSON.stringify(text)} is not a number from 1 on`);
  return count;
}

/** From 0 on. */
export function parseNumber(flag: string, text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d+$/.test(text)) throw usageError(`${flag} ${JSON.stringify(text)} is not a number`);
  return text === undefined ? undefined : Number(text);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `90s`, `5m`, `1h30m`, or bare seconds. */
export function parseDuration(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw usageError(`${flag} ${JSON.stringify(text)} is not a duration such as 90s, 5m or 1h30m`);
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ''] ?? 0), 0);
}

/** Arguments and --file together; the current directory when neither is given. */
export function manifestPaths(args: readonly string[], options: CliOptions): readonly string[] {
  const paths = [...args, ...(options.file ?? [])];
  return [...(paths.length === 0 ? ['.'] : paths), ...(options.overlay ?? [])];
}

export const planOptionsOf = (options: CliOptions): PlanOptions => ({
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
function pruneLimitOf(text: string | undefined): Pick<PlanOptions, 'pruneLimit'> {
  if (text === undefined) return {};
  const match = /^(\d{1,7})(%?)$/.exec(text);
  const count = Number(match?.[1]);
  if (match === null || (match[2] === '%' && count > 100)) {
    throw usageError(
      `--prune-limit ${JSON.stringify(text)} is neither a number of objects nor a percentage such as 20%`,
    );
  }
  return { pruneLimit: match[2] === '%' ? { percent: count } : { count } };
}

export const isApproved = (options: CliOptions): boolean => options.autoApprove === true || options.yes === true;

/** What `--dry-run` asks: nobody (only the plan is made), or a copy of the daemon in memory. */
export type DryRunKind = 'client' | 'server';

export function dryRunKind({ dryRun }: CliOptions): DryRunKind | undefined {
  if (dryRun === undefined || dryRun === 'client' || dryRun === 'server') return dryRun;
  throw usageError(
    `--dry-run ${JSON.stringify(dryRun)} is neither client (only the plan) nor server (on a copy of it)`,
  );
}

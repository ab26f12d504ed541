// What waits for a person, the most urgent first: approvals, failures, hosts and sources that do not answer, drift that is kept, suspensions. Pure.
import { countOf } from '../../data/figures.ts';
import { isOfOneHost } from '../../data/one-host.ts';
import type { ObjectStatusName, Overview, SetStatus } from '../../../controller/contract/index.ts';

export interface Need {
  readonly key: string;
  readonly tone: ObjectStatusName;
  /** The word beside the icon. */
  readonly word: string;
  readonly what: string;
  readonly why: string;
  /** The view where a person deals with it. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
}

export function needsOf({ sets, hosts, sources }: Overview): readonly Need[] {
  return [
    ...sets.flatMap(approvalOf),
    ...sets.flatMap(failureOf).toSorted((one, other) => urgency(one) - urgency(other)),
    ...hosts.flatMap(({ name, status, message = 'it does not answer' }): readonly Need[] =>
      status !== 'offline'
        ? []
        : [{ key: `host ${name}`, tone: 'failed', word: 'offline', what: name, why: message, path: ['hosts', name] }],
    ),
    ...sources.flatMap(({ name, error }): readonly Need[] =>
      error === undefined
        ? []
        : [{ key: `source ${name}`, tone: 'drifted', word: 'source', what: name, why: error, path: [] }],
    ),
    ...hosts.flatMap(warningOf),
    ...sets.flatMap(keptDriftOf),
    ...sets.flatMap(suspensionOf),
  ];
}

const onSet = ({ name }: SetStatus): readonly string[] => ['sets', name];

function approvalOf(set: SetStatus): readonly Need[] {
  const { name, pruneGate, approvalGate } = set;
  const shared = { tone: 'waiting', word: 'approve', what: name, path: onSet(set) } as const;
  const plan =
    approvalGate && `its plan has ${counted(countOf(approvalGate.hosts), 'step')} that a second person approves`;
  const deletion =
    pruneGate &&
    `${counted(countOf(pruneGate.hosts), 'object')} would be deleted, more than its limit: approve that, or declare them again`;
  return [
    ...(plan === undefined ? [] : [{ ...shared, key: `plan ${name}`, why: plan }]),
    ...(deletion === undefined ? [] : [{ ...shared, key: `gate ${name}`, why: deletion }]),
  ];
}

function failureOf(set: SetStatus): readonly Need[] {
  const [problem] = set.problems;
  const failed = set.hosts.filter(({ status }) => status === 'failed');
  if (problem === undefined && set.status !== 'failed') return [];
  const more = set.problems.length > 1 ? ` and ${set.problems.length - 1} more` : '';
  const host = failed.find(({ error }) => error !== undefined);
  const on = failed.length > 1 ? `${failed.length} hosts, first ${host?.host}: ` : `${host?.host}: `;
  const why =
    problem === undefined
      ? host === undefined
        ? (set.message ?? 'its last run failed')
        : on + host.error
      : `its newest manifests are not applied: ${problem}${more}`;
  const tone = set.status === 'failed' ? 'failed' : 'drifted';
  const word = set.status === 'failed' ? 'failed' : 'refused';
  return [{ key: `failed ${set.name}`, tone, word, what: set.name, why, path: onSet(set) }];
}

/** Warnings of low severity need no action. */
function warningOf({ name, warnings = [] }: Overview['hosts'][number]): readonly Need[] {
  const [worst, ...others] = warnings.filter(({ severity }) => severity !== 'low');
  if (worst === undefined) return [];
  const more = others.length > 0 ? `, and ${counted(others.length, 'more warning')}` : '';
  const why = `${worst.message}${more}: repair it, or acknowledge it on the host`;
  return [{ key: `warning ${name}`, tone: 'drifted', word: 'warning', what: name, why, path: ['hosts', name] }];
}

/** Sets that heal drift correct it by themselves. */
function keptDriftOf(set: SetStatus): readonly Need[] {
  const count = set.hosts.reduce((sum, { objects }) => sum + objects.drifted, 0);
  if (set.mode !== 'report' || count === 0 || set.suspensions.some(isWhole)) return [];
  const differ = `${counted(count, 'object')} ${count === 1 ? 'differs' : 'differ'}`;
  const why = isOfOneHost(set)
    ? `${differ} from the manifests: gantry apply makes it so, or change the manifests`
    : `${differ}, and the set only reports: sync it, or change its manifests`;
  const query = { status: 'drifted' };
  return [
    { key: `drift ${set.name}`, tone: 'drifted', word: 'drift kept', what: set.name, why, path: onSet(set), query },
  ];
}

const isWhole = ({ address }: SetStatus['suspensions'][number]): boolean => address === undefined;

/** Suspensions with an end need no action. */
function suspensionOf(set: SetStatus): readonly Need[] {
  const open = set.suspensions.filter(({ until }) => until === undefined);
  const [first] = open;
  if (first === undefined) return [];
  const what = first.address === undefined ? set.name : `${first.address} in ${set.name}`;
  const more = open.length > 1 ? `, and ${open.length - 1} more` : '';
  const why = `${first.reason}, by ${first.by}, until somebody resumes it${more}`;
  return [{ key: `suspended ${set.name}`, tone: 'suspended', word: 'suspended', what, why, path: onSet(set) }];
}

const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
const urgency = ({ tone }: Need): number => (tone === 'failed' ? 0 : 1);

// Finds the steps of a plan that a second person has to approve, and whether an approval covers them. Pure.
import { createHash } from 'node:crypto';
import type { Plan, Step } from '../../core/plan/plan.ts';
import type { ApprovalLevel } from '../config/config.ts';
import type { ApprovalGate } from '../contract/index.ts';
import { namesText } from '../../../server/api/text/names-text.ts';

export interface Approval {
  readonly id: string;
  readonly set: string;
  readonly revision: string;
  /** Digests of the approved steps, without the values of secrets; other steps need another approval. */
  readonly steps: readonly string[];
  /** Absent: on all hosts of the set. */
  readonly hosts?: readonly string[];
  readonly by: string;
  readonly reason: string;
  readonly at: string;
  readonly until: string;
}

export interface AskedStep {
  readonly text: string;
  readonly digest: string;
}

/** `text`: a digest of the documents as written. `isNew`: the host does not have their revision yet. */
export function stepsToApprove(
  { steps }: Plan,
  level: ApprovalLevel,
  text: string,
  isNew: boolean,
): readonly AskedStep[] {
  const isAsked = (step: Step): boolean =>
    deletes(step) || (level !== 'delete' && disrupts(step)) || (level === 'all' && isNew);
  return steps
    .filter(isAsked)
    .map((step) => ({ text: `${step.action} ${step.address}`, digest: digestOf(step, text) }));
}

/** A rebuild also deletes the old container. */
const deletes = ({ action }: Step): boolean => action === 'delete' || action === 'rebuild';

const disrupts = (step: Step): boolean =>
  step.action === 'restart' ||
  step.action === 'stop' ||
  (step.action === 'update' && step.edits.some(({ effect, segments }) => effect !== 'live' || isMove(segments)));

const isMove = ([first]: readonly string[]): boolean => first === 'location' || first === 'pool';

/** Digests of this form say nothing of secrets. Those of older versions were made of their values, too. */
const form = '2:';

export const isCurrentForm = ({ steps }: Approval): boolean => steps.every((digest) => digest.startsWith(form));

/** Hashes the documents as written instead of values: notes on hosts have the digest, and a hash of a value could reveal a secret to a guess. */
function digestOf(step: Step, text: string): string {
  const edits =
    step.action === 'update' ? step.edits.map(({ segments, after }) => [segments, after !== undefined]) : [];
  const target = 'target' in step ? (step.target ?? '') : '';
  const about = [text, step.id, step.action, step.name, target, edits];
  return form + createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 32);
}

export interface ApprovedFacts {
  readonly host: string;
  readonly revision: string;
  /** When the host last got the revision in full, perhaps before another one: earlier approvals are used up. */
  readonly appliedAt: string | undefined;
}

/** The steps that no approval covers. */
export function unapproved(
  steps: readonly AskedStep[],
  approvals: readonly Approval[],
  { host, revision, appliedAt }: ApprovedFacts,
): readonly AskedStep[] {
  const valid = approvals.filter(
    (one) =>
      one.revision === revision &&
      (one.hosts?.includes(host) ?? true) &&
      (appliedAt === undefined || Date.parse(one.at) > Date.parse(appliedAt)),
  );
  const approved = new Set(valid.flatMap((one) => one.steps));
  return steps.filter(({ digest }) => !approved.has(digest));
}

/** Why a plan waits. */
export function approvalText(steps: readonly AskedStep[], set: string): string {
  const texts = steps.map(({ text }) => text);
  return `It awaits an approval of: ${namesText(texts, 3)} (gantry controller approve ${set})`;
}

/** `Ann <ann@example.org>` has two words: the name and the address. */
const wordsOf = (texts: readonly string[]): ReadonlySet<string> =>
  new Set(
    texts
      .flatMap((text) => {
        const [, name = '', mail = ''] = /^(.*)<(.+)>$/.exec(text.trim()) ?? [];
        return mail === '' ? [text] : [name, mail];
      })
      .map((word) => word.trim().toLowerCase())
      .filter((word) => word !== ''),
  );

/** True if the two lists share a name or an address. */
export function isSamePerson(one: readonly string[], other: readonly string[]): boolean {
  const words = wordsOf(one);
  return [...wordsOf(other)].some((word) => words.has(word));
}

export interface WaitingPlan {
  readonly revision: string;
  readonly steps: readonly AskedStep[];
}

export interface WaitingHost {
  readonly name: string;
  /** Absent: nothing waits. */
  readonly awaitsApproval: WaitingPlan | undefined;
}

const maxSteps = 50;

/** The waiting plans of one revision: the wanted one if any plan of it waits. */
export function waitingPlans(wanted: string | undefined, hosts: readonly WaitingHost[]) {
  const all = hosts.flatMap(({ name, awaitsApproval }) =>
    awaitsApproval === undefined ? [] : [{ name, ...awaitsApproval }],
  );
  const { revision } = all.find((one) => one.revision === wanted) ?? all[0] ?? {};
  return all.filter((one) => one.revision === revision);
}

/** Undefined: no plan waits. `planOf`: makes an opaque name for these steps. */
export function approvalGateOf(
  plans: ReturnType<typeof waitingPlans>,
  planOf: (text: string) => string,
): ApprovalGate | undefined {
  const [first] = plans;
  if (first === undefined) return undefined;
  return {
    plan: planOf(JSON.stringify(plans)),
    revision: first.revision,
    hosts: plans.map(({ name, steps }) => ({
      host: name,
      count: steps.length,
      steps: steps.slice(0, maxSteps).map(({ text }) => text),
    })),
  };
}

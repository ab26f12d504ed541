// The approval of the plans of a set that wait: by somebody who neither wrote the revision nor asked for it, for these steps alone.
import { randomBytes } from 'node:crypto';
import { ControllerError, type Person } from '../controller.ts';
import type { ApproveRequest } from '../contract/index.ts';
import type { Source } from '../sources/source.ts';
import type { ApprovalRule } from '../config/config.ts';
import { isSamePerson, waitingPlans, type Approval } from '../decide/approval.ts';
import { short } from '../decide/short-revision.ts';
import type { Asked } from './asked.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';

export interface ApprovedSet {
  readonly name: string;
  readonly rule: ApprovalRule | undefined;
  readonly source: Pick<Source, 'name' | 'authors'>;
  readonly asked: Pick<Asked, 'approve'>;
  readonly hosts: readonly SetOnHost[];
  readonly wanted: () => string | undefined;
  /** The plan that the gate shows now. */
  readonly plan: () => string | undefined;
  /** Who asked for a sync or a rollback to this revision. */
  readonly askers: readonly string[];
  readonly appliedOn: (host: string) => string | undefined;
  readonly nowMs: () => number;
}

export async function approvePlans(
  set: ApprovedSet,
  request: ApproveRequest,
  who: Person,
  signal: AbortSignal,
): Promise<Approval> {
  const { name, rule, asked, nowMs } = set;
  requireShown(set, request);
  const plans = waitingPlans(set.wanted(), set.hosts).filter((one) => request.hosts?.includes(one.name) ?? true);
  const [first] = plans;
  if (rule === undefined || first === undefined)
    throw new ControllerError('conflict', `no plan of the set ${name} waits for an approval on these hosts`);
  await requireOther(
    set,
    first.revision,
    plans.map((one) => one.name),
    who,
    signal,
  );
  const now = nowMs();
  const approval: Approval = {
    id: randomBytes(6).toString('hex'),
    set: name,
    revision: first.revision,
    steps: [...new Set(plans.flatMap((one) => one.steps.map(({ digest }) => digest)))],
    ...(request.hosts === undefined ? {} : { hosts: request.hosts }),
    by: who.name,
    reason: request.reason,
    at: new Date(now).toISOString(),
    until: new Date(now + rule.expiresMs).toISOString(),
  };
  await asked.approve(approval, now, () => requireShown(set, request));
  return approval;
}

function requireShown({ name, hosts, wanted, plan }: ApprovedSet, request: ApproveRequest): void {
  const [first] = waitingPlans(wanted(), hosts);
  if (first === undefined) throw new ControllerError('conflict', `no plan of the set ${name} waits for an approval`);
  if (request.plan === plan() && first.revision.startsWith(request.revision)) return;
  throw new ControllerError(
    'conflict',
    `the plan of the set ${name} is another one now, at the revision ${short(first.revision)}: look at it, and approve that`,
  );
}

async function requireOther(
  { name, source, askers, appliedOn }: ApprovedSet,
  revision: string,
  hosts: readonly string[],
  who: Person,
  signal: AbortSignal,
): Promise<void> {
  const own = [who.name, ...who.mails];
  const refuse = (why: string): never => {
    throw new ControllerError('forbidden', `${who.name} may not approve this plan of the set ${name}: ${why}`);
  };
  if (isSamePerson(askers, own)) refuse('who asked for it does not approve it; ask somebody else');
  if (source.authors === undefined) return;
  if (who.mails.length === 0)
    refuse(
      `nobody can tell whether ${who.name} wrote ${short(revision)}: name the addresses of ${who.name} in commits as mails beside the token in gantry.yaml, or log in at an issuer that confirms them`,
    );
  const before = [...new Set(hosts.map(appliedOn))].filter((one) => one !== revision);
  const authors = await Promise.all(
    (before.length === 0 ? [undefined] : before).map(
      async (since) => (await source.authors?.(revision, since, signal)) ?? [],
    ),
  );
  if (isSamePerson(authors.flat(), own))
    refuse(`who wrote what comes with ${short(revision)} does not approve it; ask somebody else`);
}

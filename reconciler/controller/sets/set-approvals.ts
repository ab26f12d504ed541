// Approvals of a set: of waiting plans, by somebody who neither wrote nor requested the revision, and of more deletions than its limit.
import { randomBytes } from 'node:crypto';
import { ControllerError, type Person } from '../controller.ts';
import type { ApprovalStatus, ApproveRequest, Operation, PruneRequest, SetStatus } from '../contract/index.ts';
import type { Source } from '../sources/source.ts';
import type { SetConfig } from '../config/config.ts';
import { isSamePerson, waitingPlans, type Approval } from '../decide/approval.ts';
import { statusOfApproval } from '../decide/set-view.ts';
import { short } from '../decide/short-revision.ts';
import type { Asked } from './asked.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import type { StoredSet } from './stored-set.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface SetApprovalsDeps {
  readonly config: SetConfig;
  readonly source: Pick<Source, 'name' | 'authors'>;
  readonly asked: Pick<Asked, 'approve'>;
  readonly stored: StoredSet;
  readonly hosts: () => readonly SetOnHost[];
  readonly status: () => SetStatus;
  /** Compares and applies now. */
  readonly sync: (reason: string, by: string) => Operation;
  readonly log: (message: string) => void;
  readonly nowMs: () => number;
}

export class SetApprovals {
  readonly #deps: SetApprovalsDeps;

  constructor(deps: SetApprovalsDeps) {
    this.#deps = deps;
  }

  /** Lets the revision in force delete more objects than the limit. Another revision needs another approval. */
  async approvePrune({ revision, reason }: PruneRequest, by: string): Promise<Operation> {
    const { config, stored, status, sync, log, nowMs } = this.#deps;
    const { pruneGate } = status();
    if (pruneGate === undefined)
      throw new ControllerError('conflict', `no deletion of the set ${config.name} waits for an approval`);
    if (!pruneGate.revision.startsWith(revision))
      throw new ControllerError(
        'conflict',
        `the set ${config.name} has the revision ${short(pruneGate.revision)} now: look at what it would delete, and approve that`,
      );
    const at = new Date(nowMs()).toISOString();
    await stored.change({ pruneApproval: { revision: pruneGate.revision, by, reason, at } });
    log(`${by} approved what ${short(pruneGate.revision)} deletes: ${reason}`);
    return sync(`prune approved: ${reason}`, by);
  }

  /** Approves the waiting plans, only for these steps of this revision. */
  async approve(request: ApproveRequest, who: Person, signal: AbortSignal): Promise<ApprovalStatus> {
    const { config, asked, stored, hosts, log, nowMs } = this.#deps;
    const { name, approval: rule } = config;
    this.#requireShown(request);
    const plans = waitingPlans(stored.wanted, hosts()).filter((one) => request.hosts?.includes(one.name) ?? true);
    const [first] = plans;
    if (rule === undefined || first === undefined)
      throw new ControllerError('conflict', `no plan of the set ${name} waits for an approval on these hosts`);
    const { revision } = first;
    const on = plans.map((one) => one.name);
    await this.#requireOther(revision, on, who, signal);
    const now = nowMs();
    const approval: Approval = {
      id: randomBytes(6).toString('hex'),
      set: name,
      revision,
      steps: [...new Set(plans.flatMap((one) => one.steps.map(({ digest }) => digest)))],
      ...withoutUndefined({ hosts: request.hosts }),
      by: who.name,
      reason: request.reason,
      at: new Date(now).toISOString(),
      until: new Date(now + rule.expiresMs).toISOString(),
    };
    await asked.approve(approval, now, () => this.#requireShown(request));
    log(`${who.name} approved the plan of ${short(revision)}: ${request.reason}`);
    for (const host of hosts()) host.look(true);
    return statusOfApproval(approval);
  }

  /** Records who requested the revision in force, since they may not approve it. */
  async noteAsker(by: string): Promise<void> {
    const { config, stored } = this.#deps;
    const { askers = [] } = stored.state;
    if (config.approval === undefined || askers.includes(by)) return;
    await stored.change({ askers: [...askers, by] });
  }

  #requireShown(request: ApproveRequest): void {
    const { config, stored, hosts, status } = this.#deps;
    const { name } = config;
    const [first] = waitingPlans(stored.wanted, hosts());
    if (first === undefined) throw new ControllerError('conflict', `no plan of the set ${name} waits for an approval`);
    if (request.plan === status().approvalGate?.plan && first.revision.startsWith(request.revision)) return;
    throw new ControllerError(
      'conflict',
      `the plan of the set ${name} is another one now, at the revision ${short(first.revision)}: look at it, and approve that`,
    );
  }

  async #requireOther(revision: string, hosts: readonly string[], who: Person, signal: AbortSignal): Promise<void> {
    const { config, source, stored } = this.#deps;
    const { state } = stored;
    const own = [who.name, ...who.mails];
    const refuse = (why: string): never => {
      throw new ControllerError('forbidden', `${who.name} may not approve this plan of the set ${config.name}: ${why}`);
    };
    const askers = [...(state.askers ?? []), ...(state.pin === undefined ? [] : [state.pin.by])];
    if (isSamePerson(askers, own)) refuse('who asked for it does not approve it; ask somebody else');
    if (source.authors === undefined) return;
    if (who.mails.length === 0)
      refuse(
        `nobody can tell whether ${who.name} wrote ${short(revision)}: name the addresses of ${who.name} in commits as mails beside the token in gantry.yaml, or log in at an issuer that confirms them`,
      );
    const before = [...new Set(hosts.map((host) => state.hosts[host]?.revision))].filter((one) => one !== revision);
    const authors = await Promise.all(
      (before.length === 0 ? [undefined] : before).map(
        async (since) => (await source.authors?.(revision, since, signal)) ?? [],
      ),
    );
    if (isSamePerson(authors.flat(), own))
      refuse(`who wrote what comes with ${short(revision)} does not approve it; ask somebody else`);
  }
}

// Sends people notices about a set: errors of a revision, drift, failures, and recoveries.
import type { DriftRecord, SetStatus } from '../contract/index.ts';
import type { Notice } from '../notify/notice.ts';
import { short } from '../decide/short-revision.ts';

export type SetNotice = Omit<Notice, 'controller' | 'set' | 'at'>;

export class SetNotices {
  readonly #send: (notice: SetNotice) => void;
  #last: string | undefined;

  constructor(send: (notice: SetNotice) => void) {
    this.#send = send;
  }

  refused(revision: string, problem: string): void {
    const message = `Revision ${short(revision)} has errors and is not applied: ${problem}`;
    this.#send({ kind: 'failed', hosts: [], revision, message });
  }

  withdrawn(revision: string, message: string): void {
    this.#send({ kind: 'failed', hosts: [], revision, message });
  }

  drift({ host, address, paths, action, by, healedAt }: DriftRecord, revision: string | undefined): void {
    const isReport = action === 'reported' && healedAt === undefined;
    if (!isReport && action !== 'healed') return;
    const who = by === undefined ? '' : ` by ${by}`;
    const message = `${address} on ${host} was changed${who}${isReport ? '' : ' and is as declared again'}`;
    const about = revision === undefined ? {} : { revision };
    this.#send({
      kind: isReport ? 'drifted' : 'healed',
      hosts: [host],
      message,
      objects: [{ host, address, paths }],
      ...about,
    });
  }

  /** Reports each new status of a revision once, and a good one only after another one. */
  status({ status, revision, message, pruneGate, approvalGate }: SetStatus): void {
    const next = approvalGate?.plan ?? `${pruneGate === undefined ? status : 'gate'} ${revision ?? ''}`;
    if (status === 'syncing' || next === this.#last) return;
    const before = this.#last;
    this.#last = next;
    const about = revision === undefined ? {} : { revision };
    if (approvalGate !== undefined)
      this.#send({
        kind: 'approval',
        hosts: approvalGate.hosts.map(({ host }) => host),
        revision: approvalGate.revision,
        message: message ?? 'A plan waits for an approval.',
      });
    else if (status === 'failed' || pruneGate !== undefined)
      this.#send({
        kind: 'failed',
        hosts: [],
        message: message ?? (pruneGate === undefined ? 'The set failed.' : 'A deletion waits for an approval.'),
        ...about,
      });
    if (status === 'synced' && before !== undefined)
      this.#send({
        kind: 'synced',
        hosts: [],
        message: `All hosts are as declared in ${short(revision ?? '')}.`,
        ...about,
      });
  }
}

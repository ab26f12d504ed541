// Writes to etcd with a known outcome: a write without an answer is fenced off, looked for in the history, and retried if it was not
// applied.
import { randomBytes } from 'node:crypto';
import { opKey } from '../keys.ts';
import { storeErrors } from '../store-errors.ts';
import { type Compare, type Op, type Rev, StoreError } from '../store.ts';
import { lookRequest, planWrite, requestOf, type WritePlan } from './compile-txn.ts';
import { writeIdBytes, writeIdOf } from './envelope.ts';
import { EtcdFailure } from './failure.ts';
import type { Fence } from './fence.ts';
import type { History } from './history.ts';
import type { Keyspace, Revisions } from './keyspace.ts';
import type { EtcdLink } from './link.ts';
import type { EtcdEvent } from './messages.ts';

interface WriterDeps {
  readonly link: EtcdLink;
  readonly keyspace: Keyspace;
  readonly revisions: Revisions;
  readonly fence: Fence;
  readonly history: History;
}

/** Max changes of the keys between the look and the deletion of many records. */
const looks = 20;

export class Writer {
  readonly #deps: WriterDeps;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  async write(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ ok: boolean; rev: Rev }> {
    const { keyspace, revisions } = this.#deps;
    if (then.length === 0) return await this.#look(ifAll, then);
    const plan = planWrite(keyspace, revisions, randomBytes(writeIdBytes), ifAll, then);
    return plan === undefined ? await this.#deleteMany(ifAll, then) : await this.#apply(plan);
  }

  /** Looks first whether any of the keys exists: the transaction then requires one that does. */
  async #deleteMany(ifAll: readonly Compare[], then: readonly Op[]): Promise<{ ok: boolean; rev: Rev }> {
    const { keyspace, revisions } = this.#deps;
    for (let attempt = 1; attempt <= looks; attempt += 1) {
      const { ok, rev, existing } = await this.#look(ifAll, then);
      if (!ok || existing === undefined) return { ok, rev };
      const writeId = randomBytes(writeIdBytes);
      const plan = planWrite(keyspace, revisions, writeId, ifAll, then, existing);
      const done = plan && (await this.#apply(plan));
      if (done?.ok === true) return done;
    }
    throw new StoreError('Unavailable', 'the records to delete change too often: nothing was deleted');
  }

  /** Whether the compares hold, and one existing key of `then`. */
  async #look(
    ifAll: readonly Compare[],
    then: readonly Op[],
  ): Promise<{ ok: boolean; rev: Rev; existing: string | undefined }> {
    const { link, keyspace, revisions } = this.#deps;
    const { succeeded, header, responses } = await link.call('Txn', lookRequest(keyspace, revisions, ifAll, then));
    const index = responses.findIndex(({ responseRange }) => Number(responseRange?.count ?? 0) > 0);
    const found = then[index];
    return { ok: succeeded, rev: revisions.fromEtcd(header.revision), existing: found && opKey(found) };
  }

  async #apply(plan: WritePlan): Promise<{ ok: boolean; rev: Rev }> {
    const { link, revisions, fence } = this.#deps;
    const patience = link.patience();
    for (let attempt = 0; ; attempt += 1) {
      const sentAt = link.revision;
      const under = fence.revision;
      try {
        const { succeeded, header, responses } = await link.attempt('Txn', requestOf(plan, fence.key, under), patience);
        if (succeeded) return { ok: true, rev: revisions.fromEtcd(header.revision) };
        const found = responses[0]?.responseRange?.kvs[0];
        if (Number(found?.modRevision) === under) return { ok: false, rev: revisions.fromEtcd(header.revision) };
        fence.adopt(found);
      } catch (error) {
        if (!(error instanceof EtcdFailure)) throw error;
        const applied = await this.#outcome(plan, error, sentAt, under);
        if (applied !== undefined) return { ok: true, rev: revisions.fromEtcd(applied) };
        if (patience.isOver) throw notApplied(error);
        await link.pause(attempt);
      }
    }
  }

  /** The revision of etcd at which it was applied; undefined: it was not and never will be. Throws errors that the caller must know. */
  async #outcome(plan: WritePlan, failure: EtcdFailure, sentAt: number, under: number): Promise<number | undefined> {
    const { fence, link } = this.#deps;
    if (failure.kind === 'noLease') throw storeErrors.noLease(leasesOf(plan).join(', '));
    // etcd applies the transaction that exceeds its quota, but answers that it has no space.
    if (failure.code === 'NoSpace') {
      const applied = await this.#present(plan, sentAt);
      if (applied === undefined) throw failure.toStoreError();
      return applied;
    }
    if (failure.kind !== 'unreachable') throw failure.toStoreError();
    try {
      await fence.leaveBehind(under);
      return await this.#find(plan, sentAt + 1, fence.revision);
    } catch (cause) {
      throw new StoreError(
        'Unknown',
        `${link.isClosed ? 'the store was closed before etcd answered' : 'etcd did not answer'}: the write may have been applied, so read the object again`,
        { cause },
      );
    }
  }

  /** etcd has answered, so the write is not in flight: the record shows which write put it. */
  async #present({ success, writeId }: WritePlan, sentAt: number): Promise<number | undefined> {
    const key = success.find(({ requestPut }) => requestPut !== undefined)?.requestPut?.key;
    if (key === undefined) return undefined;
    const [found] = (await this.#deps.link.call('Range', { key })).kvs;
    if (found === undefined || Number(found.modRevision) <= sentAt) return undefined;
    if (writeIdOf(found.value).equals(writeId)) return Number(found.modRevision);
    throw new StoreError('Unknown', 'etcd has no space left: the write may have been applied, others came after it');
  }

  /** Looks for the write among the marks of the revisions `from` to `through`, where the fence was moved. */
  async #find(plan: WritePlan, from: number, through: number): Promise<number | undefined> {
    if (from > through) return undefined;
    const { history, keyspace, link } = this.#deps;
    const limit = AbortSignal.timeout(link.totalMs);
    for await (const { revision, events } of history.watch(keyspace.allMeta(), from, limit)) {
      if (events.some((event) => carries(event, keyspace, plan.writeId))) return revision;
      if (revision >= through) return undefined;
    }
    throw new StoreError('Unknown', 'the history of etcd could not be read');
  }
}

const carries = ({ kv, type }: EtcdEvent, keyspace: Keyspace, writeId: Buffer): boolean =>
  type === 'PUT' && kv.key.equals(keyspace.meta('mark')) && kv.value.equals(writeId);

const leasesOf = ({ success }: WritePlan): string[] =>
  success.flatMap(({ requestPut }) => requestPut?.lease ?? []).map(String);

const notApplied = (cause: EtcdFailure): StoreError =>
  new StoreError('Unavailable', 'etcd is not available: the write was not applied', { cause });

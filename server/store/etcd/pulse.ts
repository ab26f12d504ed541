// Finds out whether an etcd member that is slow to answer still works.
import { Metadata } from '@grpc/grpc-js';
import { EtcdFailure, NewLeader, stoppedWorking } from './failure.ts';
import type { Member } from './member.ts';

/** The status is asked after this share of an attempt, and may take as long. */
const share = 0.25;
const noLeader = '0';

/** The member's status; undefined: unknown, so the call keeps waiting. */
type Condition = { readonly hasLeader: boolean; readonly term: number } | undefined;

/** Asks a member for its status, once for all calls that wait for it. A member with a slow disk answers that question, and its calls keep
 *  waiting; a member out of reach, or without a leader, is left early. A call that began under an earlier leader is given up, too: a
 *  request forwarded to a leader that stopped is lost, and the member would keep the call until its time limit. */
export class Pulse {
  readonly #asked = new WeakMap<Member, Promise<Condition>>();

  /** Runs `call`, one attempt at the member, in that term at least. Aborts its signal with an EtcdFailure when waiting is pointless. */
  async watching<T>(
    member: Member,
    limits: { readonly limitMs: number; readonly term: number },
    call: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController();
    const everyMs = limits.limitMs * share;
    let { term } = limits;
    let isAnswered = false;
    const look = async (): Promise<void> => {
      const condition = await this.#ask(member, everyMs);
      if (isAnswered) return;
      if (condition?.hasLeader === false) return over.abort(stoppedWorking(member.endpoint));
      if (condition !== undefined && term > 0 && condition.term > term)
        return over.abort(new NewLeader(member.endpoint));
      term = Math.max(term, condition?.term ?? 0);
      timer = setTimeout(() => void look(), everyMs);
    };
    let timer = setTimeout(() => void look(), everyMs);
    try {
      return await call(over.signal);
    } finally {
      isAnswered = true;
      clearTimeout(timer);
    }
  }

  #ask(member: Member, withinMs: number): Promise<Condition> {
    let asked = this.#asked.get(member);
    if (asked === undefined) {
      asked = ask(member, withinMs).finally(() => this.#asked.delete(member));
      this.#asked.set(member, asked);
    }
    return asked;
  }
}

async function ask(member: Member, withinMs: number): Promise<Condition> {
  const askedAt = performance.now();
  try {
    // Does not demand a leader: whether there is one is the question.
    const { leader, header } = await member.call('Status', {}, new Metadata(), withinMs);
    return { hasLeader: leader !== noLeader, term: Number(header.raftTerm) };
  } catch (error) {
    // This process itself was stalled: the answer may be waiting unread.
    if (performance.now() - askedAt > 1.5 * withinMs) return undefined;
    const isSilent = error instanceof EtcdFailure && error.kind === 'unreachable';
    return isSilent ? { hasLeader: false, term: 0 } : undefined;
  }
}

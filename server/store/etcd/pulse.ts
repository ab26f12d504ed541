// Whether a member of an etcd that is slow to answer still does its work.
import { Metadata } from '@grpc/grpc-js';
import { EtcdFailure, NewLeader, stoppedWorking } from './failure.ts';
import type { Member } from './member.ts';

/** The question is asked after this share of an attempt, and may take as long. */
const share = 0.25;
const noLeader = '0';

/** What a member says of itself; undefined: it could not be found out, so it is waited for. */
type Condition = { readonly hasLeader: boolean; readonly term: number } | undefined;

/**
 * Asks a member for its status, once for all calls that wait for it. A slow disk answers that question and is waited for; a lost way, or a
 * member without a leader, does not and is left early. Nor is a call waited for that began under another leader: what a member has passed on
 * to a leader that stopped working is lost, and the member would keep the call until its limit.
 */
export class Pulse {
  readonly #asked = new WeakMap<Member, Promise<Condition>>();

  /** Runs `call`, one attempt at the member, in that term at least. Its signal aborts with an EtcdFailure when it is of no use to wait. */
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
    // Without the demand for a leader, which is what is asked for.
    const { leader, header } = await member.call('Status', {}, new Metadata(), withinMs);
    return { hasLeader: leader !== noLeader, term: Number(header.raftTerm) };
  } catch (error) {
    // This process was held up itself: the answer may be waiting unread.
    if (performance.now() - askedAt > 1.5 * withinMs) return undefined;
    const isSilent = error instanceof EtcdFailure && error.kind === 'unreachable';
    return isSilent ? { hasLeader: false, term: 0 } : undefined;
  }
}

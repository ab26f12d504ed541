// Whether a member of an etcd that is slow to answer still does its work.
import { Metadata } from '@grpc/grpc-js';
import { EtcdFailure } from './failure.ts';
import type { Member } from './member.ts';

/** The question is asked after this share of an attempt, and may take as long. */
const share = 0.25;
const noLeader = '0';

/**
 * Asks a member for its status, once for all calls that wait for it. A slow disk answers that question and is waited for; a lost way, or a
 * member without a leader, does not and is left early.
 */
export class Pulse {
  readonly #asked = new WeakMap<Member, Promise<boolean>>();

  /** Runs `call`, one attempt at the member. Its signal aborts when the member no longer does its work; the call then throws EtcdFailure. */
  async watching<T>(member: Member, limitMs: number, call: (over: AbortSignal) => Promise<T>): Promise<T> {
    const over = new AbortController();
    const everyMs = limitMs * share;
    let isAnswered = false;
    const look = async (): Promise<void> => {
      const isWorking = await this.#isWorking(member, everyMs);
      if (isAnswered) return;
      if (isWorking) timer = setTimeout(() => void look(), everyMs);
      else over.abort();
    };
    let timer = setTimeout(() => void look(), everyMs);
    try {
      return await call(over.signal);
    } finally {
      isAnswered = true;
      clearTimeout(timer);
    }
  }

  #isWorking(member: Member, withinMs: number): Promise<boolean> {
    let asked = this.#asked.get(member);
    if (asked === undefined) {
      asked = ask(member, withinMs).finally(() => this.#asked.delete(member));
      this.#asked.set(member, asked);
    }
    return asked;
  }
}

async function ask(member: Member, withinMs: number): Promise<boolean> {
  const askedAt = performance.now();
  try {
    // Without the demand for a leader, which is what is asked for.
    return (await member.call('Status', {}, new Metadata(), withinMs)).leader !== noLeader;
  } catch (error) {
    // This process was held up itself: the answer may be waiting unread.
    if (performance.now() - askedAt > 1.5 * withinMs) return true;
    return !(error instanceof EtcdFailure && error.kind === 'unreachable');
  }
}

// The life of a one-time token, which is the life of the operation that shows it. Its record is the token: whoever uses it deletes the record.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { errorText } from '../lib/shared/reason.ts';

export interface TokenRecord {
  readonly isThere: () => boolean;
  /** Deletes the record, if it is there. */
  readonly remove: () => Promise<void>;
  /** Absent: the token does not expire. */
  readonly expiresAtMs?: number;
  /** Why nobody can use the token any more, though its record is there. */
  readonly problem?: () => string | undefined;
}

const lookEveryMs = 250;
/** How long a removal is tried while the store does not answer. */
const removalMs = 60_000;

/** Resolves when the token was used. Throws when it has expired, was withdrawn (`signal`) or has a problem, once its record is gone. */
export async function untilUsed(token: TokenRecord, clock: Pick<Clock, 'nowMs'>, signal: AbortSignal): Promise<void> {
  const why = await whyEnded(token, clock, signal);
  if (why === undefined) return;
  await removed(token);
  throw new Error(why);
}

async function whyEnded(
  token: TokenRecord,
  clock: Pick<Clock, 'nowMs'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (;;) {
    if (signal.aborted) return 'the token was withdrawn';
    const problem = token.problem?.();
    if (problem !== undefined) return problem;
    if (!token.isThere()) return undefined;
    if (clock.nowMs() >= (token.expiresAtMs ?? Infinity)) return 'the token expired before it was used';
    await sleep(lookEveryMs, undefined, { ref: false, signal }).catch(() => undefined);
  }
}

/** A withdrawn token must not be good again once the store answers. */
async function removed(token: TokenRecord): Promise<void> {
  for (const until = performance.now() + removalMs; ; await sleep(1_000, undefined, { ref: false }))
    try {
      return await token.remove();
    } catch (error) {
      if (performance.now() >= until)
        throw new Error(
          `The token could not be withdrawn, it is valid until its server starts again: ${errorText(error)}`,
          {
            cause: error,
          },
        );
    }
}

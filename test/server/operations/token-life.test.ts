// The operation of a token ends as the token does, and never before the token is of no use any more.
import { describe, expect, test } from 'vitest';
import { untilUsed, type TokenRecord } from '../../../server/operations/token-life.ts';

const made = (more: Partial<TokenRecord> = {}) => {
  const state = { isThere: true, removals: 0 };
  const token: TokenRecord = {
    isThere: () => state.isThere,
    remove: async () => {
      state.removals += 1;
      state.isThere = false;
    },
    ...more,
  };
  return { state, token, abort: new AbortController() };
};
const at = (ms: number) => ({ nowMs: () => ms });

describe('a token', () => {
  test('lets its operation succeed once somebody has used it, and nothing is removed', async () => {
    const { state, token, abort } = made();
    const ended = untilUsed(token, at(0), abort.signal);
    state.isThere = false;
    await ended;
    expect(state.removals).toBe(0);
  });

  test.each<[string, Partial<TokenRecord>, RegExp]>([
    ['has expired', { expiresAtMs: 5 }, /^the token expired before it was used$/],
    ['has a problem', { problem: () => 'the certificate has changed' }, /^the certificate has changed$/],
  ])('is removed when it %s, and its operation says why', async (_what, more, why) => {
    const { state, token, abort } = made(more);
    await expect(untilUsed(token, at(5), abort.signal)).rejects.toThrow(why);
    expect(state.isThere).toBe(false);
  });

  test('is removed before its operation ends when it is withdrawn while the store does not answer', async () => {
    let failures = 2;
    const { state, token, abort } = made({
      remove: async () => {
        failures -= 1;
        if (failures >= 0) throw new Error('no quorum');
        state.isThere = false;
      },
    });
    const ended = untilUsed(token, at(0), abort.signal);
    abort.abort();
    await expect(ended).rejects.toThrow('the token was withdrawn');
    expect([failures, state.isThere]).toEqual([-1, false]);
  });
});

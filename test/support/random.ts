// Repeatable chance for tests: the same seed gives the same numbers. Not for secrets.

export interface Random {
  readonly seed: number;
  /** From 0 up to, not including, 1. */
  next(): number;
}

/** `GANTRY_SEED` repeats an earlier run; print `seed` where a test fails. */
export function seededRandom(seed = Number(process.env['GANTRY_SEED'] ?? Date.now() % 1_000_000)): Random {
  let state = seed >>> 0;
  return {
    seed,
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}

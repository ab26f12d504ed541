// One thing wrong with an input: where and what; validation always collects all of them.

export interface Problem {
  /** Path in the input, dots between members: `devices.eth0.parent`. Empty for the whole. */
  readonly path: string;
  /** What is wrong and what to do about it. */
  readonly message: string;
}

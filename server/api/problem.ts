// One thing wrong with an input: where and what; validation always collects all of them.

/** The search ends after this many: more of them help no one, and each costs time. */
export const maxProblems = 100;

/** Limits on the size of one object; its values are checked, compared and rendered at each request. */
const [maxKeys, maxDevices] = [2000, 500];

/** At most one problem: more keys or devices than an object may have. */
export function countProblems(
  what: 'config' | 'devices',
  members: Readonly<Record<string, unknown>>,
): readonly Problem[] {
  const [count, most] = [Object.keys(members).length, what === 'config' ? maxKeys : maxDevices];
  return count > most
    ? [{ path: what, message: `has ${count} ${what === 'config' ? 'keys' : 'devices'}, at most ${most} are possible` }]
    : [];
}

export interface Problem {
  /** Path in the input, dots between members: `devices.eth0.parent`. Empty for the whole. */
  readonly path: string;
  /** The problem and its remedy. */
  readonly message: string;
}

// What a refusal says of the object, as words to decide by: neither server has a code for each of them, so the texts are read here only.

const patterns = {
  /** The object is there already. LXD answers 500, or a failed operation. */
  exists: /\balready (exists|defined|in use)\b/i,
  /** Other objects use it: "The network is currently in use". */
  inUse: /\b(in use|being used|used by)\b/i,
  /** Another operation is at work on it. */
  busy: /\bbusy\b/i,
  /** A container that has to be stopped first. */
  running: /\bis running\b/i,
  alreadyRunning: /\balready running\b/i,
  alreadyStopped: /\balready stopped\b/i,
  /** The container has the state asked for: started, stopped, frozen or thawed. */
  alreadySo: /\b(already (running|stopped)|is (not running|not frozen|already))\b/i,
  /** Another change came first while the operation waited for its turn. */
  changed: /\bETag no longer matches\b/,
  /** LXD's process for files dropped the connection; asking again helps. */
  fileHelper: /forkfile/,
} as const;

export type Refusal = keyof typeof patterns;

/** All that hold of a server's text. */
export function refusalsIn(text: string): ReadonlySet<Refusal> {
  const names = Object.keys(patterns) as Refusal[];
  return new Set(names.filter((name) => patterns[name].test(text)));
}

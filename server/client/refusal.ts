// Classifies refusals by their text: neither server has a code for each of them, so only this file reads the texts.

const patterns = {
  /** The object already exists. LXD answers 500, or a failed operation. */
  exists: /\balready (exists|defined|in use)\b/i,
  /** Other objects use it: "The network is currently in use". */
  inUse: /\b(in use|being used|used by)\b/i,
  /** Another operation is running on it. LXD has two texts for that; the second one names one that has just ended. */
  busy: /\bbusy\b|\bmatching non-reusable operation\b/i,
  /** The container must be stopped first. */
  running: /\bis running\b/i,
  alreadyRunning: /\balready running\b/i,
  alreadyStopped: /\balready stopped\b/i,
  /** The container already has the requested state: started, stopped, frozen or thawed. */
  alreadySo: /\b(already (running|stopped)|is (not running|not frozen|already))\b/i,
  /** LXD's database had no capacity for a transaction: nothing was done. */
  overloaded: /\bfailed to begin transaction\b|\bdatabase is locked\b/i,
  /** Another change came first while the operation was queued. */
  changed: /\bETag no longer matches\b/,
  /** LXD's process for files dropped the connection; a repeated call succeeds. */
  fileHelper: /forkfile/,
} as const;

export type Refusal = keyof typeof patterns;

export function refusalsIn(text: string): ReadonlySet<Refusal> {
  const names = Object.keys(patterns) as Refusal[];
  return new Set(names.filter((name) => patterns[name].test(text)));
}

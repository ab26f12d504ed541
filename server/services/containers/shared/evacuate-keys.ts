// The keys in a container's config while its member of a cluster is evacuated.
export const evacuateKeys = {
  /** The member it came from, and returns to when that is restored. */
  origin: 'volatile.evacuate.origin',
  /** It moved with its processes, and returns with them. */
  live: 'volatile.evacuate.live',
  /** The target group of its creation: it moves within that. */
  group: 'volatile.cluster.group',
  /** RUNNING: it was stopped to move, and starts at its target. A start removes the key. */
  power: 'volatile.evacuate.power',
} as const;

/** A placement target; empty: any member. Pure. */
export function groupOf(config: Readonly<Record<string, string>>): string {
  const group = config[evacuateKeys.group] ?? '';
  return group === '' ? '' : `@${group}`;
}

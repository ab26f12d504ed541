// The keys in a container's config while its member of a cluster is evacuated.
export const evacuateKeys = {
  /** The member that it comes from, and goes back to when that is restored. */
  origin: 'volatile.evacuate.origin',
  /** The group that was the target when it was made: it moves within that. */
  group: 'volatile.cluster.group',
  /** RUNNING: it was stopped to move, and starts where it arrives. A start removes it. */
  power: 'volatile.evacuate.power',
} as const;

/** As a target of placement; empty: any member. Pure. */
export function groupOf(config: Readonly<Record<string, string>>): string {
  const group = config[evacuateKeys.group] ?? '';
  return group === '' ? '' : `@${group}`;
}

// The keys in a container's config while its member of a cluster is evacuated.
export const evacuateKeys = {
  /** The member that it comes from, and goes back to when that is restored. */
  origin: 'volatile.evacuate.origin',
  /** RUNNING: it was stopped to move, and starts where it arrives. A start removes it. */
  power: 'volatile.evacuate.power',
} as const;

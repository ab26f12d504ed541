// Chooses which containers of a lost member start elsewhere, and which must stay together. Pure.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { deviceHome } from '../../../api/devices/index.ts';
import { devicePools } from '../../shared/expand.ts';

export interface LostContainer {
  readonly name: string;
  readonly isReady: boolean;
  /** An evacuation stopped it: it starts when its member is restored. */
  readonly isWaiting: boolean;
  readonly pool: string;
  readonly volumes: readonly string[];
  /** The config with profiles applied. */
  readonly config: ConfigMap;
  readonly devices: DeviceMap;
}

export interface LostMember {
  readonly containers: readonly LostContainer[];
  /** Keys of its custom volumes in shared pools. */
  readonly volumes: readonly string[];
  readonly sharedPools: ReadonlySet<string>;
  /** Names of containers with a change in progress. */
  readonly changing: ReadonlySet<string>;
}

/** Containers and volumes that need the same member. */
export interface Unit {
  readonly containers: readonly string[];
  readonly volumes: readonly string[];
}

export interface HealingPlan {
  readonly units: readonly Unit[];
  /** Objects that must wait for their member, and why. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
}

export function planHealing(lost: LostMember): HealingPlan {
  const reasons = new Map<LostContainer, string>();
  for (const container of lost.containers) {
    const reason = reasonToStay(container, lost);
    if (reason !== undefined) reasons.set(container, reason);
  }
  // Also visits reasons added during the loop: a chain of shared volumes stays together.
  for (const stays of reasons.keys())
    for (const container of lost.containers) {
      const common = container.volumes.find(
        (volume) => lost.volumes.includes(volume) && stays.volumes.includes(volume),
      );
      if (common !== undefined && !reasons.has(container))
        reasons.set(container, `shares the storage volume ${common} with the container ${stays.name}, which stays`);
    }
  const kept = new Set([...reasons.keys()].flatMap(({ volumes }) => volumes));
  return {
    units: unitsOf(
      lost.containers.filter((container) => !reasons.has(container)),
      lost.volumes.filter((volume) => !kept.has(volume)),
    ),
    left: [...reasons].map(([{ name }, reason]) => ({ name, reason })),
  };
}

function reasonToStay(container: LostContainer, { sharedPools, changing }: LostMember): string | undefined {
  const { name, isReady, isWaiting, pool, config, devices } = container;
  if (!isReady || changing.has(name)) return 'was being changed when its member was lost';
  if (isWaiting) return 'was stopped by an evacuation, and waits until its member is restored';
  if (config['cluster.evacuate'] === 'stop') return 'has cluster.evacuate set to stop';
  const local = [pool, ...devicePools(devices)].find((each) => !sharedPools.has(each));
  if (local !== undefined) return `has a disk in the pool ${local}, which is not shared`;
  const bound = Object.entries(devices).find(([, device]) => deviceHome(device) === 'host');
  return bound === undefined ? undefined : `has the device ${bound[0]}, which is of its host`;
}

/** Containers that share a volume form one unit; an unused volume is a unit of its own. */
function unitsOf(containers: readonly LostContainer[], volumes: readonly string[]): readonly Unit[] {
  const known = new Set(volumes);
  let units: Unit[] = [];
  for (const { name, volumes: used } of containers) {
    const own = used.filter((volume) => known.has(volume));
    const joined = units.filter((unit) => unit.volumes.some((volume) => own.includes(volume)));
    units = units.filter((unit) => !joined.includes(unit));
    units.push({
      containers: [...joined.flatMap((unit) => unit.containers), name],
      volumes: [...new Set([...joined.flatMap((unit) => unit.volumes), ...own])],
    });
  }
  const used = new Set(units.flatMap((unit) => unit.volumes));
  return [
    ...units,
    ...volumes.filter((volume) => !used.has(volume)).map((volume) => ({ containers: [], volumes: [volume] })),
  ];
}

/** In addition to the time to live: how long a member's containers may take to end after its lease. */
export const fenceMarginSeconds = 10;

/** How long a member's lease must have ended. Pure. */
export function healingWaitMs(thresholdSeconds: number, ttlSeconds: number): number {
  return Math.max(thresholdSeconds, ttlSeconds + fenceMarginSeconds) * 1000;
}

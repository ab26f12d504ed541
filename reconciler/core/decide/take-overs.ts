// Containers that take over an address or a port of the host from another container of the set, which gives it up. Pure.
import type { DeviceConfig } from '../../../server/api/devices/index.ts';
import { statusCodes } from '../../../server/api/status.ts';
import type { Document } from '../documents/document.ts';
import type { Observed } from '../documents/observed.ts';
import { reachable, type Edges } from '../graph/targets.ts';
import { rivalsOf } from '../clashes/containers.ts';
import { declaredContainers, type ExpectedContainer } from '../clashes/expected-containers.ts';

/** `needs`, and the containers that must change before another one takes over. Leaves out what would close a circle. */
export function withTakeOvers(needs: Edges, objects: readonly Document[], observed: Observed): Edges {
  const containers = declaredContainers(objects, observed);
  const givers = containers.flatMap((expected) => giverOf(expected, observed) ?? []);
  if (givers.length === 0) return needs;
  const all = new Map(needs);
  for (const [giver, takers] of rivalsOf([...givers, ...containers]))
    for (const taker of takers)
      if (!reachable([giver], all).has(taker)) all.set(taker, [...(all.get(taker) ?? []), giver]);
  return all;
}

/** The container as it is now, with the devices that it loses, changes or stops serving. */
function giverOf({ name, address, document, runs, devices }: ExpectedContainer, observed: Observed) {
  const live = document && observed.containers.get(document.name)?.object;
  if (live === undefined) return undefined;
  const isRunning = live.status_code === statusCodes.running;
  const given = Object.entries(live.expanded_devices ?? {}).filter(
    ([device, now]) => (isRunning && !runs) || !isSame(now, devices[device]),
  );
  return given.length === 0
    ? undefined
    : { name, address, runs: isRunning, devices: Object.fromEntries(given), isKnown: true };
}

const isSame = (device: DeviceConfig, expected: DeviceConfig | undefined): boolean =>
  expected !== undefined && Object.entries(device).every(([key, value]) => expected[key] === value);

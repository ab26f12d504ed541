// Compares the cluster member of containers and volumes with their documents: moves, offline and evacuated members. Pure.
import type { Container } from '../../../server/api/container/container.ts';
import type { Change } from '../documents/change.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { isIgnored, parseIgnore } from '../ownership/ignored-paths.ts';
import type { Guard } from '../plan/plan.ts';
import { isPlaced } from '../settings/cluster-members.ts';
import { isRunning } from './usage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Placement {
  /** The object is on another member than its document says. */
  readonly move?: Change;
  /** Why it cannot move. */
  readonly guard?: Guard;
  /** Its member is offline: nothing on it can be read or changed. */
  readonly offline?: string;
  /** Its member is evacuated, or its evacuation continues: it is not started. */
  readonly evacuated?: string;
}

const inPlace: Placement = {};

export function placementOf(document: Document, live: JsonObject, observed: Observed): Placement {
  const { members } = observed;
  const location = textOf(live['location']);
  const here = location === undefined ? undefined : members?.get(location);
  if (members === undefined || location === undefined || here === undefined || !isPlaced(document)) return inPlace;
  if (here.status === 'Offline') return { offline: location };
  const config = mapOf(live['config']);
  const origin = textOf(config['volatile.evacuate.origin']);
  const isWaiting = here.status === 'Evacuated' || textOf(config['volatile.evacuate.power']) !== undefined;
  const evacuated = isWaiting ? { evacuated: here.status === 'Evacuated' ? location : (origin ?? location) } : {};
  // The container moves back when its member is restored.
  if (origin !== undefined && origin !== '') return evacuated;
  const target = textOf(document.values['target']);
  if (target === undefined || isAt(target, location, observed)) return evacuated;
  if (isIgnored(parseIgnore(document.manage.ignore), 'target')) return evacuated;
  const to = target.startsWith('@') ? bestOf(target.slice(1), observed) : target;
  const guard = guardMove(document, live, location, to, observed);
  const move: Change = {
    path: 'target',
    segments: ['location'],
    before: location,
    after: to ?? target,
    effect: document.kind === 'container' ? 'restart' : 'recreate',
    secret: false,
  };
  return { move, ...withoutUndefined({ guard }), ...evacuated };
}

export const isMove = ({ path, segments }: Change): boolean => path === 'target' && segments[0] === 'location';

function isAt(target: string, location: string, { members }: Observed): boolean {
  if (!target.startsWith('@')) return target === location;
  const groups = members?.get(location)?.groups;
  return groups === undefined || groups.includes(target.slice(1));
}

/** The online member of the group with the fewest containers. */
function bestOf(group: string, { members, containers }: Observed): string | undefined {
  const count = (member: string): number =>
    [...containers.values()].filter(({ object }) => object.location === member).length;
  return [...(members ?? [])]
    .filter(([, { status, groups }]) => status === 'Online' && groups?.includes(group) === true)
    .map(([name]) => ({ name, count: count(name) }))
    .sort((a, b) => a.count - b.count || (a.name < b.name ? -1 : 1))[0]?.name;
}

function guardMove(
  document: Document,
  live: JsonObject,
  from: string,
  to: string | undefined,
  { members }: Observed,
): Guard | undefined {
  const { address, kind, manage, values } = document;
  const where = `${address} is on the member ${from}, its document says ${textOf(values['target']) ?? ''}`;
  const guard = (message: string, remedy: string): Guard => ({ code: 'member', address, message, remedy });
  // A volume cannot move: it is recreated, which has its own guards.
  if (kind !== 'container') return undefined;
  if (to === undefined)
    return guard(`${where}, and no member of that group is online`, 'bring one online, or change the target');
  const status = members?.get(to)?.status ?? '';
  if (status === 'Offline')
    return guard(`${where}, and ${to} is offline`, `bring ${to} online, or write target: ${from}`);
  if (status === 'Evacuated')
    return guard(`${where}, and ${to} is evacuated`, `gantry cluster restore ${to}, or write target: ${from}`);
  if (!isRunning(live as unknown as Container)) return undefined;
  if (live['ephemeral'] === true)
    return guard(
      `${where}: it would have to stop to move, and it is ephemeral, so a stop deletes it`,
      `write target: ${from}, or set ephemeral: false in a separate apply`,
    );
  return manage.power === 'ignore'
    ? guard(
        `${where}: it runs, would have to stop to move, and manage.power is ignore`,
        `stop it by hand, or write target: ${from}`,
      )
    : undefined;
}

// The cluster member of an object: the `target` in the state after a read, and problems of a planned one.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { lackOfCluster } from '../../../server/api/server/capability.ts';
import { clusterMembers, type Members } from '../../connection/cluster-members.ts';
import { isClustered, lacking, type Link } from '../../connection/link.ts';
import { failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import type { Context } from '../../framework/object-type.ts';
import { at } from '../../framework/path.ts';
import { nonEmpty } from './config-maps.ts';

type Config = Readonly<Record<string, string>>;

/** Values of `location` outside a cluster. */
const nowhere = ['', 'none'];

/** True after an evacuation moved the object away; it moves back when its member is restored. */
export const isAway = (config: Config): boolean => (config['volatile.evacuate.origin'] ?? '') !== '';

/** True after an evacuation stopped the container; it starts when its member is restored. */
export const isWaiting = (config: Config): boolean => (config['volatile.evacuate.power'] ?? '') !== '';

/** A group matches its members; on a server that does not list groups, any member. */
export function isAt(target: string, location: string, members: Members | undefined): boolean {
  if (!target.startsWith('@')) return target === location;
  const groups: readonly string[] | undefined = members?.get(location)?.groups;
  return groups === undefined || groups.includes(target.slice(1));
}

/** Pure. `stays`: the object is not at its target, but that is not a difference. */
export function seenTarget(
  target: string,
  { location, config }: { readonly location: string; readonly config: Config },
  members: Members | undefined,
): { readonly target: string; readonly stays?: string } {
  if (nowhere.includes(location) || isAt(target, location, members) || isAway(config)) return { target };
  if (members?.get(location)?.status === 'Offline') return { target, stays: `${location} is offline` };
  const wanted = [...(members ?? [])].filter(([name]) => isAt(target, name, members));
  if (wanted.length === 0 || wanted.some(([, { status }]) => status === 'Online')) return { target: location };
  const status = wanted[0]?.[1].status.toLowerCase() ?? '';
  return { target, stays: target.startsWith('@') ? `no member of ${target} is online` : `${target} is ${status}` };
}

/** The target for the state. After an import it is the current member, so that configuring it plans no change. */
export async function readTarget(
  context: Context<Link>,
  what: string,
  live: { readonly location: string; readonly config: Config },
  state: { readonly target: string | null; readonly isNew: boolean },
): Promise<string | null> {
  const { location } = live;
  if (state.isNew && state.target === null) return nowhere.includes(location) ? null : location;
  const target = nonEmpty(state.target);
  if (target === null || target === location || nowhere.includes(location)) return state.target;
  const seen = seenTarget(target, live, await clusterMembers(context.client));
  if (seen.stays !== undefined) {
    const detail = `Its target is ${target}. It stays on ${location} for now, and the plans after that move it.`;
    context.warn(warning(`The ${what} is on ${location}, and ${seen.stays}`, detail));
  }
  return seen.target;
}

/** Why the member or group `target` cannot take an object. Pure. */
export function targetProblem(target: string, members: Members): Diagnostic | undefined {
  const names = [...members.keys()];
  const where = at('target');
  if (target.startsWith('@')) {
    const inGroup = [...members.values()].filter(
      ({ groups }: { readonly groups: readonly string[] | undefined }) => groups?.includes(target.slice(1)) !== false,
    );
    if (inGroup.length === 0)
      return failure(
        `The cluster has no group with members ${target}`,
        'List them with lxc cluster group list.',
        where,
      );
    return inGroup.some(({ status }) => status === 'Online')
      ? undefined
      : failure(`No member of the group ${target} is online`, 'Bring one online, or name another target.', where);
  }
  const status = members.get(target)?.status;
  if (status === undefined)
    return failure(
      `The cluster has no member ${target}${hint(target, names)}`,
      `Its members are ${names.join(', ')}.`,
      where,
    );
  if (status === 'Offline')
    return failure(`The member ${target} is offline`, `Bring ${target} online, or name another target.`, where);
  return status === 'Evacuated'
    ? failure(
        `The member ${target} is evacuated`,
        `Restore it (gantry cluster restore ${target}), or name another target.`,
        where,
      )
    : undefined;
}

/** For a plan. Throws DiagnosticError outside a cluster. */
export async function membersFor(link: Link, what: string): Promise<Members> {
  const members = await clusterMembers(link);
  if (members !== undefined) return members;
  throw lacking(link, `place ${what} on members (target)`, lackOfCluster(isClustered(link)) ?? '');
}

// Decides what a user may do beyond viewing: the role operate allows everything, grants allow single rights for sets and hosts. Pure.
import { matchesHost, parseHostPattern, type HostFacts } from '../../../core/documents/host-pattern.ts';
import { starPattern } from '../../../core/text/star-pattern.ts';
import type { Overview, Right, Role } from '../../contract/index.ts';
import type { GrantSettings } from '../settings.ts';

export interface Grantee {
  readonly role?: Role;
  /** The name of the token. Names of the issuer's users are not unique, so grants go by their groups. */
  readonly token?: { readonly name: string };
  readonly groups?: readonly string[];
}

export interface WantedRight {
  readonly right: Right;
  /** Absent: the right is not about a set, as for a console. */
  readonly set?: string;
  /** Absent: not known yet; a grant for any host is enough so far. */
  readonly hosts?: readonly HostFacts[];
}

export function allows(grants: readonly GrantSettings[], who: Grantee, { right, set, hosts }: WantedRight): boolean {
  if (who.role === 'operate') return true;
  // A grant is useless without the role to view.
  if (who.role === undefined) return false;
  const own = grants.filter(
    (grant) =>
      isGrantOf(grant, who) &&
      grant.rights.includes(right) &&
      (set === undefined ? grant.sets === undefined : fitsAny(grant.sets, set)),
  );
  if (hosts === undefined || hosts.length === 0) return hosts === undefined ? own.length > 0 : own.some(isForAll);
  return hosts.every((host) => own.some((grant) => isForAll(grant) || isOnHost(grant, host)));
}

const isForAll = ({ hosts }: GrantSettings): boolean => hosts === undefined;

export const isGrantOf = ({ users = [], groups = [] }: GrantSettings, who: Grantee): boolean =>
  (who.token !== undefined && users.includes(who.token.name)) ||
  (who.groups ?? []).some((group) => groups.includes(group));

const isOnHost = ({ hosts = [] }: GrantSettings, host: HostFacts): boolean =>
  hosts.some((text) => {
    const pattern = parseHostPattern(text);
    return typeof pattern !== 'string' && matchesHost(pattern, host);
  });

function fitsAny(patterns: readonly string[] | undefined, name: string): boolean {
  if (patterns === undefined) return true;
  return patterns.some((pattern) => starPattern(pattern).test(name));
}

type Hosts = Pick<Overview, 'hosts' | 'sets'>;

/** The named hosts of a set, or all of them. */
export function hostsOfSet({ hosts, sets }: Hosts, set: string, named?: readonly string[]): readonly HostFacts[] {
  const names = named ?? sets.find(({ name }) => name === set)?.hosts.map(({ host }) => host) ?? [];
  const labels = new Map(hosts.map((one) => [one.name, one.labels]));
  return names.map((name) => ({ name, labels: labels.get(name) ?? {}, groups: [] }));
}

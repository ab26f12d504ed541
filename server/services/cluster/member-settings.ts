// The settings of a member of the cluster that clients write: its description, failure domain, config and groups.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { ClusterMember, ClusterMemberPut } from '../../api/cluster/cluster.ts';
import { defaultGroup, memberConfigProblems } from '../../api/cluster/member-groups.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { Problem } from '../../api/problem.ts';
import type { MemberDocument } from '../../records/cluster-documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { mergeConfig, replaceConfig } from '../shared/patch.ts';

export interface MemberSettingsDeps extends Pick<ServiceParts, 'records' | 'events'> {
  /** As clients see it. Throws AppError notFound. */
  readonly shown: (name: string) => ClusterMember;
}

export class MemberSettings {
  readonly #deps: MemberSettingsDeps;

  constructor(deps: MemberSettingsDeps) {
    this.#deps = deps;
  }

  put(caller: Caller, name: string, body: ClusterMemberPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, body, ifMatch, () => ({
      description: body.description ?? '',
      failureDomain: body.failure_domain || defaultDomain,
      config: replaceConfig(body.config),
      groups: named(body.groups ?? [defaultGroup]),
    }));
  }

  patch(caller: Caller, name: string, body: ClusterMemberPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, body, ifMatch, (now) => ({
      description: body.description ?? now.description ?? '',
      failureDomain: body.failure_domain || now.failureDomain || defaultDomain,
      config: mergeConfig(now.config ?? {}, body.config),
      groups: body.groups === undefined ? groupsOf(now) : named(body.groups),
    }));
  }

  async #change(
    caller: Caller,
    name: string,
    body: ClusterMemberPut,
    ifMatch: string | undefined,
    next: (
      now: MemberDocument,
    ) => Required<Pick<MemberDocument, 'description' | 'failureDomain' | 'config' | 'groups'>>,
  ): Promise<void> {
    const { records, events, shown } = this.#deps;
    await records.retry((changes) => {
      const object = shown(name);
      const document = mustFind(records.members.get(name)?.document, 'cluster member', name);
      checkIfMatch(ifMatch, etagOf.member(object), 'cluster member', name);
      const wanted = next(document);
      const problems = [
        ...memberConfigProblems(wanted.config),
        ...rolesProblems(body.roles, object.roles),
        ...groupProblems(records, wanted.groups),
      ];
      if (problems.length > 0) throw errors.invalid(`cluster member ${name}`, problems);
      requireGroups(changes, wanted.groups);
      changes.put('members', name, { ...document, ...wanted });
    });
    events.lifecycle('cluster-member-updated', `/1.0/cluster/members/${name}`, caller);
  }
}

const defaultDomain = 'default';

export const groupsOf = ({ groups }: Pick<MemberDocument, 'groups'>): readonly string[] =>
  groups === undefined || groups.length === 0 ? [defaultGroup] : groups;

/** Each group once. */
const named = (groups: readonly string[]): readonly string[] => [...new Set(groups)].toSorted();

/** The groups must exist until the transaction ends. */
export function requireGroups(changes: Changes, groups: readonly string[]): void {
  for (const group of groups) if (group !== defaultGroup) changes.require('memberGroups', group);
}

function groupProblems(records: Records, groups: readonly string[]): readonly Problem[] {
  if (groups.length === 0) return [{ path: 'groups', message: 'must have a group at least, such as default' }];
  return groups
    .filter((group) => group !== defaultGroup && !records.memberGroups.has(group))
    .map((group) => ({
      path: 'groups',
      message: `names ${JSON.stringify(group)}, and there is no such cluster group`,
    }));
}

/** Only the cluster assigns roles. */
function rolesProblems(sent: readonly string[] | undefined, roles: readonly string[]): readonly Problem[] {
  const isSame = sent === undefined || sent.toSorted().join() === [...roles].toSorted().join();
  return isSame
    ? []
    : [
        {
          path: 'roles',
          message: `cannot be changed: the cluster itself chooses the members that keep its records; this one has ${roles.join(', ') || 'none'}`,
        },
      ];
}

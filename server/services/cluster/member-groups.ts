// Groups of cluster members: what `target=@GROUP` names. The members' records say who is in a group.
import type { ServiceParts } from '../shared/service-parts.ts';
import {
  defaultGroup,
  groupNameRule,
  isGroupName,
  type ClusterGroup,
  type ClusterGroupCreate,
  type ClusterGroupPut,
} from '../../api/cluster/member-groups.ts';
import { errors, mustFind } from '../../api/errors.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Changes, Records } from '../../records/records.ts';
import { evacuateKeys } from '../containers/shared/evacuate-keys.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { groupsOf } from './member-settings.ts';

export interface MemberGroupsDeps extends Pick<ServiceParts, 'records' | 'events'> {
  readonly cluster: Pick<Cluster, 'isOn'>;
}

export const groupUrl = (name: string): string => `/1.0/cluster/groups/${encodeURIComponent(name)}`;

/** Keeps a transaction within its limits. */
const maxRegrouped = 50;

/** The containers of the cluster that were made for the group keep to it under its new name. True: some are left. */
function regroup(records: Records, changes: Changes, group: string, to: string): boolean {
  const isOf = ({ document }: { readonly document: ContainerDocument }): boolean =>
    document.config[evacuateKeys.group] === group;
  const regrouped = (document: ContainerDocument): ContainerDocument => ({
    ...document,
    config: { ...document.config, [evacuateKeys.group]: to },
  });
  const here = records.containers.list().filter(isOf).slice(0, maxRegrouped);
  const elsewhere = [...records.others.list('containers')].filter(isOf);
  const next = elsewhere.slice(0, maxRegrouped - here.length);
  for (const { name, document } of here) changes.put('containers', name, regrouped(document));
  for (const entry of next) changes.putOther('containers', entry, regrouped(entry.document));
  return here.length === maxRegrouped || next.length < elsewhere.length;
}

export class MemberGroups {
  readonly #deps: MemberGroupsDeps;

  constructor(deps: MemberGroupsDeps) {
    this.#deps = deps;
  }

  names(): readonly string[] {
    if (!this.#deps.cluster.isOn) return [];
    return [...new Set([defaultGroup, ...this.#deps.records.memberGroups.list().map(({ name }) => name)])].toSorted();
  }

  list(): readonly ClusterGroup[] {
    return this.names().map((name) => this.#render(name));
  }

  get(name: string): { readonly object: ClusterGroup; readonly etag: string } {
    const object = this.#render(name);
    return { object, etag: etagOf.memberGroup(object) };
  }

  async create(caller: Caller, { name, description = '', members }: ClusterGroupCreate): Promise<void> {
    const { records } = this.#deps;
    this.#mustBeOn();
    if (!isGroupName(name)) throw errors.invalidName('cluster group', name, groupNameRule);
    await records.retry((changes) => {
      if (this.#has(name)) throw errors.exists('cluster group', name);
      changes.put('memberGroups', name, { v: 1, description });
      this.#setMembers(changes, name, members ?? []);
    });
    this.#emit(caller, 'cluster-group-created', name);
  }

  put(caller: Caller, name: string, body: ClusterGroupPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, { description: body.description ?? '', members: body.members ?? [] });
  }

  patch(caller: Caller, name: string, body: ClusterGroupPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, body);
  }

  async rename(caller: Caller, name: string, to: string): Promise<void> {
    const { records } = this.#deps;
    this.#render(name);
    if (name === defaultGroup) throw errors.protectedObject('The cluster group default cannot be renamed');
    if (!isGroupName(to)) throw errors.invalidName('cluster group', to, groupNameRule);
    const renameNext = (changes: Changes): boolean => {
      const document = mustFind(records.memberGroups.get(name)?.document, 'cluster group', name);
      if (this.#has(to)) throw errors.exists('cluster group', to);
      if (regroup(records, changes, name, to)) return true;
      changes.delete('memberGroups', name);
      changes.put('memberGroups', to, document);
      for (const member of records.members.list()) {
        const groups = groupsOf(member.document);
        if (!groups.includes(name)) continue;
        const renamed = groups.map((group) => (group === name ? to : group)).toSorted();
        changes.put('members', member.name, { ...member.document, groups: renamed });
      }
      return false;
    };
    // The containers come first: a rename that was cut off can be repeated.
    while (await records.retry(renameNext));
    this.#emit(caller, 'cluster-group-renamed', to, { old_name: name });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    const { records } = this.#deps;
    this.#render(name);
    if (name === defaultGroup) throw errors.protectedObject('The cluster group default cannot be deleted');
    await records.retry((changes) => {
      const { members } = this.#render(name);
      if (members.length > 0) throw errors.inUse('cluster group', name, members);
      changes.delete('memberGroups', name);
    });
    this.#emit(caller, 'cluster-group-deleted', name);
  }

  async #change(caller: Caller, name: string, ifMatch: string | undefined, body: ClusterGroupPut): Promise<void> {
    const { records } = this.#deps;
    await records.retry((changes) => {
      const now = this.get(name);
      checkIfMatch(ifMatch, now.etag, 'cluster group', name);
      changes.put('memberGroups', name, { v: 1, description: body.description ?? now.object.description });
      if (body.members !== undefined) this.#setMembers(changes, name, body.members ?? []);
    });
    this.#emit(caller, 'cluster-group-updated', name);
  }

  /** Throws AppError badRequest for an unknown member, or one that would be in no group. */
  #setMembers(changes: Changes, group: string, wanted: readonly string[]): void {
    const { records } = this.#deps;
    const problems = wanted
      .filter((name) => !records.members.has(name))
      .map((name) => ({ path: 'members', message: `names ${JSON.stringify(name)}, and there is no such member` }));
    for (const { name, document } of records.members.list()) {
      const groups = groupsOf(document);
      const [isIn, willBe] = [groups.includes(group), wanted.includes(name)];
      if (isIn === willBe) continue;
      const next = willBe ? [...groups, group].toSorted() : groups.filter((each) => each !== group);
      if (next.length > 0) changes.put('members', name, { ...document, groups: next });
      else problems.push({ path: 'members', message: `must have ${name}, which is in no other group` });
    }
    if (problems.length > 0) throw errors.invalid(`cluster group ${group}`, problems);
  }

  #has(name: string): boolean {
    return name === defaultGroup || this.#deps.records.memberGroups.has(name);
  }

  #render(name: string): ClusterGroup {
    this.#mustBeOn();
    if (!this.#has(name)) throw errors.notFound('cluster group', name);
    const { records } = this.#deps;
    const isIn = records.members.list().filter(({ document }) => groupsOf(document).includes(name));
    return {
      name,
      description: records.memberGroups.get(name)?.document.description ?? 'Members that are in no other group',
      members: isIn.map((member) => member.name),
    };
  }

  #mustBeOn(): void {
    if (!this.#deps.cluster.isOn) throw errors.notClustered('This server is not part of a cluster');
  }

  #emit(caller: Caller, action: string, name: string, context?: Record<string, string>): void {
    this.#deps.events.lifecycle(action, groupUrl(name), caller, context);
  }
}

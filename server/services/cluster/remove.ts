// Removes a member from the cluster: deletes its records and ends its writes.
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { statusCodes } from '../../api/status.ts';
import type { Member } from '../../membership/members.ts';
import { peerHeaders } from '../../membership/peer-headers.ts';
import { fenceKey } from '../../membership/signals.ts';
import { hasCode } from '../../lib/shared/error-code.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { KeySpace, nameKey } from '../../records/key-space.ts';
import type { Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { stillHas } from './leave.ts';

export interface Removal {
  /** It may be offline, and its objects are lost to the cluster. */
  readonly isForced: boolean;
  /** Together with force: removes it with its objects although it is online. */
  readonly isEvenOnline?: boolean;
}

/** Throws AppError badRequest if objects would be lost without force. */
export function removeMember(deps: ClusterUseCaseDeps, caller: Caller, member: Member, removal: Removal): Operation {
  const { isForced } = removal;
  const { cluster, records, operations, events } = deps;
  const { name, number } = member;
  if (cluster.members.list().length === 1)
    throw errors.badRequest(`The member ${name} is the only one of its cluster: there would be none left`);
  if (member.isHere) return removeThisOne(deps, member, removal);
  if (!isForced) {
    if (!member.isPresent && member.document.isLeaving !== true)
      throw errors.badRequest(
        `The member ${name} is offline: with force it is removed, and what it had is lost to the cluster`,
      );
    const problem = stillThere(deps, member);
    if (problem !== undefined) throw errors.badRequest(problem);
  }
  checkNotOnline(deps, number, removal);
  return operations.start({
    description: 'Removing a cluster member',
    resources: { cluster: [] },
    run: async (_handle, signal) => {
      // It may have come back since.
      checkNotOnline(deps, number, removal);
      if (member.isPresent || !isForced) await deps.images.fetchAllOf(member, isForced, signal);
      if (!isForced) await noteRemoval(records, name, true);
      try {
        if (member.isPresent) await askToLeave(deps, member, isForced);
      } catch (error) {
        // It has refused, and stays. After any other failure it may have left.
        if (hasCode(error, 'badRequest')) await noteRemoval(records, name, false);
        throw error;
      }
      await deps.fence.fenceOut(number);
      await forgetMember(records, number);
      await records.retry((changes) => {
        if (!records.members.has(name)) return;
        changes.delete('members', name);
        // Their operations were there: no list would show them, and nobody could withdraw them.
        for (const token of records.joinTokens.list())
          if (token.document.member === number) changes.delete('joinTokens', token.name);
        for (const token of records.trustTokens.list())
          if (token.document.member === number) changes.delete('trustTokens', token.name);
        deps.keyChange.put(changes, number);
      });
      // A host that was still joining had no fence before; it looks for its record after taking one.
      await deps.fence.fenceOut(number);
      events.lifecycle('cluster-member-removed', `/1.0/cluster/members/${name}`, caller);
      await deps.keyChange.untilAllUse();
    },
  });
}

const stillThere = ({ records }: ClusterUseCaseDeps, { name, number }: Pick<Member, 'name' | 'number'>) =>
  stillHas(name, records.others.of('containers', number), records.others.of('volumes', number));

/** Force is for lost members: one that holds its lease runs what would be lost. */
function checkNotOnline(deps: ClusterUseCaseDeps, number: number, { isForced, isEvenOnline = false }: Removal): void {
  const member = deps.cluster.members.byNumber(number);
  if (!isForced || isEvenOnline || member?.isPresent !== true) return;
  const problem = stillThere(deps, member);
  if (problem !== undefined)
    throw errors.badRequest(
      `${problem}. It is online: force discards what it has only together with online=1 (gantry: --force --yes)`,
    );
}

/** A member cannot remove itself: a peer does it, and also deletes this member's records. */
function removeThisOne(
  { cluster, operations }: ClusterUseCaseDeps,
  { name }: Member,
  { isForced, isEvenOnline = false }: Removal,
): Operation {
  const [other] = cluster.members.reachable();
  if (other === undefined)
    throw errors.badRequest(
      `The member ${name} cannot leave while no other member can be reached: one of them has to delete its records`,
    );
  const query = isForced ? `?force=1${isEvenOnline ? '&online=1' : ''}` : '';
  return operations.start({
    description: 'Leaving the cluster',
    resources: { cluster: [] },
    run: async () => {
      const path = `/1.0/cluster/members/${encodeURIComponent(name)}${query}`;
      const { id } = await cluster.ask<{ readonly id: string }>(other, 'DELETE', path);
      const { status_code: code, err } = await cluster.ask<{ readonly status_code: number; readonly err: string }>(
        other,
        'GET',
        `/1.0/operations/${id}/wait`,
      );
      if (code !== statusCodes.success) throw errors.badRequest(err);
    },
  });
}

/** If this daemon dies once the member has left, the same request finishes the removal, without force. */
async function noteRemoval(records: Records, name: string, isLeaving: boolean): Promise<void> {
  await records.retry((changes) => {
    const document = records.members.get(name)?.document;
    if (document === undefined) return;
    const { isLeaving: _before, ...rest } = document;
    changes.put('members', name, isLeaving ? { ...rest, isLeaving } : rest);
  });
}

/** The member becomes a single host. With force it is removed even if it cannot, and never starts as a member again. */
async function askToLeave({ cluster, log }: ClusterUseCaseDeps, member: Member, isForced: boolean): Promise<void> {
  try {
    await cluster.links.json(member, {
      method: 'PUT',
      path: '/1.0/cluster',
      headers: { ...peerHeaders(cluster.ownName), 'content-type': 'application/json' },
      body: JSON.stringify({ server_name: '', enabled: false }),
      outlivesLease: true,
    });
  } catch (error) {
    // One of two members may have the only vote in the etcd that they run: without it the cluster cannot write.
    if (!isForced || cluster.members.list().length === 2) throw error;
    log.warn(`The member ${member.name} is removed, and did not leave by itself: ${errorText(error)}`);
  }
}

const keysPerTxn = 100;

/** Deletes its own records, and the names they reserve: each with its record in one transaction. After a crash between two transactions
 *  nothing would lead to a name without its record, which would stay taken for ever. */
export async function forgetMember(records: Pick<Records, 'others' | 'deleteKeys'>, number: number): Promise<void> {
  const space = new KeySpace(number);
  let batch: readonly string[] = [fenceKey(number)];
  for (const kind of records.others.kinds())
    for (const { name } of records.others.of(kind, number)) {
      const isReserved = space.nameKeyOf(kind, name) !== undefined || kind === 'volumes';
      const keys = [space.keyOf(kind, name), ...(isReserved ? [nameKey(kind, name)] : [])];
      if (batch.length + keys.length > keysPerTxn) {
        await records.deleteKeys(batch);
        batch = [];
      }
      batch = [...batch, ...keys];
    }
  await records.deleteKeys(batch);
}

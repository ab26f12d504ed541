// Removes a member from the cluster: its records go, and it writes nothing more.
import { errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import type { Member } from '../../cluster/members.ts';
import { KeySpace, nameKey } from '../../records/key-space.ts';
import type { Caller } from '../caller.ts';
import type { ClusterUseCaseDeps } from './deps.ts';

/** Throws AppError badRequest when it has what would be lost, unless that is wanted. */
export function removeMember(deps: ClusterUseCaseDeps, caller: Caller, member: Member, isForced: boolean): Operation {
  const { cluster, records, operations, events } = deps;
  const { name, number } = member;
  if (cluster.members.list().length === 1)
    throw errors.badRequest(`The member ${name} is the only one of its cluster: there would be none left`);
  if (member.isHere) throw errors.badRequest(`Ask another member to remove ${name}: this is it`);
  if (!isForced) {
    if (!member.isPresent)
      throw errors.badRequest(
        `The member ${name} is offline: with force it is removed, and what it had is lost to the cluster`,
      );
    const held = [...records.others.of('containers', number)].map((entry) => `the container ${entry.name}`);
    for (const entry of records.others.of('volumes', number)) held.push(`the storage volume ${entry.name}`);
    if (held.length > 0)
      throw errors.badRequest(
        `The member ${name} still has ${held.slice(0, 3).join(', ')}${held.length > 3 ? ` and ${held.length - 3} more` : ''}: evacuate it first`,
      );
  }
  return operations.start({
    description: 'Removing a cluster member',
    resources: { cluster: [] },
    run: async () => {
      await deps.fence.fenceOut(number);
      await forgetMember(deps, number);
      await records.retry((changes) => {
        if (records.members.has(name)) changes.delete('members', name);
      });
      events.lifecycle('cluster-member-removed', `/1.0/cluster/members/${name}`, undefined, caller.requestor);
    },
  });
}

const keysPerTxn = 100;

/** All that it had for itself, and the names that it held. */
async function forgetMember({ records }: ClusterUseCaseDeps, number: number): Promise<void> {
  const space = new KeySpace(number);
  const keys: string[] = [];
  for (const kind of records.others.kinds())
    for (const { name } of records.others.of(kind, number)) {
      keys.push(space.keyOf(kind, name));
      if (space.nameKeyOf(kind, name) !== undefined) keys.push(nameKey(kind, name));
    }
  for (let from = 0; from < keys.length; from += keysPerTxn)
    await records.deleteKeys(keys.slice(from, from + keysPerTxn));
}

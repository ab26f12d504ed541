// This member leaves its cluster: its records go to a file of its own, and it is a single host from then on.
import { errors } from '../../api/errors.ts';
import { removeMembership } from '../../membership/membership.ts';
import type { Records } from '../../records/records.ts';
import { load } from '../../store/load.ts';
import { asSingle } from './convert-records.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { namesText } from '../../api/text/names-text.ts';

/** The deletion of the membership file is the commit point: before it the host is a member, also after a crash; after it a single host. */
export async function leave(deps: ClusterUseCaseDeps): Promise<void> {
  const { records, cluster, single, stateDir } = deps;
  const number = records.member;
  if (number === undefined) return;
  const { address } = cluster.members.byNumber(number) ?? {};
  checkHoldsNothing(cluster.ownName, records);
  await cluster.disappear();
  try {
    await records.moveTo(undefined, async (from) => {
      checkHoldsNothing(cluster.ownName, records);
      const opened = await single.begin();
      try {
        await load(opened.store, asSingle(from, number));
        if (address !== undefined) await deps.stores.withdraw(address);
        await removeMembership(stateDir);
      } catch (error) {
        await opened.abandon();
        throw error;
      }
      await opened.use();
      return opened.store;
    });
  } catch (error) {
    await deps.becameMember();
    throw error;
  }
}

/** Ends the membership after the requesting member has its answer. */
export async function endMembership(deps: ClusterUseCaseDeps): Promise<void> {
  await deps.certificates.reload(deps.stateDir, false);
  await deps.stores.forget();
  await deps.identity.forget();
  await deps.listen(undefined);
}

function checkHoldsNothing(name: string, records: Records): void {
  const problem = stillHas(name, records.containers.list(), records.volumes.list());
  if (problem !== undefined) throw errors.badRequest(problem);
}

type Named = Iterable<{ readonly name: string }>;

/** Undefined: the member has none of both, and can leave. Pure. */
export function stillHas(member: string, containers: Named, volumes: Named): string | undefined {
  const ofContainers = Array.from(containers, ({ name }) => `the container ${name}`);
  const ofVolumes = Array.from(volumes, ({ name }) => `the storage volume ${name}`);
  const objects = [...ofContainers, ...ofVolumes];
  if (objects.length === 0) return undefined;
  // An evacuation leaves volumes, and the containers that use them, where they are.
  const advice = ofVolumes.length === 0 ? 'evacuate it first' : 'move or delete them first';
  return `The member ${member} still has ${namesText(objects, 3)}: ${advice}`;
}

// Moves a stopped container on shared storage to another member: the files stay in place, one transaction moves its records.
import { errors } from '../../../api/errors.ts';
import { plainName } from '../../../api/project/project-names.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import type { Cluster } from '../../../membership/cluster.ts';
import type { Member } from '../../../membership/members.ts';
import type { Records } from '../../../records/records.ts';
import { ownedKey, volumeIdOf } from '../../../records/record-names.ts';
import { readyContainer } from '../../shared/find-container.ts';
import type { RemoveDeps } from '../../containers/remove/remove.ts';
import { ownedBy } from '../../shared/owned-records.ts';
import { containersUsing } from '../../storage/volume-users.ts';
import { usesOf } from '../../shared/used-by.ts';
import { takeOver, type TakeOver } from '../healing/take-over.ts';
import { leave } from './sagas/container-leave.ts';

type Deps = Pick<RemoveDeps, 'records' | 'runtime' | 'logsDir' | 'pools' | 'sagas'> & { readonly cluster: Cluster };

export interface MoveTo {
  readonly member: Member;
  readonly name: string;
  readonly pool: string;
  readonly withoutSnapshots: boolean;
}

/** Whether the files stay in place: a copy would overwrite them. */
export function staysInPool(records: Records, name: string, to: MoveTo): boolean {
  const { pool } = readyContainer(records, name).document;
  return to.pool === pool && to.name === name && isShared(records, pool);
}

const isShared = (records: Records, pool: string): boolean =>
  isTrue(records.pools.get(pool)?.document.config['source.shared']);

/** Throws AppError badRequest for devices that cannot move along. */
export function refuseHandOver(
  { records, cluster }: Pick<Deps, 'records' | 'cluster'>,
  name: string,
  to: MoveTo,
): void {
  const taken = takenOf(records, name);
  const plain = plainName(name);
  if (to.withoutSnapshots && taken.some(({ kind }) => kind === 'snapshots'))
    throw errors.badRequest(
      `The container ${plain} stays in its shared pool, and so do its snapshots: delete them first`,
    );
  if (takeOver(taken, { from: cluster.members.here, to: to.member.number }, []).length > 1)
    throw errors.badRequest(
      `The container ${plain} has ${taken.length - 1} snapshots and volumes with it, whose records are too many or too long to move in one step: delete some snapshots first`,
    );
}

/** The caller holds the container's lock. Throws AppError conflict after a concurrent change. */
export async function handOver(deps: Deps, name: string, to: MoveTo): Promise<void> {
  const { records, cluster } = deps;
  refuseHandOver(deps, name, to);
  const { uuid, pool } = readyContainer(records, name).document;
  await leave(deps, { name, uuid, pool }, async () => {
    const place = { from: cluster.members.here, to: to.member.number };
    for (const { compares, ops } of takeOver(takenOf(records, name), place, []))
      if (!(await records.writeKeys(compares, ops))) throw errors.conflict('container', plainName(name));
    await cluster.readBarrier();
  });
}

function takenOf(records: Records, name: string): readonly TakeOver[] {
  const found = readyContainer(records, name);
  const prefix = 'volume ';
  const uses = [...usesOf(name, found.document, records)].filter((use) => use.startsWith(prefix));
  const { uuid } = found.document;
  return [
    ...uses.flatMap((use) => volumeOf(records, name, use.slice(prefix.length))),
    ...ownedOf(records, 'snapshots', uuid),
    { kind: 'containers', name, document: found.document, modRev: found.modRev },
  ];
}

/** A volume that only this container uses, which moves along. Throws AppError badRequest for another one. */
function volumeOf(records: Records, container: string, key: string): readonly TakeOver[] {
  const found = records.volumes.get(key);
  if (found === undefined) return [];
  const volume = volumeIdOf(key);
  if (!isShared(records, volume.pool) || containersUsing(records, volume).some((user) => user !== container))
    throw errors.badRequest(
      `The container ${plainName(container)} uses the storage volume ${volume.pool}/${plainName(volume.name)}, which stays on its member: detach it first`,
    );
  const { uuid } = found.document;
  return [
    ...ownedOf(records, 'volumeSnapshots', uuid),
    { kind: 'volumes', name: key, document: found.document, modRev: found.modRev },
  ];
}

function ownedOf(records: Records, kind: 'snapshots' | 'volumeSnapshots', uuid: string): readonly TakeOver[] {
  return ownedBy(records, kind, uuid).flatMap((owned) => {
    const found = records[kind].get(ownedKey(uuid, owned.name));
    return found === undefined ? [] : [{ ...found, kind } as TakeOver];
  });
}

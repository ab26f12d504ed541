// Finds the member of a cluster that has a custom volume. Several may have volumes of one name.
import { errors } from '../api/errors.ts';
import { plainName } from '../api/project/project-names.ts';
import type { Records } from '../records/records.ts';
import type { Members } from './members.ts';

/** By its key; undefined if none has it. Throws AppError badRequest with their names if several have it. */
export function volumeOwner(
  records: Pick<Records, 'volumes' | 'others'>,
  members: Pick<Members, 'here' | 'nameOf'>,
  key: string,
): number | undefined {
  const others = records.others.having('volumes', key).map(({ member }) => member);
  const owners = [...(records.volumes.has(key) ? [members.here] : []), ...others];
  if (owners.length <= 1) return owners[0];
  const slash = key.indexOf('/');
  const names = owners.map((owner) => members.nameOf(owner)).toSorted();
  throw errors.badRequest(
    `The storage volume ${plainName(key.slice(slash + 1))} of the pool ${key.slice(0, slash)} is on ${names.join(', ')}: name one of them with target`,
  );
}

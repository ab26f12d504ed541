// Renames a cluster member at once, also in containers that moved away from it.
import { errors, mustFind } from '../../api/errors.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { evacuateKeys } from '../containers/shared/evacuate-keys.ts';
import { checkMemberName } from './member-name.ts';

/** Keeps the transaction within its limits. */
const maxAway = 100;

/** Throws AppError notFound, exists or badRequest. */
export async function renameMember(records: Records, name: string, to: string): Promise<void> {
  checkMemberName(to);
  const isFrom = ({ document }: { readonly document: ContainerDocument }): boolean =>
    document.config[evacuateKeys.origin] === name;
  const renamed = (document: ContainerDocument): ContainerDocument => ({
    ...document,
    config: { ...document.config, [evacuateKeys.origin]: to },
  });
  await records.retry((changes) => {
    const document = mustFind(records.members.get(name)?.document, 'cluster member', name);
    if (records.members.has(to)) throw errors.exists('cluster member', to);
    const here = records.containers.list().filter(isFrom);
    const elsewhere = [...records.others.list('containers')].filter(isFrom);
    const count = here.length + elsewhere.length;
    if (count > maxAway)
      throw errors.badRequest(
        `${count} containers are away from the member ${name} while it is evacuated, and at most ${maxAway} can follow a new name: restore it first`,
      );
    changes.delete('members', name);
    changes.put('members', to, document);
    for (const entry of here) changes.put('containers', entry.name, renamed(entry.document));
    for (const entry of elsewhere) changes.putOther('containers', entry, renamed(entry.document));
  });
}

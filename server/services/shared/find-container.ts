// Finds a container that is ready for changes, or throws the reason.
import { type AppError, errors } from '../../api/errors.ts';
import type { Records } from '../../records/records.ts';
import type { ContainerEntry } from './container-view.ts';

/** Throws notFound, or moved; a container that a saga owns (in creation or deletion) does not exist for others. */
export function readyContainer(records: Records, name: string): ContainerEntry {
  const entry = records.containers.get(name);
  if (entry === undefined) throw notHere(records, name);
  if (entry.document.lifecycle !== 'ready') {
    throw errors.badRequest(
      `The container ${name} is busy: it is ${entry.document.lifecycle === 'creating' ? 'being created' : 'being deleted'}`,
    );
  }
  return entry;
}

/** For reading: also one in creation or deletion. */
export function anyContainer(records: Records, name: string): ContainerEntry {
  const entry = records.containers.get(name);
  if (entry === undefined) throw notHere(records, name);
  return entry;
}

/** In a cluster it may have moved to another member after the request was sent here. */
const notHere = (records: Records, name: string): AppError =>
  records.others.get('containers', name) === undefined ? errors.notFound('container', name) : errors.moved(name);

export const lockOf = (name: string): string => `container/${name}`;

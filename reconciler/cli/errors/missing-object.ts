// Says which object a server does not have, and which command lists those that it has.
import type { KindName } from '../../../server/api/kinds.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import { commandError } from './usage-error.ts';

/** For `catch` of a request about one object: throws a CliError instead of a 404, and other errors as they are. */
export const refuseMissing =
  (kind: KindName, name: string) =>
  (error: unknown): never => {
    if (!isNotFound(error)) throw error;
    throw commandError(`${kind}/${name} does not exist: ${whereListed(kind)}`, error);
  };

export const whereListed = (kind: KindName): string =>
  `${kind === 'container' ? 'gantry list' : `gantry get ${kind}`} shows what there is`;

// Which architectures a server runs: those of its host, or those of all members of a cluster. Pure.
import { architecturesOfHost } from '../../../server/api/image/architectures.ts';
import type { Observed } from '../documents/observed.ts';

/** Undefined when the server does not report them. */
export function runnableArchitectures({ server, members }: Observed): readonly string[] | undefined {
  if (members === undefined) return server.architectures;
  const own = [...members.values()].map(({ architecture }) => architecture);
  if (own.includes(undefined)) return undefined;
  return [...new Set([...(server.architectures ?? []), ...own.flatMap((name = '') => architecturesOfHost(name))])];
}

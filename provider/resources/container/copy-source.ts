// The source of a copy: another container, or a snapshot of one.
import type { Snapshot } from '../../../server/api/container/snapshot.ts';
import type { Container } from '../../../server/api/container/container.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';
import type { ContainerState, Source } from './container-attributes.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { readPath, segment } from '../shared/read-by-path.ts';

/** The name in the API: `web`, or `web/before` for a snapshot. */
export function copiedFrom({ source, snapshot }: Pick<Source, 'source' | 'snapshot'>): string {
  const name = nonEmpty(snapshot);
  return name === null ? (source ?? '') : `${source ?? ''}/${name}`;
}

/** The path of the source in the API. */
export function copiedPath(source: Source): string {
  const [container = '', ...snapshot] = copiedFrom(source).split('/');
  const path = `/1.0/containers/${segment(container)}`;
  return snapshot.length === 0 ? path : `${path}/snapshots/${segment(snapshot.join('/'))}`;
}

/** The source container or snapshot; undefined if it is gone. */
export const readOrigin = async (context: Context<Link>, source: Source): Promise<Container | Snapshot | undefined> =>
  (await readPath<Container | Snapshot>(context, copiedPath(source)))?.metadata;

/** The profiles of the source, for a copy without configured ones. LXD leaves that to its clients and would assign `default`. */
export async function inherited(context: Context<Link>, { source, profiles }: ContainerState) {
  if (source?.type !== 'copy' || profiles !== null || isGantry(context.client)) return {};
  const origin = await readOrigin(context, source);
  return origin === undefined ? {} : { profiles: [...origin.profiles] };
}

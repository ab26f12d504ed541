// What a container is copied from: another container, or a snapshot of one.
import type { Snapshot } from '../../../server/api/container/snapshot.ts';
import type { Container } from '../../../server/api/container/container.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';
import type { ContainerState, Source } from './container-attributes.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { segment } from '../shared/read-by-path.ts';

/** As the API has it: `web`, or `web/before` for a snapshot. */
export function copiedFrom({ source, snapshot }: Pick<Source, 'source' | 'snapshot'>): string {
  const name = nonEmpty(snapshot);
  return name === null ? (source ?? '') : `${source ?? ''}/${name}`;
}

/** Where the API has what is copied. */
export function copiedPath(source: Source): string {
  const [container = '', ...snapshot] = copiedFrom(source).split('/');
  const path = `/1.0/containers/${segment(container)}`;
  return snapshot.length === 0 ? path : `${path}/snapshots/${segment(snapshot.join('/'))}`;
}

/** What a copy gets of its source when the configuration leaves it out. LXD leaves that to its clients, and gives it `default`. */
export async function inherited({ client, signal }: Context<Link>, { source, profiles }: ContainerState) {
  if (source?.type !== 'copy' || profiles !== null || isGantry(client)) return {};
  const call = { method: 'GET', path: copiedPath(source) } as const;
  const { metadata } = await client.client.http.send<Container | Snapshot>(call, signal);
  return { profiles: [...metadata.profiles] };
}

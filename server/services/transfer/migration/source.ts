// The common part of all sources of migrations: the operation, and the conversation that sends a volume with its snapshots.
import type { ServiceParts } from '../../shared/service-parts.ts';
import {
  MigrationAnswer,
  MigrationStep,
  migrationProtocol,
  migrationVersion,
  type ContainerMigrationOffer,
  type VolumeMigrationOffer,
} from '../../../api/container/migration-messages.ts';
import { version } from '../../../api/version.ts';
import type { VolumeRef } from '../../../drivers/storage/driver.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Pools } from '../../storage/pools.ts';
import type { LxdHeader } from './lxd/messages.ts';
import { factsOf, featuresOf, headerOf, isTwice, sendsSubvolumes, type SourceFacts } from './lxd/offers.ts';
import { sendSubvolumes } from './lxd/subvolumes.ts';
import { sendToLxd } from './lxd/trees.ts';
import type { OwnerOf } from './owners.ts';
import { PeerError, type Peer } from './peer.ts';
import { trackProgress } from './progress.ts';
import { formatsOf, sendPart } from './streams.ts';

export interface ServeDeps extends Pick<ServiceParts, 'records' | 'clock'> {
  readonly pools: Pools;
}

export function offerHead<K extends 'container' | 'volume'>(
  deps: ServeDeps,
  kind: K,
  name: string,
  uuid: string,
  pool: string,
): OfferHead<K> {
  return {
    type: 'offer',
    protocol: migrationProtocol,
    versions: [migrationVersion],
    release: version,
    kind,
    name,
    uuid,
    formats: [...formatsOf(deps.pools, pool)],
  };
}

type OfferHead<K> = Omit<ContainerMigrationOffer, 'kind' | 'object' | 'snapshots'> & { readonly kind: K };

interface Sending {
  /** Facts that a real LXD reads besides the offer. Absent: the target is another member of the cluster. */
  readonly lxd?: SourceFacts | undefined;
  readonly volume: { readonly pool: string; readonly ref: VolumeRef; readonly snapshot?: string };
  readonly offer: ContainerMigrationOffer | VolumeMigrationOffer;
  /** Set for containers; called before the last part, the volume itself, is sent. See owners.ts. */
  /** Before the last part is sent, which is the volume itself. */
  readonly store?: (() => Promise<void>) | undefined;
  /** Called when everything has been sent and the target may begin. */
  readonly sent?: (() => void) | undefined;
  readonly ownersOf?: (snapshot: string | undefined) => Promise<OwnerOf | undefined>;
}

/** The caller prevents changes to the volume until the end. Resolves when the target has stored and recorded everything. */
export async function serve(
  deps: ServeDeps,
  peer: Peer,
  { lxd, volume, offer, ownersOf, store, sent }: Sending,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  if (lxd === undefined) await peer.send({ ...offer });
  else await peer.sendOffer({ ...offer }, headerOf(offer, lxd, factsOf(deps.pools.use(volume.pool))));
  const header = lxd === undefined ? undefined : await peer.takeHeader();
  if (lxd !== undefined && header !== undefined)
    return serveLxd(deps, peer, { volume, offer, lxd }, header, handle, signal);
  const answer = (await peer.receive(MigrationAnswer)) as MigrationAnswer;
  checkAnswer(offer, answer);
  const progress = progressOf(deps, volume.pool, handle, signal);
  for (const [index, { snapshot, ...how }] of answer.parts.entries()) {
    progress.begin(snapshot === undefined ? offer.name : `${offer.name}/${snapshot}`);
    if (index === answer.parts.length - 1) await store?.();
    const from = snapshot ?? volume.snapshot;
    const part = { ...volume, snapshot: from, ownerOf: await ownersOf?.(from) };
    await sendPart(deps.pools, peer, part, { ...how, format: answer.format }, progress, signal);
    progress.end();
  }
  sent?.();
  await peer.send({ type: 'sent' });
  const step = (await peer.receive(MigrationStep)) as MigrationStep;
  if (step.type !== 'done') throw new PeerError(`the target answered ${step.type} where it should be done`);
}

/** Serves a real LXD, which answered `header`. */
async function serveLxd(
  deps: ServeDeps,
  peer: Peer,
  { volume, offer, lxd }: Pick<Sending, 'volume' | 'offer'> & { readonly lxd: SourceFacts },
  header: LxdHeader,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  if (lxd.state === 'live')
    throw new PeerError(
      'between gantryd and a real LXD the memory of a running container does not travel: copy it with --stateless, or stop it',
    );
  const offered: readonly string[] = offer.snapshots.map(({ name }) => name);
  const snapshots = header.refresh === true ? header.snapshotNames : offered;
  const unknown = snapshots.filter((name) => !offered.includes(name));
  if (unknown.length > 0)
    throw new PeerError(`the target wants snapshots that were not offered: ${unknown.join(', ')}`);
  const { driver, pool } = deps.pools.use(volume.pool);
  const progress = progressOf(deps, volume.pool, handle, signal);
  const { ref, snapshot } = volume;
  const trees = { driver, pool, ref, snapshot, snapshots, features: featuresOf(header), isTwice: isTwice(header) };
  if (sendsSubvolumes(header)) await sendSubvolumes(peer, trees, progress, signal);
  else await sendToLxd(peer, trees, progress, signal);
  await peer.receive(MigrationStep);
}

const progressOf = (
  { clock, records }: ServeDeps,
  pool: string,
  handle: OperationHandle,
  signal: AbortSignal,
): ReturnType<typeof trackProgress> =>
  trackProgress({
    clock,
    onProgress: (metadata) => handle.update(metadata),
    limit: records.pools.get(pool)?.document.config['rsync.bwlimit'],
    signal,
  });

function checkAnswer(offer: Sending['offer'], answer: MigrationAnswer): void {
  if (!offer.versions.includes(answer.version))
    throw new PeerError(
      `the target wants version ${answer.version} of ${migrationProtocol}, here is ${offer.versions.join(', ')}`,
    );
  if (!offer.formats.includes(answer.format))
    throw new PeerError(`the target wants its files as ${answer.format}, offered were ${offer.formats.join(', ')}`);
  const names: readonly string[] = offer.snapshots.map(({ name }) => name);
  const wanted = answer.parts.flatMap(({ snapshot, parent }) => [snapshot, parent]);
  const unknown = wanted.filter((name) => name !== undefined && !names.includes(name));
  if (answer.parts.at(-1)?.snapshot !== undefined || answer.parts.length === 0)
    throw new PeerError('the target wants only snapshots, and not what they are of');
  if (unknown.length > 0)
    throw new PeerError(`the target wants snapshots that were not offered: ${unknown.join(', ')}`);
}

// The common part of all targets of migrations: the operation, reading the offer, and receiving a volume with its snapshots.
import type { ServiceParts } from '../../shared/service-parts.ts';
import type { ContainerSource } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import {
  ContainerMigrationOffer,
  MigrationStep,
  migrationProtocol,
  migrationVersion,
  VolumeMigrationOffer,
} from '../../../api/container/migration-messages.ts';
import { validateBody } from '../../../api/schema/validate-json.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Pools } from '../../storage/pools.ts';
import { dialMeeting, type Meeting } from './connect.ts';
import type { LxdHeader } from './lxd/messages.ts';
import {
  answerTo,
  factsOf,
  featuresOf,
  isLive,
  isTwice,
  offerOf,
  sendsSubvolumes,
  type Purpose,
} from './lxd/offers.ts';
import { receiveSubvolumes } from './lxd/subvolumes.ts';
import { receiveFromLxd } from './lxd/trees.ts';
import { PeerError, type Peer } from './peer.ts';
import { trackProgress } from './progress.ts';
import type { Reach } from '../../../lib/reach.ts';
import type { UntrustedFiles } from './untrusted-source.ts';
import { formatsOf, type TargetVolume, receiveChanges, receiveParts } from './streams.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface TargetDeps extends Pick<ServiceParts, 'records' | 'clock'> {
  readonly pools: Pools;
}

/** Undefined for push: the source connects to this server. Throws badRequest for other modes. */
export function targetMeeting(
  source: Pick<ContainerSource, 'mode' | 'operation' | 'certificate' | 'secrets'>,
  reach: Reach | undefined,
): Meeting | undefined {
  const mode = source.mode === undefined || source.mode === '' ? 'pull' : source.mode;
  if (mode === 'push') return undefined;
  if (mode === 'pull') return dialMeeting('source', source, reach);
  throw errors.badRequest(
    `source.mode: ${JSON.stringify(mode)} is not a migration mode of a server; use pull or push (a client relays by push)`,
  );
}

type Offer = ContainerMigrationOffer | VolumeMigrationOffer;

export interface Taken<O extends Offer = Offer> {
  readonly offer: O;
  /** The header of a real LXD; absent: the source is gantryd. */
  readonly lxd?: LxdHeader | undefined;
}

const schemas = { container: ContainerMigrationOffer, volume: VolumeMigrationOffer } as const;

/** Reads the first message of the source. `untrusted`: each file is checked, which rsync does not permit. */
export async function takeOffer<K extends Offer['kind']>(
  peer: Peer,
  kind: K,
  untrusted: boolean,
): Promise<Taken<Extract<Offer, { kind: K }>>> {
  const lxd = await peer.takeHeader();
  if (lxd === undefined) return { offer: await gantryOffer(peer, kind) };
  if (untrusted)
    throw new PeerError('this project takes no files of a real LXD (restricted.containers.lowlevel is block)');
  if (isLive(lxd))
    throw new PeerError(
      'between a real LXD and gantryd the memory of a running container does not travel: copy it with --stateless, or stop it',
    );
  const offer = offerOf(lxd, kind);
  const [problem] = validateBody(schemas[kind], offer);
  if (problem !== undefined)
    throw new PeerError(`the header of LXD cannot be used: ${problem.path} ${problem.message}`);
  return { offer: distinct(offer as unknown as Extract<Offer, { kind: K }>), lxd };
}

/** Throws if the two sides share no version. */
async function gantryOffer<K extends Offer['kind']>(peer: Peer, kind: K): Promise<Extract<Offer, { kind: K }>> {
  const offer = (await peer.receive(schemas[kind])) as Extract<Offer, { kind: K }>;
  if (!offer.versions.includes(migrationVersion))
    throw new PeerError(
      `the source speaks version ${offer.versions.join(', ')} of ${migrationProtocol}, this release ${migrationVersion}`,
    );
  return distinct(offer);
}

function distinct<O extends Offer>(offer: O): O {
  const names = offer.snapshots.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new PeerError('the source offers two snapshots of one name');
  return offer;
}

interface Receiving extends Taken {
  /** The wanted snapshots of the offer, in its order. */
  readonly snapshots: readonly string[];
  /** Default: copy. */
  readonly purpose?: Purpose;
  /** Undefined: the source is trusted. */
  readonly untrusted?: UntrustedFiles | undefined;
}

/** Accepts the offer and creates the volume with these snapshots: all or nothing. */
export async function receiveAll(
  deps: TargetDeps,
  peer: Peer,
  volume: TargetVolume,
  { offer, lxd, snapshots, purpose = 'copy', untrusted }: Receiving,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  if (lxd !== undefined) return receiveAllOfLxd(deps, peer, volume, { lxd, snapshots, purpose }, handle, signal);
  const format = commonFormat(deps, volume.pool, offer.formats, untrusted !== undefined);
  const progress = trackProgress({ clock: deps.clock, onProgress: (metadata) => handle.update(metadata), signal });
  const parts = [...snapshots, undefined].map((snapshot, index) => ({
    ...withoutUndefined({ snapshot }),
    ...(format === 'tar' || index === 0 ? {} : { parent: snapshots[index - 1] }),
  }));
  // The container runs during the first pass; it is paused only for the changes made since.
  const isTwice = offer.live === true && format === 'tar';
  const again = isTwice ? [{ compare: true }] : [];
  await peer.send({ type: 'answer', version: migrationVersion, format, parts: [...parts, ...again] });
  await receiveParts(deps.pools, peer, { ...volume, snapshots, format, untrusted }, progress, signal);
  if (isTwice) {
    const tree = { volume: volume.ref };
    await receiveChanges(deps.pools, peer, { pool: volume.pool, base: tree, to: tree, untrusted }, progress, signal);
    progress.end();
  }
  const step = (await peer.receive(MigrationStep)) as MigrationStep;
  if (step.type !== 'sent') throw new PeerError(`the source says ${step.type} where all should be sent`);
}

async function receiveAllOfLxd(
  { pools, clock }: TargetDeps,
  peer: Peer,
  { pool, ref, ofSnapshot }: TargetVolume,
  {
    lxd,
    snapshots,
    purpose,
  }: { readonly lxd: LxdHeader; readonly snapshots: readonly string[]; readonly purpose: Purpose },
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  const progress = trackProgress({ clock, onProgress: (metadata) => handle.update(metadata), signal });
  const place = pools.use(pool);
  const answer = answerTo(lxd, snapshots, purpose, factsOf(place));
  await peer.sendHeader(answer);
  const trees = { ...place, ref, ofSnapshot, snapshots, features: featuresOf(answer), isTwice: isTwice(lxd) };
  if (sendsSubvolumes(answer)) await receiveSubvolumes(peer, trees, progress, signal);
  else await receiveFromLxd(peer, trees, progress, signal);
}

function commonFormat(deps: TargetDeps, pool: string, offered: readonly string[], isUntrusted: boolean): string {
  const here = isUntrusted ? ['tar'] : formatsOf(deps.pools, pool);
  const format = here.find((one) => offered.includes(one));
  if (format !== undefined) return format;
  throw new PeerError(
    `the source sends files as ${offered.join(', ')}, ${isUntrusted ? 'from other servers this project' : `the pool ${pool}`} takes ${here.join(', ')}`,
  );
}

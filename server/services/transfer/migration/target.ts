// The common part of all targets of migrations: the operation, reading the offer, and receiving a volume with its snapshots.
import type { ContainerSource } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import {
  MigrationStep,
  migrationProtocol,
  migrationVersion,
  type ContainerMigrationOffer,
  type VolumeMigrationOffer,
} from '../../../api/container/migration-messages.ts';
import type { validateBody } from '../../../api/schema/validate-json.ts';
import type { VolumeRef } from '../../../drivers/storage/driver.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { OperationHandle } from '../../../operations/manager.ts';
import type { Records } from '../../../records/records.ts';
import type { Pools } from '../../storage/pools.ts';
import { dialMeeting, type Meeting } from './connect.ts';
import { PeerError, type Peer } from './peer.ts';
import { trackProgress } from './progress.ts';
import type { Reach } from '../../../lib/reach.ts';
import type { UntrustedFiles } from './untrusted-source.ts';
import { formatsOf, receiveChanges, receiveParts } from './streams.ts';

export interface TargetDeps {
  readonly records: Records;
  readonly pools: Pools;
  readonly clock: Clock;
}

/** Undefined: push, the source comes to us. Throws badRequest for other modes. */
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

/** The first message of the source. Throws when no version is common. */
export async function takeOffer(
  peer: Peer,
  schema: Parameters<typeof validateBody>[0],
): Promise<ContainerMigrationOffer | VolumeMigrationOffer> {
  const offer = (await peer.receive(schema)) as ContainerMigrationOffer | VolumeMigrationOffer;
  if (!offer.versions.includes(migrationVersion))
    throw new PeerError(
      `the source speaks version ${offer.versions.join(', ')} of ${migrationProtocol}, this release ${migrationVersion}`,
    );
  const names = offer.snapshots.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new PeerError('the source offers two snapshots of one name');
  return offer;
}

interface Receiving {
  readonly offer: ContainerMigrationOffer | VolumeMigrationOffer;
  /** Which of the offer, in its order. */
  readonly snapshots: readonly string[];
  /** Undefined: the source is trusted. */
  readonly untrusted?: UntrustedFiles | undefined;
}

/** Accepts the offer and makes the volume with these snapshots of what comes: all or nothing. */
export async function receiveAll(
  deps: TargetDeps,
  peer: Peer,
  volume: { readonly pool: string; readonly ref: VolumeRef },
  { offer, snapshots, untrusted }: Receiving,
  handle: OperationHandle,
  signal: AbortSignal,
): Promise<void> {
  const format = commonFormat(deps, volume.pool, offer.formats, untrusted !== undefined);
  const progress = trackProgress({ clock: deps.clock, tell: (metadata) => handle.update(metadata), signal });
  const parts = [...snapshots, undefined].map((snapshot, index) => ({
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(format === 'tar' || index === 0 ? {} : { parent: snapshots[index - 1] }),
  }));
  // It runs while its files come; it stands still only for what has changed since.
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

function commonFormat(deps: TargetDeps, pool: string, offered: readonly string[], isUntrusted: boolean): string {
  const here = isUntrusted ? ['tar'] : formatsOf(deps.pools, pool);
  const format = here.find((one) => offered.includes(one));
  if (format !== undefined) return format;
  throw new PeerError(
    `the source sends files as ${offered.join(', ')}, ${isUntrusted ? 'from other servers this project' : `the pool ${pool}`} takes ${here.join(', ')}`,
  );
}

// Carries out one step of a move. Every step is idempotent: it finds and keeps what an earlier run did.
import type { KindTypes } from '../../../../server/api/kind-schemas.ts';
import { copyContainer, type CopyOptions } from '../../../../server/client/channels/migrate.ts';
import { copyVolume } from '../../../../server/client/channels/copy-volume.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { waitForRunning } from '../../../engine/running-operations.ts';
import { carryContainerBackup, carryVolumeBackup } from './carry-backup.ts';
import { copyUntilShort } from './copy-passes.ts';
import type { ContainerMove, ImageMove, Move, ObjectMove, VolumeMove } from './moves.ts';
import type { Progress } from './progress-file.ts';
import { isStopped, startOnce, statusOf, stopOrKill } from './stop-and-start.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface Carrier {
  readonly from: Client;
  readonly to: Client;
  readonly progress: Progress;
  readonly mode: CopyOptions['mode'];
  readonly starts: boolean;
  readonly deletesSource: boolean;
  /** Containers and volumes travel as backups. */
  readonly isExact: boolean;
  /** Seconds that a container gets to stop before it is killed. */
  readonly graceSeconds: number;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

export async function carry(carrier: Carrier, move: Move): Promise<void> {
  const own = inProjectOf(carrier, move);
  switch (move.type) {
    case 'object':
      return carryObject(own, move);
    case 'image':
      return carryImage(own, move);
    case 'volume':
      return carryVolume(carrier, own, move);
    case 'container':
      return carryContainer(own, move);
  }
}

async function carryObject({ to, signal }: Carrier, { kind, action, name, body }: ObjectMove): Promise<void> {
  if (action === 'fill') {
    await to.operations.run(() => to.patch(kind, name, body, {}, signal), signal);
    return;
  }
  const created = body as unknown as KindTypes[typeof kind]['create'];
  await to.operations.run(() => to.create(kind, created, {}, signal), signal);
}

async function carryImage({ from, to, signal }: Carrier, { name, isPublic }: ImageMove): Promise<void> {
  if (await has(to, 'image', name, signal)) return;
  const [exported, { metadata }] = [await from.exportImage(name, signal), await from.get('image', name, signal)];
  const upload = { files: { exported }, fingerprint: name, public: isPublic, properties: metadata.properties };
  await to.operations.run(() => to.uploadImage(upload, signal), signal);
}

async function carryVolume(carrier: Carrier, own: Carrier, move: VolumeMove): Promise<void> {
  const { from, to, signal } = own;
  const { id, pool, name, description, config } = move;
  for (const user of move.stops) await stopForMove(inProjectOf(carrier, user), user);
  await own.progress.record(id, { stage: 'begun' });
  await awaitOperations(own, name);
  // A killed run may have left an incomplete copy, so it is copied again.
  if (await has(to, 'storage_volume', `${pool}/${name}`, signal)) {
    for (const user of move.stops) await dropCopy(inProjectOf(carrier, user), user);
    await to.operations.run(() => to.delete('storage_volume', `${pool}/${name}`, signal), signal);
  }
  if (own.isExact) await carryVolumeBackup(own, move);
  else
    await copyVolume(
      { client: from, pool, name },
      { client: to, pool, name },
      { description, config, ...withoutUndefined({ mode: own.mode }) },
      signal,
    );
  await own.progress.record(id, { stage: 'done' });
}

const inProjectOf = (carrier: Carrier, { project }: Pick<Move, 'project'>): Carrier =>
  project === undefined
    ? carrier
    : { ...carrier, from: carrier.from.inProject(project), to: carrier.to.inProject(project) };

/** An earlier run made the copy, and it did not start: it is attached to the volume, and is copied again after it. */
async function dropCopy({ to, progress, signal }: Carrier, { id, name }: ContainerMove): Promise<void> {
  if (progress.entries.get(id)?.stage === 'done' || !(await has(to, 'container', name, signal))) return;
  await to.operations.run(() => to.delete('container', name, signal), signal);
}

async function carryContainer(carrier: Carrier, move: ContainerMove): Promise<void> {
  const { from, to, progress, signal } = carrier;
  const { id, name } = move;
  const ran = progress.entries.get(id)?.ran ?? move.isRunning;
  if (progress.entries.get(id) === undefined) await progress.record(id, { stage: 'begun', ran });
  await awaitOperations(carrier, name);
  try {
    requireVolumes(progress, move);
    await requireCurrentVolumes(carrier, move);
    // A complete copy may already run on the target, so it is not overwritten.
    if (progress.entries.get(id)?.stage !== 'copied') await copyWhole(carrier, move, ran);
    if (ran && carrier.starts) await startOnce(to, name, signal);
  } catch (error) {
    // Restarts the source for its users; the next run copies what changes until then.
    if (ran && !signal.aborted) await startAgain(carrier, move, error);
    throw error;
  }
  // Deletes before recording: a rerun after a kill finds no original, instead of leaving one behind.
  if (carrier.deletesSource) await from.operations.run(() => from.delete('container', name, signal), signal);
  await progress.record(id, { stage: 'done', ran, volumes: move.volumes });
}

/** A container with an incomplete or outdated copy of a volume would lose what it wrote. */
function requireVolumes({ entries }: Progress, { volumes }: ContainerMove): void {
  const missing = volumes.find((id) => (entries.get(id)?.stage ?? 'done') !== 'done');
  if (missing !== undefined) throw new Error(`needs ${missing}, which did not move`);
}

/** Somebody may have started it on the source after its volumes were copied. */
async function requireCurrentVolumes({ from, progress, signal }: Carrier, move: ContainerMove): Promise<void> {
  const volume = move.volumes.find((id) => progress.entries.get(id)?.stage === 'done');
  if (volume === undefined || (await statusOf(from, move.name, signal)) !== 'Running') return;
  const shared = sharedWithMoved(progress, move);
  if (shared === undefined) throw new Error(`it runs again since ${volume} was copied, which the next run does again`);
  throw new Error(
    `it runs on the source, and ${shared.user}, which moved, uses the copy of ${shared.volume} on the target: stop it on the source, bring what it wrote into that copy, and run this again`,
  );
}

/** A volume of the container that another one, which has moved, uses on the target. */
function sharedWithMoved({ entries }: Progress, { id, volumes }: ContainerMove) {
  return [...entries]
    .filter(([user, { stage }]) => user !== id && stage === 'done')
    .flatMap(([user, { volumes: used = [] }]) => used.map((volume) => ({ user, volume })))
    .find(({ volume }) => volumes.includes(volume));
}

async function copyWhole(carrier: Carrier, move: ContainerMove, ran: boolean): Promise<void> {
  const { progress } = carrier;
  if (!carrier.isExact && !move.stopsFirst && ran && progress.entries.get(move.id)?.stage === 'begun')
    await copyUntilShort(() => copyOnce(carrier, move), carrier.nowMs);
  if (ran) await stopForMove(carrier, move);
  await (carrier.isExact ? copyExactly(carrier, move) : copyOnce(carrier, move));
  await progress.record(move.id, { stage: 'copied', ran });
}

async function copyExactly(carrier: Carrier, move: ContainerMove): Promise<void> {
  const { to, signal } = carrier;
  // The source may have changed since an earlier run made this copy.
  if (await has(to, 'container', move.name, signal))
    await to.operations.run(() => to.delete('container', move.name, signal), signal);
  await carryContainerBackup(carrier, move);
}

/** Copies, or brings the copy of an earlier pass up to date. */
async function copyOnce({ from, to, mode, signal }: Carrier, { name, devices, drops }: ContainerMove): Promise<void> {
  const options: CopyOptions = {
    live: false,
    keepAddresses: true,
    devices,
    drops: (key) => drops.includes(key),
    refresh: await has(to, 'container', name, signal),
    ...withoutUndefined({ mode }),
  };
  await copyContainer({ client: from, name }, { client: to, name }, options, signal);
}

/** Records the stop before it happens, so that a later run knows that the container was running. */
async function stopForMove({ from, progress, graceSeconds, signal }: Carrier, { id, name, isRunning }: ContainerMove) {
  const ran = progress.entries.get(id)?.ran ?? isRunning;
  await progress.record(id, { stage: 'stopped', ran });
  if (!(await isStopped(from, name, signal))) await stopOrKill(from, name, graceSeconds, signal);
}

async function startAgain({ from, to, progress, signal }: Carrier, move: ContainerMove, cause: unknown): Promise<void> {
  const { id, name, volumes } = move;
  // Never start both: they would share one address and write to two copies of one disk.
  if ((await has(to, 'container', name, signal)) && !(await isStopped(to, name, signal))) return;
  const shared = sharedWithMoved(progress, move);
  if (shared !== undefined) {
    if (!(await isStopped(from, name, signal))) return;
    const why = `it stays stopped, since ${shared.user}, which moved, uses the copy of ${shared.volume} on the target`;
    throw new Error(`${reasonOf(cause)}; ${why}`, { cause });
  }
  // It writes into its volumes again, so their copies are out of date.
  for (const volume of volumes) if (progress.entries.has(volume)) await progress.record(volume, { stage: 'begun' });
  await startOnce(from, name, signal);
  await progress.record(id, { stage: 'begun', ran: true });
}

/** Waits until the operations of a killed run have ended on both servers and undone their partial work. */
async function awaitOperations({ from, to, signal }: Carrier, name: string): Promise<void> {
  await Promise.all([from, to].map((client) => waitForRunning(client, 'container', name, signal)));
}

const has = (
  client: Client,
  kind: 'container' | 'image' | 'storage_volume',
  name: string,
  signal: AbortSignal,
): Promise<boolean> =>
  client.get(kind, name, signal).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );

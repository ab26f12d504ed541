// Carries out one step of a move. Every step can be repeated: what an earlier run did is found and kept.
import type { KindTypes } from '../../../../server/api/kind-schemas.ts';
import { copyContainer, type CopyOptions } from '../../../../server/client/channels/migrate.ts';
import { copyVolume } from '../../../../server/client/channels/copy-volume.ts';
import { ClientError, isNotFound } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { waitForRunning } from '../../../engine/running-operations.ts';
import { carryContainerBackup, carryVolumeBackup } from './carry-backup.ts';
import type { ContainerMove, ImageMove, Move, ObjectMove, VolumeMove } from './moves.ts';
import type { Progress } from './progress-file.ts';

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
  readonly signal: AbortSignal;
}

export async function carry(carrier: Carrier, move: Move): Promise<void> {
  const own: Carrier =
    move.project === undefined
      ? carrier
      : { ...carrier, from: carrier.from.inProject(move.project), to: carrier.to.inProject(move.project) };
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
  await settle(own, name);
  // Whether a copy of a run that was killed is whole, with all snapshots, nobody saw.
  if (await has(to, 'storage_volume', `${pool}/${name}`, signal))
    await to.operations.run(() => to.delete('storage_volume', `${pool}/${name}`, signal), signal);
  if (own.isExact) await carryVolumeBackup(own, move);
  else
    await copyVolume(
      { client: from, pool, name },
      { client: to, pool, name },
      { description, config, ...(own.mode === undefined ? {} : { mode: own.mode }) },
      signal,
    );
  await own.progress.record(id, { stage: 'done' });
}

const inProjectOf = (carrier: Carrier, { project }: ContainerMove): Carrier =>
  project === undefined ? carrier : { ...carrier, from: carrier.from.inProject(project) };

async function carryContainer(carrier: Carrier, move: ContainerMove): Promise<void> {
  const { from, to, progress, signal } = carrier;
  const { id, name } = move;
  const ran = progress.entries.get(id)?.ran ?? move.isRunning;
  if (progress.entries.get(id) === undefined) await progress.record(id, { stage: 'begun', ran });
  await settle(carrier, name);
  try {
    // A copy that is whole may run on the target already: nothing is copied over it.
    if (progress.entries.get(id)?.stage !== 'copied') await copyWhole(carrier, move, ran);
    if (ran && carrier.starts) await startOnce(to, name, signal);
  } catch (error) {
    // Its users have it back; the next run copies what changed meanwhile.
    if (ran && !signal.aborted) await startAgain(carrier, id, name);
    throw error;
  }
  // Deleted first: a run that is killed in between finds no original any more, instead of one that it would leave.
  if (carrier.deletesSource) await from.operations.run(() => from.delete('container', name, signal), signal);
  await progress.record(id, { stage: 'done', ran });
}

async function copyWhole(carrier: Carrier, move: ContainerMove, ran: boolean): Promise<void> {
  const { progress } = carrier;
  if (!carrier.isExact && !move.stopsFirst && ran && progress.entries.get(move.id)?.stage === 'begun')
    await copyOnce(carrier, move);
  if (ran) await stopForMove(carrier, move);
  await (carrier.isExact ? copyExactly(carrier, move) : copyOnce(carrier, move));
  await progress.record(move.id, { stage: 'copied', ran });
}

async function copyExactly(carrier: Carrier, move: ContainerMove): Promise<void> {
  const { to, signal } = carrier;
  // The source may have run and changed since an earlier run made it.
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
    ...(mode === undefined ? {} : { mode }),
  };
  await copyContainer({ client: from, name }, { client: to, name }, options, signal);
}

/** It is noted as stopped before it stops: whoever continues knows that it ran. */
async function stopForMove({ from, progress, graceSeconds, signal }: Carrier, { id, name, isRunning }: ContainerMove) {
  const ran = progress.entries.get(id)?.ran ?? isRunning;
  await progress.record(id, { stage: 'stopped', ran });
  if (await isStopped(from, name, signal)) return;
  const stop = (how: object): Promise<unknown> =>
    from.operations.run(() => from.putContainerState(name, { action: 'stop', ...how }, signal), signal);
  await stop({ timeout: graceSeconds }).catch(async (error: unknown) => {
    if (signal.aborted || (await isStopped(from, name, signal))) return;
    if (!(error instanceof ClientError)) throw error;
    await stop({ force: true });
  });
}

const isStopped = async (client: Client, name: string, signal: AbortSignal): Promise<boolean> =>
  (await client.containerState(name, signal)).metadata.status === 'Stopped';

async function startOnce(client: Client, name: string, signal: AbortSignal): Promise<void> {
  if (!(await isStopped(client, name, signal))) return;
  await client.operations.run(() => client.putContainerState(name, { action: 'start' }, signal), signal);
}

async function startAgain({ from, to, progress, signal }: Carrier, id: string, name: string): Promise<void> {
  // Never both: two machines of one address, which write into two copies of one disk.
  if ((await has(to, 'container', name, signal)) && !(await isStopped(to, name, signal))) return;
  await startOnce(from, name, signal);
  await progress.record(id, { stage: 'begun', ran: true });
}

/** Operations of a run that was killed have ended on both sides, and what they left undone is gone. */
async function settle({ from, to, signal }: Carrier, name: string): Promise<void> {
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

// The fault suite "power-cut": a daemon's disk loses its power while clients write; acknowledged changes must survive.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorText } from '../../../server/lib/shared/reason.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { startGrouped, type GroupedDaemon } from './daemon.ts';
import {
  cutPower,
  makeDisk,
  mountDisk,
  mountOptions,
  privateDisk,
  type MountOptions,
  type PrivateDisk,
} from './loop-disk.ts';
import { imageWriter } from './images.ts';
import { profileWriter } from './profiles.ts';
import { prepare } from './setting.ts';
import { backupWriter, containerWriter, fileWriter, publishWriter, snapshotWriter, volumeWriter } from './volumes.ts';
import type { Server, Writer, Written } from './writer.ts';
import { loopDeviceMissing } from '../../support/hosts/loop-device.ts';

/** Run in turn on separate disks, since a pool that syncs its volumes syncs all other data on the file system. */
const groups: readonly (readonly Writer[])[] = [
  [profileWriter, imageWriter, volumeWriter, backupWriter, publishWriter, fileWriter],
  [containerWriter, snapshotWriter],
];
const writers = groups.flat();
const diskBytes = 1024 * 1024 * 1024;
/** The kernel writes data older than 30 s by itself: a disk is used for some seconds only. */
const cutsOfDisk = 3;
const longestWaitMs = 1500;

export const powerCutSuite: FaultSuite = {
  doc: 'cuts the power of the disk while clients write',
  rounds: 100,
  missing: () => Promise.resolve(loopDeviceMissing()),
  run: runPowerCuts,
};

interface Tally {
  rounds: number;
  acknowledged: number;
  readonly lost: string[];
}

async function runPowerCuts(context: FaultContext): Promise<readonly Figures[]> {
  const tallies = new Map<string, Tally>(writers.map(({ kind }) => [kind, { rounds: 0, acknowledged: 0, lost: [] }]));
  for (let done = 0; done < context.rounds; done += cutsOfDisk) {
    context.signal.throwIfAborted();
    const cuts = Math.min(cutsOfDisk, context.rounds - done);
    const turn = done / cutsOfDisk;
    const group = groups[turn % groups.length] ?? [];
    const options = mountOptions[Math.floor(turn / groups.length) % mountOptions.length] ?? 'defaults';
    await useDisk(context, { group, options, cuts }, tallies);
    context.say(`${done + cuts} power cuts`);
  }
  return writers.map(({ kind }) => {
    const { rounds = 0, acknowledged = 0, lost = [] } = tallies.get(kind) ?? {};
    return { what: kind, rounds, acknowledged, lost, orphans: [] };
  });
}

interface DiskUse {
  readonly group: readonly Writer[];
  readonly options: MountOptions;
  readonly cuts: number;
}

/** One disk from its creation: clients write all the time, and each cut is checked on a copy. */
async function useDisk(
  context: FaultContext,
  { group, options, cuts }: DiskUse,
  tallies: Map<string, Tally>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-power-cut-'));
  const file = join(folder, 'disk');
  makeDisk(file, diskBytes);
  const disk = mountDisk(file, join(folder, 'mounted'), options);
  let daemon: GroupedDaemon | undefined;
  const stopping = new AbortController();
  let writing: Promise<void>[] = [];
  const written = new Map<string, Written[]>();
  try {
    const stateDir = join(disk.mountPoint, 'state');
    daemon = await startGrouped(context.gantryd, stateDir);
    const server: Server = { socketPath: daemon.socketPath, stateDir };
    await prepare(server);
    const failing = new AbortController();
    const signal = AbortSignal.any([context.signal, failing.signal]);
    writing = group.map((writer) =>
      writeUntil(stopping.signal, writer, server, context, written).catch((error: unknown) => failing.abort(error)),
    );
    // A cut before the first acknowledged write shows nothing.
    while (group.some(({ kind }) => (written.get(kind) ?? []).length === 0)) await pause(10, undefined, { signal });
    for (let cut = 0; cut < cuts; cut += 1) {
      await pause(context.random.next() * longestWaitMs, undefined, { signal });
      signal.throwIfAborted();
      daemon.freeze();
      const copy = join(folder, 'cut');
      const acknowledged = new Map([...written].map(([kind, all]) => [kind, [...all]]));
      cutPower(file, disk, copy);
      daemon.thaw();
      await lookAt(context, privateDisk(copy, disk.mountPoint, options), stateDir, acknowledged, tallies);
      await rm(copy);
    }
  } finally {
    stopping.abort();
    await daemon?.kill();
    await Promise.all(writing);
    disk.unmount();
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeUntil(
  stop: AbortSignal,
  writer: Writer,
  server: Server,
  context: FaultContext,
  written: Map<string, Written[]>,
): Promise<void> {
  const mine: Written[] = [];
  written.set(writer.kind, mine);
  let broken = 0;
  for (let serial = 0; !stop.aborted; serial += 1) {
    try {
      mine.push(await writer.write(server, serial, context.random));
    } catch (error) {
      if (stop.aborted) return;
      // Not acknowledged, so it need not survive.
      if (isBrokenConnection(error) && (broken += 1) <= maxBrokenConnections) {
        context.say(`a connection broke while ${writer.kind} were written`);
        continue;
      }
      throw new Error(`writing ${writer.kind} failed: ${errorText(error)}`, { cause: error });
    }
  }
}

const maxBrokenConnections = 3;

const isBrokenConnection = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EPIPE' || error.code === 'ECONNRESET');

async function lookAt(
  context: FaultContext,
  copy: PrivateDisk,
  stateDir: string,
  acknowledged: ReadonlyMap<string, readonly Written[]>,
  tallies: Map<string, Tally>,
): Promise<void> {
  let daemon: GroupedDaemon | undefined;
  try {
    daemon = await startGrouped(context.gantryd, stateDir, copy.prefix);
    // Paths as that process sees them.
    const root = `/proc/${daemon.pid}/root`;
    const server: Server = { socketPath: `${root}${daemon.socketPath}`, stateDir: `${root}${stateDir}` };
    for (const [kind, all] of acknowledged) {
      const tally = tallies.get(kind);
      if (tally === undefined) continue;
      tally.rounds += 1;
      tally.acknowledged += all.length;
      for (const each of all) {
        const problem = await each.check(server).catch(errorText);
        if (problem !== undefined) tally.lost.push(`${each.what}: ${problem}`);
      }
    }
  } finally {
    await daemon?.kill();
    copy.detach();
  }
}

// Room on the disk of the daemon's state: reports a full disk, keeps a reserve so that deletions still work, and notices new room.
import { rmSync, statSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { errors, type AppError } from '../../api/errors.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { readDiskSpace, type DiskSpace } from './free-bytes.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import { attempt } from '../../lib/shared/attempt.ts';

export interface DiskState {
  readonly isFull: boolean;
  readonly hasReserve: boolean;
}

const largestReserveBytes = 4 * 1024 * 1024;
const smallestReserveBytes = 64 * 1024;

/** Enough for some hundred deletions, yet negligible on a disk of this size. */
export function reserveBytesOf({ totalBytes }: DiskSpace): number {
  return Math.min(largestReserveBytes, Math.max(smallestReserveBytes, Math.floor(totalBytes / 50)));
}

/** A full disk releases its reserve to deletions; it counts as full until there is room for twice the reserve. */
export function nextDiskState(state: DiskState, space: DiskSpace): DiskState {
  const reserve = reserveBytesOf(space);
  const hasRoom = space.freeBytes >= 2 * reserve;
  if (space.freeBytes < reserve / 2 || (state.isFull && !hasRoom)) return { isFull: true, hasReserve: false };
  return { isFull: false, hasReserve: state.hasReserve || hasRoom };
}

const spaceIfKnown = (dir: string): DiskSpace | undefined => attempt(() => readDiskSpace(dir));

/** Requests that free space, or are needed for that: reading a container before its deletion, and programs in it. */
const allowedOnFullDisk: ReadonlySet<string> = new Set([
  'containers.state.put',
  'containers.exec',
  'containers.console.post',
]);

const lookAgainMs = 1000;

interface DiskRoomDeps {
  /** The directory of the store. */
  readonly dir: string;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** Open it before the store: on a full disk the store then gets the room of the reserve. */
export class DiskRoom {
  readonly #deps: DiskRoomDeps;
  readonly #reserve: string;
  #state: DiskState;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #making: Promise<void> = Promise.resolve();

  constructor(deps: DiskRoomDeps) {
    this.#deps = deps;
    this.#reserve = join(deps.dir, 'reserve');
    const hasReserve = statSync(this.#reserve, { throwIfNoEntry: false }) !== undefined;
    this.#state = { isFull: false, hasReserve };
    this.#look();
  }

  /** Why writes are refused now and what to do; undefined if they are accepted. */
  reason(): string | undefined {
    const now = this.#deps.nowMs();
    if (this.#state.isFull || now - this.#lookedAtMs >= lookAgainMs || now < this.#lookedAtMs) this.#look();
    if (!this.#state.isFull) return undefined;
    const space = spaceIfKnown(this.#deps.dir) ?? { freeBytes: 0, totalBytes: 0 };
    const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
    return (
      `the disk of ${this.#deps.dir} is full (${megabytes(space.freeBytes)} free), so this server is read-only. ` +
      `Delete containers, snapshots, images or backups, or free space on the disk: ` +
      `writes are accepted again once ${megabytes(2 * reserveBytesOf(space))} are free`
    );
  }

  /** The error for a request that needs disk space. */
  refusal({ id, method }: { readonly id: string; readonly method: string }): AppError | undefined {
    if (method === 'GET') return undefined;
    if (method === 'DELETE' || allowedOnFullDisk.has(id)) {
      // If the disk has filled up since the last check, the request needs the reserve.
      this.#look();
      return undefined;
    }
    const reason = this.reason();
    return reason === undefined ? undefined : errors.diskFull(reason);
  }

  /** Notices and logs new room without a request. */
  task(): ScheduledTask {
    return {
      name: 'Looking at the room on the disk',
      run: () => {
        this.#look();
        return Promise.resolve();
      },
    };
  }

  async close(): Promise<void> {
    await this.#making;
  }

  #look(): void {
    const { log, nowMs, dir } = this.#deps;
    this.#lookedAtMs = nowMs();
    const before = this.#state;
    const space = spaceIfKnown(dir);
    // If the directory is gone, there is neither room nor a server that needs it.
    if (space === undefined) return;
    this.#state = nextDiskState(before, space);
    if (before.hasReserve && !this.#state.hasReserve) rmSync(this.#reserve, { force: true });
    if (!before.hasReserve && this.#state.hasReserve) this.#making = this.#makeReserve();
    if (this.#state.isFull && !before.isFull) log.error(`Read-only from now on: ${this.reason()}`);
    if (!this.#state.isFull && before.isFull) log.info(`The disk of ${dir} has room again: writes are accepted`);
  }

  /** Random bytes, because some file systems allocate no space for zeros. */
  async #makeReserve(): Promise<void> {
    try {
      await writeFile(this.#reserve, randomBytes(reserveBytesOf(readDiskSpace(this.#deps.dir))), { mode: 0o600 });
      if (!this.#state.hasReserve) await rm(this.#reserve, { force: true });
    } catch (error) {
      this.#deps.log.warn(`Keeping room in reserve at ${this.#reserve} failed: ${errorText(error)}`);
      await rm(this.#reserve, { force: true });
    }
  }
}

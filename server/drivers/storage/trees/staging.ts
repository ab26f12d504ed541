// Creates and deletes trees of a pool through its temporary folder: complete new trees are moved out of it, deleted ones into it before
// their removal.
import { randomUUID } from 'node:crypto';
import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { isThere } from '../../../lib/shared/missing-files.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { temporaryFolder } from '../layout.ts';
import type { TreeKind } from './kind.ts';
import { directoryNames } from './names.ts';

export interface TreeStaging {
  /** Temporary paths in use by this process; mountPool leaves them alone. */
  readonly busy: Set<string>;
  /** Makes the tree under a temporary name and moves it to `path` when it is complete. */
  build(root: string, path: string, fill: (temporary: string) => Promise<void>): Promise<void>;
  /** The same, but `move` puts the finished tree where it belongs. */
  make(
    root: string,
    fill: (temporary: string) => Promise<void>,
    move: (temporary: string) => Promise<void>,
  ): Promise<void>;
  /** Passes a temporary path to the work, and removes what remains there. */
  scratch(root: string, work: (temporary: string) => Promise<void>): Promise<void>;
  /** Users lose the tree as soon as it is moved; mountPool cleans up after a crash. Succeeds if there is none. */
  remove(root: string, path: string): Promise<void>;
  /** As above, but resolves once the tree is moved; it is unlinked later, unless space is short or many removals are running. */
  removeBehind(root: string, path: string): Promise<void>;
  /** Registers work that continues after its request was answered; its errors are its own. */
  behind(root: string, work: Promise<void>): void;
  /** Resolves when this pool (or any, without a pool) has no such work left. */
  caughtUp(root?: string): Promise<void>;
  /** As above, and waits for removals too. False if there were none. */
  settled(root?: string): Promise<boolean>;
  isRemoving(root: string): boolean;
}

/** Max concurrent removals; the next caller waits, as all of them wait for the same disk. */
const maxUnderWay = 4;
/** Records that are written meanwhile would wait for every unlink: the file system writes both to its journal together. */
const laterMs = 100;
/** Below this free space, deletion is waited for: the client may need the space at once. */
const roomyPart = 0.25;
/** On a large disk this much is enough, whatever its share. */
const roomyBytes = 32 * 1024 ** 3;
const roomyFiles = 2_000_000;
/** How long a disk with that much space counts as roomy without another look. */
const roomyMs = 1_000;

export function openTreeStaging(kind: Pick<TreeKind, 'removeTree' | 'tag' | 'names'>, log: Log): TreeStaging {
  const names = kind.names ?? directoryNames;
  const temporaryIn = (root: string): string => join(root, temporaryFolder, `${kind.tag?.() ?? ''}${randomUUID()}`);
  const busy = new Set<string>();
  const underWay = new Map<string, Set<Removal>>();
  const works = new Set<{ readonly root: string; readonly done: Promise<void> }>();
  const roomyUntil = new Map<string, number>();

  async function make(
    root: string,
    fill: (temporary: string) => Promise<void>,
    move: (temporary: string) => Promise<void>,
  ): Promise<void> {
    const temporary = temporaryIn(root);
    busy.add(temporary);
    try {
      await fill(temporary);
      await move(temporary);
    } catch (error) {
      await discard(temporary);
      throw error;
    } finally {
      busy.delete(temporary);
    }
  }

  async function scratch(root: string, work: (temporary: string) => Promise<void>): Promise<void> {
    const temporary = temporaryIn(root);
    busy.add(temporary);
    try {
      await work(temporary);
    } finally {
      await discard(temporary);
      busy.delete(temporary);
    }
  }

  /** Returns the remaining removal; undefined if there was no tree. */
  async function moveAway(root: string, path: string): Promise<(() => Promise<void>) | undefined> {
    const temporary = temporaryIn(root);
    busy.add(temporary);
    try {
      await names.move(path, temporary);
    } catch (error) {
      busy.delete(temporary);
      if (hasCode(error, 'ENOENT')) return refuseAway(root, path);
      throw error instanceof DriverError ? error : driverErrors.failed(`cannot delete ${path}`, error);
    }
    return () => discard(temporary).finally(() => busy.delete(temporary));
  }

  /** What is missing only because its file system is not mounted must not count as deleted. */
  async function refuseAway(root: string, path: string): Promise<undefined> {
    const folder = join(root, temporaryFolder);
    if (await isThere(folder)) return;
    throw driverErrors.failed(
      `cannot delete ${path}: its pool has no folder ${folder}; mount the file system of the pool, or make that folder if its files are lost`,
    );
  }

  async function remove(root: string, path: string): Promise<void> {
    const unlink = await moveAway(root, path);
    await unlink?.();
  }

  async function removeBehind(root: string, path: string): Promise<void> {
    const unlink = await moveAway(root, path);
    if (unlink === undefined) return;
    const removals = underWay.get(root) ?? new Set<Removal>();
    underWay.set(root, removals);
    const removal = later(unlink, () => removals.delete(removal));
    removals.add(removal);
    if (removals.size > maxUnderWay || !(await isRoomy(root))) await finish([removal]);
  }

  function behind(root: string, work: Promise<void>): void {
    const one = { root, done: work.catch(() => {}).then(() => void works.delete(one)) };
    works.add(one);
  }

  async function caughtUp(root?: string): Promise<void> {
    for (const work of works) if (root === undefined || work.root === root) await work.done;
  }

  async function isRoomy(root: string): Promise<boolean> {
    const now = performance.now();
    if (now < (roomyUntil.get(root) ?? 0)) return true;
    const isNow = await hasRoom(root);
    if (isNow) roomyUntil.set(root, now + roomyMs);
    return isNow;
  }

  async function settled(root?: string): Promise<boolean> {
    await caughtUp(root);
    const wanted = root === undefined ? [...underWay.values()] : [underWay.get(root) ?? new Set<Removal>()];
    return finish(wanted.flatMap((removals) => [...removals]));
  }

  async function discard(temporary: string): Promise<void> {
    try {
      await kind.removeTree(temporary);
    } catch (error) {
      log.warn('cannot remove a temporary directory; it is tried again when the pool is mounted', {
        path: temporary,
        error: errorText(error),
      });
    }
  }

  return {
    busy,
    make,
    scratch,
    remove,
    removeBehind,
    behind,
    caughtUp,
    settled,
    isRemoving: (root) => (underWay.get(root)?.size ?? 0) > 0,
    build: (root, path, fill) => make(root, fill, (temporary) => names.move(temporary, path)),
  };
}

interface Removal {
  start(this: void): void;
  readonly done: Promise<void>;
}

function later(work: () => Promise<void>, after: () => void): Removal {
  let start = (): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const timer = setTimeout(() => start(), laterMs);
  const done = started.then(work).finally(() => {
    clearTimeout(timer);
    after();
  });
  return { start: () => start(), done };
}

async function finish(removals: readonly Removal[]): Promise<boolean> {
  for (const { start } of removals) start();
  for (const { done } of removals) await done;
  return removals.length > 0;
}

async function hasRoom(root: string): Promise<boolean> {
  return statfs(root).then(isRoomyWith, () => false);
}

type Room = Pick<StatsFs, 'blocks' | 'bavail' | 'bsize' | 'files' | 'ffree'>;

/** Pure. Some file systems (btrfs) count no files. */
export const isRoomyWith = ({ blocks, bavail, bsize, files, ffree }: Room): boolean =>
  (bavail >= blocks * roomyPart || bavail * bsize >= roomyBytes) && (ffree >= files * roomyPart || ffree >= roomyFiles);

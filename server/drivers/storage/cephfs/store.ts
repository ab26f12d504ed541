// Volumes as directories of a CephFS: FOLDER/NAME/data, so that snapshots of FOLDER/NAME stay when other content takes the place of `data`, and a
// guest, who sees `data` only, cannot remove them.
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { exec } from '../../../lib/exec.ts';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import type { PoolSpec } from '../driver.ts';
import { poolFolders, recordsFolder } from '../layout.ts';
import type { StoredTree, TreeStore } from '../mounted/store.ts';
import { staysMounted } from '../mounted/trees.ts';
import { removeTree } from '../remove-tree.ts';
import { commands } from './commands.ts';

/** Names of our snapshots begin so: the cluster makes some on its own (snap_schedule). Those of copies and exports in progress have no id. */
const [ours, ofMoment] = ['@', '~'];
const snapshotsOf = /^(containers|custom)-snapshots$/;

export class CephfsStore implements TreeStore {
  readonly #mountOf: (pool: PoolSpec) => string;

  constructor(mountOf: (pool: PoolSpec) => string) {
    this.#mountOf = mountOf;
  }

  /** Where the tree would be, unless it is a snapshot of the file system. */
  #plain(pool: PoolSpec, id: string): string {
    const path = join(this.#mountOf(pool), id);
    return staysMounted(id) ? join(path, 'data') : path;
  }

  /** The entry of `.snap`; undefined: the id is none of a snapshot. */
  #snapshot(pool: PoolSpec, id: string): string | undefined {
    const [folder = '', name = '', snapshot = ''] = id.split('/');
    const [, base] = snapshotsOf.exec(folder) ?? [];
    return base === undefined || snapshot === ''
      ? undefined
      : join(this.#mountOf(pool), base, name, '.snap', `${ours}${snapshot}`);
  }

  /** The directory with the files of a tree; undefined: there is no such tree. */
  async find(pool: PoolSpec, id: string): Promise<string | undefined> {
    const plain = this.#plain(pool, id);
    const stats = await statsOf(plain);
    if (stats?.isSymbolicLink() === true) return join(dirname(plain), await readlink(plain));
    if (stats !== undefined) return plain;
    const snapshot = this.#snapshot(pool, id);
    return snapshot !== undefined && (await statsOf(snapshot)) !== undefined ? join(snapshot, 'data') : undefined;
  }

  async has(pool: PoolSpec, id: string): Promise<boolean> {
    return (await this.find(pool, id)) !== undefined;
  }

  async list(pool: PoolSpec): Promise<readonly StoredTree[]> {
    const root = this.#mountOf(pool);
    // The copies of records are no trees.
    const folders = poolFolders.filter((folder) => folder !== recordsFolder);
    const ids = await Promise.all(folders.map((folder) => idsIn(root, folder)));
    return ids.flat().map((id) => ({ id }));
  }

  async make(pool: PoolSpec, id: string): Promise<string> {
    const path = this.#plain(pool, id);
    await mkdir(path, { mode: 0o700 });
    return path;
  }

  /** `to`: the id of a snapshot of the same volume, or a temporary one. */
  async snapshot(pool: PoolSpec, from: string, to: string): Promise<void> {
    const own = this.#snapshot(pool, to);
    if (own !== undefined) return mkdir(own);
    const name = `${ofMoment}${randomUUID()}`;
    const link = this.#plain(pool, to);
    // The link is made first, so that a crash leaves no unknown snapshot.
    await symlink(join('..', from, '.snap', name, 'data'), link);
    await mkdir(join(this.#mountOf(pool), from, '.snap', name));
  }

  async rename(pool: PoolSpec, from: string, to: string): Promise<void> {
    const [source, target] = [this.#snapshot(pool, from), this.#snapshot(pool, to)];
    if (source !== undefined && target !== undefined && (await statsOf(this.#plain(pool, from))) === undefined) {
      // The snapshots of a volume move with its directory.
      if (dirname(source) === dirname(target)) await rename(source, target);
      return;
    }
    const root = this.#mountOf(pool);
    if (staysMounted(from) && staysMounted(to)) return rename(join(root, from), join(root, to));
    const path = this.#plain(pool, to);
    await mkdir(dirname(path), { mode: 0o700, recursive: true });
    await rename(this.#plain(pool, from), path);
    await this.#removeHolder(pool, from);
  }

  /** It stays while it has snapshots. */
  async #removeHolder(pool: PoolSpec, id: string): Promise<void> {
    if (!staysMounted(id) && !snapshotsOf.test(id.split('/')[0] ?? '')) return;
    await rmdir(dirname(this.#plain(pool, id))).catch((error: unknown) => {
      if (!hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw error;
    });
  }

  async remove(pool: PoolSpec, id: string): Promise<void> {
    const plain = this.#plain(pool, id);
    const stats = await statsOf(plain);
    if (stats?.isSymbolicLink() === true) {
      await rmdirIfThere(join(dirname(plain), dirname(await readlink(plain))));
      return unlink(plain);
    }
    const snapshot = this.#snapshot(pool, id);
    if (stats === undefined) return snapshot === undefined ? undefined : rmdirIfThere(snapshot);
    await removeTree(plain).catch(async () => {
      await exec(commands.dropSnapshotsBelow(plain), { timeoutMs: hourMs });
      await removeTree(plain);
    });
    await this.#removeHolder(pool, id);
  }
}

const hourMs = 3_600_000;

async function idsIn(root: string, folder: string): Promise<readonly string[]> {
  const names = await namesIn(join(root, folder));
  if (snapshotsOf.test(folder)) return idsOfCopies(root, folder, names);
  if (!staysMounted(`${folder}/x`)) return names.map((name) => `${folder}/${name}`);
  const found = names.map(async (name) => {
    const id = `${folder}/${name}`;
    const snapshots = (await namesIn(join(root, id, '.snap'))).filter((each) => each.startsWith(ours));
    const isThere = (await statsOf(join(root, id, 'data'))) !== undefined;
    return [
      ...(isThere ? [id] : []),
      ...snapshots.map((each) => `${folder}-snapshots/${name}/${each.slice(ours.length)}`),
    ];
  });
  return (await Promise.all(found)).flat();
}

/** Snapshots that were received, not taken from the volume. */
async function idsOfCopies(root: string, folder: string, volumes: readonly string[]): Promise<readonly string[]> {
  const found = volumes.map(async (volume) =>
    (await namesIn(join(root, folder, volume))).map((name) => `${folder}/${volume}/${name}`),
  );
  return (await Promise.all(found)).flat();
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  });
}

const statsOf = (path: string) => lstat(path).catch(ifMissing);

const rmdirIfThere = (path: string): Promise<void> => rmdir(path).catch(ifMissing);

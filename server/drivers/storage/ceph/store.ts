// Volumes as images of RBD in an OSD pool. A copy, and a snapshot, is a clone; what has clones is kept aside when it is deleted.
import { randomUUID } from 'node:crypto';
import { isTrue } from '../../../api/text/value-checks.ts';
import { ExecError } from '../../../lib/exec.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { commands as fileSystemCommands } from '../blocks/commands.ts';
import type { BlockStore, BlockVolume } from '../blocks/store.ts';
import type { PoolSpec } from '../driver.ts';
import { volumeFolder } from '../layout.ts';
import { patiently } from '../mounted/mounts.ts';
import { isWritten } from '../mounted/trees.ts';
import { clusterOf, formOf, mark, marksOf, osdPoolOf, runCeph, unless, unmark } from './calls.ts';
import { codes, commands, hasLeft, imageOf, isDeleted, leftIn, sealed, snapshotsOf, type Image } from './commands.ts';
import type { RbdDevices } from './devices.ts';
import { imagesOf, isBegun, readImage } from './list-images.ts';
import { idMark, idsIn, marked } from './named.ts';
import { deletedPrefix, idOf, imageName, needsMark } from './names.ts';
import { waitUntilFree } from './watchers.ts';

/** The kernel takes chains of 16 clones. */
const longestChain = 12;
const resizingMark = 'resizing:';

/** A volume that never changes after its creation has one snapshot; all copies are clones of it. */
const isSealed = (id: string): boolean => isOfImage(id) || /^[a-z]+-snapshots\//.test(id);
const isOfImage = (id: string): boolean => id.startsWith(`${volumeFolder('image')}/`);

export class CephStore implements BlockStore {
  readonly #devices: RbdDevices;
  /** Snapshots that are being cloned. */
  readonly #cloned = new Set<string>();
  readonly #sweeping = new KeyedMutex();
  readonly #fsids = new Map<string, Promise<string>>();

  constructor(devices: RbdDevices) {
    this.#devices = devices;
  }

  canClone(): boolean {
    return true;
  }
  /** Containers of an image are always clones. */
  copiesFiles({ config }: PoolSpec, id: string): boolean {
    return !isTrue(config['ceph.rbd.clone_copy'] || 'true') && !isOfImage(id);
  }
  readsZeros(): boolean {
    return true;
  }
  rounded(_pool: PoolSpec, bytes: number): number {
    return Math.ceil(bytes / 4096) * 4096;
  }

  async list(pool: PoolSpec): Promise<readonly BlockVolume[]> {
    const [{ images }, marks] = await Promise.all([imagesOf(pool), marksOf(pool)]);
    return images.flatMap((image) => asVolume(image, marks) ?? []);
  }
  async has(pool: PoolSpec, id: string): Promise<boolean> {
    return (await readImage(pool, imageName(id))) !== undefined;
  }
  async find(pool: PoolSpec, id: string): Promise<BlockVolume | undefined> {
    const [image, marks] = await Promise.all([readImage(pool, imageName(id)), marksOf(pool)]);
    return image && { id, bytes: image.bytes, isResizing: marks.includes(`${resizingMark}${id}`) };
  }
  async create(pool: PoolSpec, id: string, bytes: number): Promise<void> {
    const form = { ...formOf(pool), bytes: this.rounded(pool, bytes) };
    const make = commands.make(clusterOf(pool), `${osdPoolOf(pool)}/${imageName(id)}`, form);
    await marked(pool, id, () => runCeph(make, `cannot make an image of ${form.bytes} bytes`));
  }

  async clone(pool: PoolSpec, from: string, to: string, mountedAt?: string): Promise<void> {
    await marked(pool, to, () => this.#clone(pool, from, to, mountedAt));
  }

  async #clone(pool: PoolSpec, from: string, to: string, mountedAt: string | undefined): Promise<void> {
    const source = `${osdPoolOf(pool)}/${imageName(from)}`;
    const snapshot = `${source}@${isSealed(from) ? sealed : randomUUID()}`;
    const make = (): Promise<string> => this.#cloneTo(pool, snapshot, to);
    this.#cloned.add(snapshot);
    try {
      if (!isSealed(from)) await this.#snapshot(pool, snapshot, mountedAt);
      // Without the snapshot, or its protection, which a first clone makes, nothing is made.
      else if ((await unless(['NotFound', 'Failed'], make())) !== undefined) return this.#shorten(pool, from, to);
      else await unless(['Exists'], this.#snapshot(pool, snapshot, undefined));
      const protect = commands.protect(clusterOf(pool), snapshot);
      // Protected already: busy.
      await unless(['InUse'], runCeph(protect, `cannot clone ${snapshot}`));
      await make();
    } finally {
      this.#cloned.delete(snapshot);
    }
    await this.#shorten(pool, from, to);
  }

  async #snapshot(pool: PoolSpec, snapshot: string, mountedAt: string | undefined): Promise<string> {
    const what = `cannot make the snapshot ${snapshot}`;
    const command = commands.snapshot(clusterOf(pool), snapshot);
    return runCeph(mountedAt === undefined ? command : fileSystemCommands.atRest(mountedAt, command), what);
  }

  #cloneTo(pool: PoolSpec, snapshot: string, to: string): Promise<string> {
    const image = `${osdPoolOf(pool)}/${imageName(to)}`;
    return runCeph(commands.clone(clusterOf(pool), snapshot, image, formOf(pool)), `cannot clone ${snapshot}`);
  }

  /** Makes a clone at the end of a long chain a whole image. */
  async #shorten(pool: PoolSpec, from: string, to: string): Promise<void> {
    // An unpacked image is no clone.
    if (isOfImage(from) || !(await this.#isLongChain(pool, imageName(from)))) return;
    const image = `${osdPoolOf(pool)}/${imageName(to)}`;
    await runCeph(commands.flatten(clusterOf(pool), image), `cannot make ${image} whole`);
  }

  /** Whether a clone of the image has too many images before it. */
  async #isLongChain(pool: PoolSpec, origin: string): Promise<boolean> {
    let image = await readImage(pool, origin);
    for (let links = 1; image?.parent !== undefined; links += 1) {
      if (links >= longestChain) return true;
      image = await readImage(pool, imageOf(image.parent));
    }
    return false;
  }

  async rename(pool: PoolSpec, from: string, to: string): Promise<void> {
    await this.close(pool, from);
    // The rename is the atomic step: a mark without a matching image is ignored.
    if (needsMark(to)) await mark(pool, `${idMark}${to}`);
    const [source, target] = [from, to].map((id) => `${osdPoolOf(pool)}/${imageName(id)}`) as [string, string];
    await runCeph(commands.rename(clusterOf(pool), source, target), `cannot rename ${from} to ${to}`);
    if (needsMark(from)) await unmark(pool, `${idMark}${from}`);
  }

  async remove(pool: PoolSpec, id: string): Promise<void> {
    await this.close(pool, id);
    const name = imageName(id);
    const all = await imagesOf(pool);
    const found = all.images.find((image) => image.name === name);
    const isKept = found !== undefined && snapshotsOf(all, name).length > 0;
    if (found !== undefined) {
      const grave = await this.#bury(pool, found);
      if (!isKept) await this.#drop(pool, grave);
    } else if (all.closed.includes(name)) {
      // A removal of an earlier release that was killed.
      await unless(['NotFound'], call(pool, 'remove', name, `cannot delete the image ${name}`));
    }
    // Also of a removal that failed after its first step.
    if (needsMark(id)) await unmark(pool, `${idMark}${id}`);
    // An image that was no clone leaves nothing that is of no use now.
    if (isKept || found?.parent !== undefined || hasLeft(all)) await this.sweep(pool);
  }

  /**
   * The rename is the atomic step. Emptied then, but for what its clones need: while an image is removed, which takes long for one with data,
   * the images of the pool cannot be listed at once.
   */
  async #bury(pool: PoolSpec, { name, bytes }: Image): Promise<string> {
    const [cluster, osdPool] = [clusterOf(pool), osdPoolOf(pool)];
    const grave = `${deletedPrefix}${randomUUID()}`;
    const what = `cannot delete the image ${name}`;
    await runCeph(commands.rename(cluster, `${osdPool}/${name}`, `${osdPool}/${grave}`), what);
    const emptied = commands.resize(cluster, `${osdPool}/${grave}`, 0);
    if (bytes > 0) await unless(['NotFound'], runCeph(emptied, what));
    return grave;
  }

  /** False while a client has it open: one that has died is forgotten after a while, and a later sweep removes it. */
  async #drop(pool: PoolSpec, name: string): Promise<boolean> {
    const removed = call(pool, 'remove', name, `cannot delete the image ${name}`);
    return (await unless(['NotFound'], removed).catch(ofOthers)) !== false;
  }

  /** Removes what killed removals have left, unless a client still has it open. */
  async #endRemovals(pool: PoolSpec, closed: readonly string[]): Promise<void> {
    if (closed.length === 0) return;
    const ids = idsIn(await marksOf(pool));
    for (const name of closed)
      if ((isDeleted(name) || idOf(name, ids) !== undefined) && !(await isBegun(pool, name)))
        await this.#drop(pool, name);
  }

  /**
   * Removes deleted volumes without clones, repeatedly: a removed one may have been the last clone of another. Resolves to the images
   * that clients have open still.
   */
  async sweep(pool: PoolSpec): Promise<readonly string[]> {
    const osdPool = osdPoolOf(pool);
    return this.#sweeping.run(osdPool, async () => {
      for (;;) {
        const all = await imagesOf(pool);
        await this.#endRemovals(pool, all.closed);
        const left = leftIn(all);
        const snapshots = left.snapshots.filter((each) => !this.#cloned.has(`${osdPool}/${each}`));
        let gone = 0;
        for (const snapshot of snapshots) if (await this.#dropSnapshot(pool, snapshot)) gone += 1;
        for (const image of left.images) if (await this.#drop(pool, image)) gone += 1;
        if (gone === 0) return [...left.images, ...all.closed.filter(isDeleted)];
      }
    });
  }

  /** False if another client has a clone of it. */
  async #dropSnapshot(pool: PoolSpec, snapshot: string): Promise<boolean> {
    const what = `cannot delete the snapshot ${snapshot}`;
    // Not protected: Failed, by which the next step is not stopped.
    const freed = await unless(['NotFound', 'Failed'], call(pool, 'unprotect', snapshot, what)).catch(ofOthers);
    if (freed === false) return false;
    return (await unless(['NotFound'], call(pool, 'removeSnapshot', snapshot, what)).catch(ofOthers)) !== false;
  }

  async beginResize(pool: PoolSpec, id: string): Promise<void> {
    await mark(pool, `${resizingMark}${id}`);
  }
  async resize(pool: PoolSpec, id: string, bytes: number): Promise<void> {
    const name = imageName(id);
    if ((await readImage(pool, name))?.bytes === bytes) return;
    const command = commands.resize(clusterOf(pool), `${osdPoolOf(pool)}/${name}`, bytes);
    await runCeph(command, `cannot change the size of ${id} to ${bytes} bytes`);
    await this.#devices.resized?.(`${osdPoolOf(pool)}/${name}`, bytes);
  }
  async endResize(pool: PoolSpec, id: string): Promise<void> {
    await unmark(pool, `${resizingMark}${id}`);
  }

  /** The devices of the pool's images, by the names of those. */
  async mapped(pool: PoolSpec): Promise<ReadonlyMap<string, string>> {
    const [fsid, all] = [await this.#fsid(pool), await this.#devices.list()];
    const begin = `${osdPoolOf(pool)}/`;
    const own = all.filter((each) => each.fsid === fsid && each.image.startsWith(begin));
    return new Map(own.map(({ image, device }) => [image.slice(begin.length), device]));
  }
  async #fsid(pool: PoolSpec): Promise<string> {
    const { name, user } = clusterOf(pool);
    const known = this.#fsids.get(name) ?? runCeph(commands.fsid({ name, user }), `cannot reach the cluster ${name}`);
    this.#fsids.set(name, known);
    return known.then(
      (text) => text.trim(),
      (error: unknown) => {
        this.#fsids.delete(name);
        throw error;
      },
    );
  }
  async isOpen(pool: PoolSpec, id: string): Promise<boolean> {
    return (await this.mapped(pool)).has(imageName(id));
  }
  async open(pool: PoolSpec, id: string): Promise<string> {
    const name = imageName(id);
    const found = (await this.mapped(pool)).get(name);
    if (found !== undefined) return found;
    if (isWritten(id)) await waitUntilFree(pool, id);
    try {
      return await this.#devices.map(clusterOf(pool), `${osdPoolOf(pool)}/${name}`, !isWritten(id));
    } catch (error) {
      throw driverErrors.failed(`cannot map the image ${osdPoolOf(pool)}/${name} as a block device`, error);
    }
  }
  async close(pool: PoolSpec, id: string): Promise<void> {
    const device = (await this.mapped(pool)).get(imageName(id));
    if (device === undefined) return;
    // udev opens a device right after it was closed.
    await patiently(() => this.#devices.unmap(device), isBusy).catch((error: unknown) => {
      const [code, why] = isBusy(error)
        ? (['InUse', ': something on the host uses it'] as const)
        : (['Failed', ''] as const);
      throw new DriverError(code, `${device} of ${id} cannot be unmapped${why}`, error);
    });
  }
}

const isBusy = (error: unknown): boolean => error instanceof ExecError && error.code === codes.busy;

const call = (
  pool: PoolSpec,
  command: 'image' | 'remove' | 'unprotect' | 'removeSnapshot',
  name: string,
  what: string,
): Promise<string> => runCeph(commands[command](clusterOf(pool), `${osdPoolOf(pool)}/${name}`), what);

function ofOthers(error: unknown): false {
  if (error instanceof DriverError && error.code === 'InUse') return false;
  throw error;
}

function asVolume({ name, bytes }: Image, marks: readonly string[]): BlockVolume | undefined {
  const id = idOf(name, idsIn(marks));
  return id === undefined ? undefined : { id, bytes, isResizing: marks.includes(`${resizingMark}${id}`) };
}

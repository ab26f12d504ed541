// Volumes as images of RBD in an OSD pool. A copy, and a snapshot, is a clone; what has clones is kept aside when it is deleted.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { KeyedMutex } from '../../../lib/keyed-mutex.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { commands as fileSystemCommands } from '../blocks/commands.ts';
import type { BlockStore, BlockVolume } from '../blocks/store.ts';
import type { PoolSpec } from '../driver.ts';
import { recordsFolder, volumeFolder } from '../layout.ts';
import { patiently } from '../mounted/mounts.ts';
import { isWritten } from '../mounted/trees.ts';
import { clusterOf, mark, marksOf, osdPoolOf, runCeph, unless, unmark } from './calls.ts';
import {
  imageOf,
  codes,
  commands,
  leftIn,
  sealed,
  snapshotsOf,
  watchersIn,
  type Image,
  type ImageForm,
} from './commands.ts';
import type { RbdDevices } from './devices.ts';
import { imagesOf, isBegun, readImage } from './list-images.ts';
import { deletedPrefix, idOf, imageName, needsMark } from './names.ts';

/** The kernel takes chains of 16 clones. */
const longestChain = 12;
/** A client that has died is forgotten after 30 s. */
const patienceMs = 40_000;
const [idMark, resizingMark] = ['id:', 'resizing:'];

const idsIn = (marks: readonly string[]): readonly string[] =>
  marks.flatMap((each) => (each.startsWith(idMark) ? [each.slice(idMark.length)] : []));

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
    if (needsMark(id)) await mark(pool, `${idMark}${id}`);
    const form = { ...formOf(pool), bytes: this.rounded(pool, bytes) };
    const image = `${osdPoolOf(pool)}/${imageName(id)}`;
    await runCeph(commands.make(clusterOf(pool), image, form), `cannot make an image of ${form.bytes} bytes`);
  }

  async clone(pool: PoolSpec, from: string, to: string, mountedAt?: string): Promise<void> {
    if (needsMark(to)) await mark(pool, `${idMark}${to}`);
    const source = `${osdPoolOf(pool)}/${imageName(from)}`;
    const snapshot = `${source}@${isSealed(from) ? sealed : randomUUID()}`;
    this.#cloned.add(snapshot);
    try {
      if (!isSealed(from)) await this.#snapshot(pool, snapshot, mountedAt);
      else if ((await unless(['NotFound'], this.#cloneTo(pool, snapshot, to))) !== undefined) return;
      else await unless(['Exists'], this.#snapshot(pool, snapshot, undefined));
      await this.#cloneTo(pool, snapshot, to);
    } finally {
      this.#cloned.delete(snapshot);
    }
  }

  async #snapshot(pool: PoolSpec, snapshot: string, mountedAt: string | undefined): Promise<string> {
    const what = `cannot make the snapshot ${snapshot}`;
    const command = commands.snapshot(clusterOf(pool), snapshot);
    return runCeph(mountedAt === undefined ? command : fileSystemCommands.atRest(mountedAt, command), what);
  }

  async #cloneTo(pool: PoolSpec, snapshot: string, to: string): Promise<string> {
    const [cluster, what] = [clusterOf(pool), `cannot clone ${snapshot}`];
    const image = `${osdPoolOf(pool)}/${imageName(to)}`;
    // Protected already: busy.
    await unless(['InUse'], runCeph(commands.protect(cluster, snapshot), what));
    await runCeph(commands.clone(cluster, snapshot, image, formOf(pool)), what);
    if (await this.#isLongChain(pool, imageName(to))) await runCeph(commands.flatten(cluster, image), what);
    return image;
  }

  async #isLongChain(pool: PoolSpec, name: string): Promise<boolean> {
    let parent = await readImage(pool, name);
    for (let links = 0; parent?.parent !== undefined; links += 1) {
      if (links >= longestChain) return true;
      parent = await readImage(pool, imageOf(parent.parent));
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
    if (found === undefined && !all.closed.includes(name)) return;
    if (snapshotsOf(all, name).length > 0) await this.#bury(pool, name);
    else await this.#drop(pool, name, found?.bytes ?? 0);
    if (needsMark(id)) await unmark(pool, `${idMark}${id}`);
    await this.sweep(pool);
  }

  /** Keeps only what its clones need. */
  async #bury(pool: PoolSpec, name: string): Promise<void> {
    const cluster = clusterOf(pool);
    const grave = `${osdPoolOf(pool)}/${deletedPrefix}${randomUUID()}`;
    const what = `cannot delete the image ${name}`;
    await runCeph(commands.rename(cluster, `${osdPoolOf(pool)}/${name}`, grave), what);
    await runCeph(commands.resize(cluster, grave, 0), what);
  }

  /** Emptied first: while an image is removed, which takes long for one with data, the images of the pool cannot be listed at once. */
  async #drop(pool: PoolSpec, name: string, bytes: number): Promise<void> {
    const what = `cannot delete the image ${name}`;
    const emptied = commands.resize(clusterOf(pool), `${osdPoolOf(pool)}/${name}`, 0);
    if (bytes > 0) await unless(['NotFound'], runCeph(emptied, what));
    await unless(['NotFound'], call(pool, 'remove', name, what));
  }

  /** Removes what killed removals have left, unless a client still has it open. */
  async #endRemovals(pool: PoolSpec, closed: readonly string[]): Promise<void> {
    if (closed.length === 0) return;
    const ids = idsIn(await marksOf(pool));
    for (const name of closed)
      if ((name.startsWith(deletedPrefix) || idOf(name, ids) !== undefined) && !(await isBegun(pool, name)))
        await unless(['NotFound', 'InUse'], call(pool, 'remove', name, `cannot delete the image ${name}`));
  }

  /** Removes deleted volumes without clones, repeatedly: a removed one may have been the last clone of another. */
  async sweep(pool: PoolSpec): Promise<void> {
    const osdPool = osdPoolOf(pool);
    await this.#sweeping.run(osdPool, async () => {
      for (;;) {
        const all = await imagesOf(pool);
        await this.#endRemovals(pool, all.closed);
        const left = leftIn(all);
        const snapshots = left.snapshots.filter((each) => !this.#cloned.has(`${osdPool}/${each}`));
        let gone = 0;
        for (const snapshot of snapshots) if (await this.#dropSnapshot(pool, snapshot)) gone += 1;
        for (const image of left.images) await this.#drop(pool, image, 0);
        if (gone + left.images.length === 0) return;
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

function formOf({ config }: PoolSpec): Omit<ImageForm, 'bytes'> {
  const features = (config['ceph.rbd.features'] || 'layering').split(',').map((each) => each.trim());
  return { features, dataPool: config['ceph.osd.data_pool_name'] || undefined };
}

/** A writing client watches the image. Two clients that mount it at once would corrupt the file system. */
async function waitUntilFree(pool: PoolSpec, id: string): Promise<void> {
  const image = `${osdPoolOf(pool)}/${imageName(id)}`;
  const until = Date.now() + patienceMs;
  for (;;) {
    const { stdout } = await exec(commands.watchers(clusterOf(pool), image));
    const [other] = watchersIn(stdout);
    if (other === undefined) return;
    if (Date.now() > until) {
      const what = id === recordsFolder ? `pool ${pool.name}` : `volume ${id} of pool ${pool.name}`;
      throw driverErrors.inUse(
        `${what} is in use at another host: the client ${other} has the image ${image} open; stop it there first`,
      );
    }
    await sleep(1_000);
  }
}

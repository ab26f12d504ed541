// Lists the images of an OSD pool, also while some of them are being made or removed, when `rbd ls --long` fails as a whole (Ceph 16.2).
import { setTimeout as sleep } from 'node:timers/promises';
import { exec, ExecError } from '../../../lib/exec.ts';
import { mapAtMost } from '../../../lib/shared/concurrency-limit.ts';
import type { PoolSpec } from '../driver.ts';
import { clusterOf, osdPoolOf, runCeph, unless } from './calls.ts';
import {
  commands,
  imageIn,
  imagesIn,
  namesIn,
  saysNotFound,
  snapshotNamesIn,
  type Image,
  type Images,
} from './commands.ts';

/** Creations and removals of empty images end within these. */
const pausesMs = [100, 200, 400];
const readsAtOnce = 8;

export async function imagesOf(pool: PoolSpec): Promise<Images> {
  const [cluster, osdPool] = [clusterOf(pool), osdPoolOf(pool)];
  const what = `cannot list the images of the OSD pool ${osdPool}`;
  for (const pauseMs of pausesMs) {
    const shown = await unless(['NotFound'], runCeph(commands.images(cluster, osdPool), what));
    if (shown !== undefined) return imagesIn(shown);
    await sleep(pauseMs);
  }
  return readEach(pool, namesIn(await runCeph(commands.imageNames(cluster, osdPool), what)));
}

async function readEach(pool: PoolSpec, names: readonly string[]): Promise<Images> {
  const read = await mapAtMost(readsAtOnce, names, async (name) => {
    const image = await readImage(pool, name);
    const snapshots = commands.snapshots(clusterOf(pool), pathOf(pool, name));
    const taken = image && (await unless(['NotFound'], runCeph(snapshots, whatOf(name))));
    return { name, image: taken === undefined ? undefined : image, taken: snapshotNamesIn(taken ?? '[]') };
  });
  return {
    images: read.flatMap(({ image }) => image ?? []),
    snapshots: read.flatMap(({ name, taken }) => taken.map((each) => `${name}@${each}`)),
    closed: read.flatMap(({ name, image }) => (image === undefined ? [name] : [])),
  };
}

export async function readImage(pool: PoolSpec, name: string): Promise<Image | undefined> {
  const shown = await unless(['NotFound'], runCeph(commands.image(clusterOf(pool), pathOf(pool, name)), whatOf(name)));
  return shown === undefined ? undefined : imageIn(shown);
}

/** Whether another client makes the image just now. */
export async function isBegun(pool: PoolSpec, name: string): Promise<boolean> {
  try {
    await exec(commands.idObject(clusterOf(pool), osdPoolOf(pool), name));
    return true;
  } catch (error) {
    if (error instanceof ExecError && saysNotFound(error.stderr)) return false;
    throw error;
  }
}

const pathOf = (pool: PoolSpec, name: string): string => `${osdPoolOf(pool)}/${name}`;
const whatOf = (name: string): string => `cannot read the image ${name}`;

// Volumes of zfs as streams that ZFS itself understands: a snapshot on top of the one before, received as a clone of it.
import { once } from 'node:events';
import { keptToRead, keptToWrite, type ConfinedCommand } from '../../../lib/confined.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { temporaryFolder } from '../layout.ts';
import type { Place } from '../mounted/trees.ts';
import type { TreeKind } from '../trees/kind.ts';
import { writeTo } from '../trees/stream.ts';
import { commands } from './commands.ts';
import { datasetFor, datasetOf, runZfs, unless } from './datasets.ts';
import {
  canBuildOn,
  headBytes,
  headOf,
  looksIn,
  momentOf,
  received,
  sealed,
  streamCommands,
  type Look,
} from './moments.ts';

/** The programs do all their work by it; a fence that mounts what may be written elsewhere would close the device. */
const control = '/dev/zfs';

interface Trees {
  place(path: string): Place;
  move(from: string, to: string): Promise<void>;
}

/** `expectBlocks`: called before the pool gets a block volume. */
export function zfsStreams(trees: Trees, expectBlocks: (pool: PoolSpec) => void): NonNullable<TreeKind['native']> {
  const datasetAt = (path: string): string => {
    const { pool, id } = trees.place(path);
    return datasetFor(pool, id);
  };
  return {
    check: () => Promise.resolve(),
    canSend: () => Promise.resolve(true),
    async idOf(path) {
      return (await momentAt(datasetAt(path))).guid;
    },
    async send(path, parent) {
      const target = await momentAt(datasetAt(path));
      const base = parent === undefined ? undefined : await momentAt(datasetAt(parent));
      const isBase = base !== undefined && canBuildOn(base, target, await look([target.name.split('@')[0] ?? '']));
      return confinedTo(streamCommands.send(target.name, isBase ? base.name : undefined), keptToRead);
    },
    async receive(temporary, bytes, kin, signal, strange) {
      const { pool } = trees.place(temporary);
      const { head, whole } = await begun(bytes, signal);
      if (head.isBlock && strange === true)
        throw driverErrors.invalid(
          'the stream is that of a block volume, whose file system is only read from servers that are trusted: use a plain backup',
        );
      if (head.isBlock) expectBlocks(pool);
      const base = head.base === undefined ? undefined : await withNumber(head.base, (await kin()).map(datasetAt));
      const folder = `${datasetOf(pool)}/${temporaryFolder}`;
      await runZfs(commands.make(folder), `cannot make ${folder}`);
      const snapshot = `${datasetAt(temporary)}@${received}`;
      await writeTo(confinedTo(streamCommands.receive(snapshot, base), keptToWrite), whole, signal);
      return temporary;
    },
    keep: (from, to) => trees.move(from, to),
    async settle(from, to) {
      await trees.move(from, to);
      const snapshot = `${datasetAt(to)}@${received}`;
      await runZfs(commands.removeLater(snapshot), `cannot delete the snapshot ${snapshot}`);
    },
  };
}

const confinedTo = (argv: readonly string[], keeps: readonly string[]): ConfinedCommand => ({
  argv,
  confinement: { writes: [control], keeps, isAtHome: true },
});

const look = async (names: readonly string[]): Promise<readonly Look[]> =>
  looksIn(await runZfs(streamCommands.look(names), `cannot read ${names.join(', ')}`));

/** The snapshot with the content of a dataset that does not change; made when there is none. */
async function momentAt(dataset: string): Promise<Look> {
  const looks = looksIn(await runZfs(streamCommands.moments([dataset]), `cannot read the dataset ${dataset}`));
  let name = momentOf(dataset, looks);
  if (name === undefined) {
    name = `${dataset}@${sealed}`;
    await unless('Exists', runZfs(commands.snapshot(name), `cannot take a snapshot of ${dataset}`));
  }
  const [moment] = looks.filter((each) => each.name === name).concat(await look([name]));
  if (moment === undefined) throw driverErrors.notFound(`there is no snapshot ${name}`);
  return moment;
}

/** The snapshot of one of the datasets that has the number, which is the same on every host. */
async function withNumber(guid: string, datasets: readonly string[]): Promise<string> {
  if (datasets.length > 0) {
    const looks = looksIn(await runZfs(streamCommands.moments(datasets), 'cannot read what the stream builds on'));
    const names = datasets.flatMap((dataset) => momentOf(dataset, looks) ?? []);
    const found = names.length === 0 ? undefined : (await look(names)).find((each) => each.guid === guid);
    if (found !== undefined) return found.name;
  }
  throw driverErrors.failed('the stream builds on a snapshot that the volume does not have');
}

/** Reads what the stream says of itself. Throws Failed. */
async function begun(bytes: AsyncIterable<Buffer>, signal: AbortSignal) {
  const source = bytes[Symbol.asyncIterator]();
  const first = await firstBytes(source, signal);
  async function* whole(): AsyncGenerator<Buffer> {
    yield first;
    for (let next = await source.next(); next.done !== true; next = await source.next()) yield next.value;
  }
  try {
    return { head: headOf(first), whole: whole() };
  } catch (error) {
    throw driverErrors.failed(`the stream is not one of a volume: ${errorText(error)}`, error);
  }
}

async function firstBytes(source: AsyncIterator<Buffer>, signal: AbortSignal): Promise<Buffer> {
  const done = new AbortController();
  const aborted = once(signal, 'abort', { signal: done.signal }).catch(() => undefined);
  const parts: Buffer[] = [];
  try {
    for (let size = 0; size < headBytes;) {
      const next = await Promise.race([source.next(), aborted]);
      signal.throwIfAborted();
      if (next === undefined || Array.isArray(next) || next.done === true) break;
      parts.push(next.value);
      size += next.value.length;
    }
    return Buffer.concat(parts);
  } finally {
    done.abort();
  }
}

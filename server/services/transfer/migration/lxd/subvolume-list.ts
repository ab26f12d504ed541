// The list of subvolumes that goes before streams of btrfs in LXD's protocol, as JSON: written, and read from strangers. Pure.
import { LxdSubvolumes, maxSubvolumes } from '../../../../api/container/migration-messages.ts';
import { validateBody } from '../../../../api/schema/validate-json.ts';
import { type DriverError, driverErrors } from '../../../../drivers/driver-error.ts';
import type { HeldTree, Subvolume } from '../../../../drivers/storage/driver.ts';
import { shapeProblem } from '../../../../lib/json-shape.ts';

type Entry = NonNullable<LxdSubvolumes['subvolumes']>[number];

/** `snapshots`: what the trees are of, in their order; the volume itself is the last one. */
export function listOf(held: readonly HeldTree[], snapshots: readonly string[]): Buffer {
  const subvolumes = held.flatMap((tree, index) =>
    tree.subvolumes.map(({ path, isReadonly }): Entry => {
      const snapshot = snapshots[index] ?? '';
      return { path, snapshot, readonly: path === '/' ? snapshot !== '' : isReadonly };
    }),
  );
  return Buffer.from(JSON.stringify({ subvolumes }));
}

/** The subvolumes of these snapshots, in their order, then those of the volume: each tree itself comes first. Throws DriverError Invalid. */
export function subvolumesIn(frame: Buffer, snapshots: readonly string[]): readonly (readonly Subvolume[])[] {
  const entries = entriesIn(frame);
  const strange = entries.find(({ snapshot }) => snapshot !== '' && !snapshots.includes(snapshot));
  if (strange !== undefined) throw refused(`it has ${JSON.stringify(strange.snapshot)}, which was not offered`);
  return [...snapshots, ''].map((wanted) => {
    const found = entries.filter(({ snapshot }) => snapshot === wanted);
    const what = wanted === '' ? 'the volume' : `the snapshot ${wanted}`;
    if (found[0]?.path !== '/') throw refused(`${what} does not come before what is in it`);
    if (new Set(found.map(({ path }) => path)).size < found.length) throw refused(`${what} has one path twice`);
    const [, ...inside] = found;
    const bad = inside.find(({ path }) => !isInside(path));
    if (bad !== undefined) throw refused(`${JSON.stringify(bad.path)} is no path in ${what}`);
    return found.map(({ path, readonly }) => ({ path, isReadonly: readonly }));
  });
}

function entriesIn(frame: Buffer): readonly Entry[] {
  const broken = shapeProblem(frame, { maxDepth: 8, maxValues: maxSubvolumes * 8 });
  if (broken !== undefined) throw refused(`it ${broken}`);
  let value: unknown;
  try {
    value = JSON.parse(frame.toString('utf8'));
  } catch (cause) {
    throw refused('it is no JSON', cause);
  }
  const [problem] = validateBody(LxdSubvolumes, value);
  if (problem !== undefined) throw refused(`${problem.path} ${problem.message}`);
  return (value as LxdSubvolumes).subvolumes ?? [];
}

const isInside = (path: string): boolean =>
  path.startsWith('/') &&
  !path.includes('\0') &&
  path
    .slice(1)
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= 255);

const refused = (why: string, cause?: unknown): DriverError =>
  driverErrors.invalid(`the list of btrfs subvolumes cannot be used: ${why}`, cause);

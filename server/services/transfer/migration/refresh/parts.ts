// Fills the parts of a copy that is brought up to date, a container's volume or a custom one: from another server, or from a volume of this one.
import {
  MigrationStep,
  migrationVersion,
  type ContainerMigrationOffer,
  type VolumeMigrationOffer,
} from '../../../../api/container/migration-messages.ts';
import { plainName } from '../../../../api/project/project-names.ts';
import type { ChangingTree, TreeRef, VolumeRef } from '../../../../drivers/storage/driver.ts';
import type { SagaContext } from '../../../../operations/saga.ts';
import { answerTo, featuresOf, isTwice } from '../lxd/offers.ts';
import { receiveInto } from '../lxd/trees.ts';
import { treeOf, type OwnerOf } from '../owners.ts';
import { PeerError, type Peer } from '../peer.ts';
import type { Progress } from '../progress.ts';
import { formatsOf, receiveChanges, type TargetVolume } from '../streams.ts';
import type { Taken, TargetDeps } from '../target.ts';
import { applyChanges, changedMembers, listTree, removedNames } from '../tree-changes.ts';
import type { UntrustedFiles } from '../untrusted-source.ts';
import { planRefresh, type PlannedSnapshot, type RefreshPart, type RefreshPlan } from './plan.ts';
import { withoutUndefined } from '../../../../lib/shared/without-undefined.ts';

interface Snapshots {
  /** Those that the copy shall have, oldest first. */
  readonly offered: readonly PlannedSnapshot[];
  /** Those that it has. */
  readonly known: readonly PlannedSnapshot[];
}

export interface PlannedParts {
  readonly plan: RefreshPlan;
  /** Makes one part of the plan; they are made in their order. */
  readonly fill: (part: RefreshPart, context: SagaContext) => Promise<void>;
}

interface Arriving extends Taken<ContainerMigrationOffer | VolumeMigrationOffer>, Snapshots {
  readonly volume: TargetVolume;
  /** Undefined: the source is trusted. */
  readonly untrusted: UntrustedFiles | undefined;
}

/** The source sends nothing before the first part is filled. */
export async function partsFromPeer(
  { pools }: Pick<TargetDeps, 'pools'>,
  peer: Peer,
  { offer, lxd, offered, known: mine, volume, untrusted }: Arriving,
  progress: Progress,
): Promise<PlannedParts> {
  const { pool: name, ref, ofSnapshot } = volume;
  const { driver, pool } = pools.use(name);
  const known = await Promise.all(
    mine.map(async (one): Promise<PlannedSnapshot> => {
      return { ...one, streamId: await driver.streamId(pool, { volume: ref, snapshot: one.name }) };
    }),
  );
  const [native] = untrusted !== undefined ? [] : formatsOf(pools, name).filter((one) => one !== 'tar');
  const canBeNative = native !== undefined && offer.formats.includes(native);
  const { cheapCopies } = driver.capabilities;
  const plan = planRefresh({ source: offered, target: known, canBeNative, cheapCopies });
  const parts = plan.parts.map(({ snapshot, base }) => ({
    ...withoutUndefined({ snapshot }),
    ...(plan.isNative ? (base === undefined ? {} : { parent: base }) : { compare: true }),
  }));
  const format = plan.isNative && native !== undefined ? native : 'tar';
  if (lxd === undefined && !offer.formats.includes(format))
    throw new PeerError(`the source sends files as ${offer.formats.join(', ')} only`);
  const wanted = parts.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot]));
  const ofLxd = lxd === undefined ? undefined : answerTo(lxd, wanted, 'refresh', pool);
  const answer = (): Promise<void> =>
    ofLxd === undefined
      ? peer.send({ type: 'answer', version: migrationVersion, format, parts })
      : peer.sendHeader(ofLxd);
  let isAnswered = false;
  const fill = async (part: RefreshPart, { signal }: SagaContext): Promise<void> => {
    if (!isAnswered) await answer();
    isAnswered = true;
    progress.begin(labelOf(ref, part));
    const base = treeOf(ref, part.base);
    const to = treeOf(ofSnapshot(part.snapshot), part.snapshot);
    if (lxd !== undefined && ofLxd !== undefined) {
      const times = part.snapshot === undefined && isTwice(lxd) ? 2 : 1;
      const change = async ({ path }: ChangingTree): Promise<void> => {
        for (let time = 0; time < times; time += 1) await receiveInto(peer, path, featuresOf(ofLxd), progress, signal);
      };
      return driver.deriveVolume(pool, base, to, change, signal);
    }
    if (plan.isNative) {
      const incoming = peer.receiveStream((count) => void progress.add(count));
      const form = { kind: 'native', ...(part.snapshot === undefined ? { replace: true } : {}) } as const;
      await driver.importVolume(pool, to, incoming.bytes, form, signal);
      await incoming.drain();
    } else {
      await receiveChanges(pools, peer, { pool: name, base, to, untrusted }, progress, signal);
    }
    if (part.snapshot !== undefined) return;
    const step = (await peer.receive(MigrationStep)) as MigrationStep;
    if (step.type !== 'sent') throw new PeerError(`the source says ${step.type} where all should be sent`);
  };
  return { plan, fill };
}

export interface LocalSource {
  readonly pool: string;
  readonly volume: VolumeRef;
  /** Set if the source is a snapshot. */
  readonly snapshot: string | undefined;
  /** Absent: the owners on its disk are those of the copy. */
  readonly ownersOf?: (tree: TreeRef) => Promise<OwnerOf | undefined>;
}

/** Trees are cloned where that is cheap and their owners stay, else compared file by file. */
export async function partsFromHere(
  { pools }: Pick<TargetDeps, 'pools'>,
  source: LocalSource,
  target: TargetVolume,
  { offered, known }: Snapshots,
  progress: Progress,
): Promise<PlannedParts> {
  const { cheapCopies } = pools.use(target.pool).driver.capabilities;
  const plan = planRefresh({ source: offered, target: known, canBeNative: false, cheapCopies });
  const canClone = source.pool === target.pool && cheapCopies;
  const isCheap = canClone && (await haveOwnIds(source, plan.parts));
  const fill = (part: RefreshPart, { signal }: SagaContext): Promise<void> =>
    isCheap
      ? cloneHere(pools, source, target, part, signal)
      : compareHere(pools, source, target, part, progress, signal);
  return { plan, fill };
}

const sourceTree = (source: LocalSource, { snapshot }: RefreshPart): TreeRef =>
  treeOf(source.volume, snapshot ?? source.snapshot);

/** Whether all of them have the owners on disk that the container sees, as the copy is recorded to have. A snapshot has those of its time. */
async function haveOwnIds(source: LocalSource, parts: readonly RefreshPart[]): Promise<boolean> {
  for (const part of parts) if ((await source.ownersOf?.(sourceTree(source, part))) !== undefined) return false;
  return true;
}

/** Copies share their blocks, so no comparison is needed. */
async function cloneHere(
  pools: TargetDeps['pools'],
  source: LocalSource,
  target: TargetVolume,
  part: RefreshPart,
  signal: AbortSignal,
): Promise<void> {
  const { driver, pool } = pools.use(target.pool);
  const to = treeOf(target.ref, part.snapshot);
  await driver.deriveVolume(pool, sourceTree(source, part), to, () => Promise.resolve(), signal);
}

async function compareHere(
  pools: TargetDeps['pools'],
  source: LocalSource,
  target: TargetVolume,
  part: RefreshPart,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const [there, here] = [pools.use(source.pool), pools.use(target.pool)];
  const from = sourceTree(source, part);
  const base = treeOf(target.ref, part.base);
  const to = treeOf(target.ofSnapshot(part.snapshot), part.snapshot);
  progress.begin(labelOf(target.ref, part));
  const listing = await listTree(here.driver, here.pool, base, signal);
  const ownerOf = await source.ownersOf?.(from);
  const form = { kind: 'tar', ...withoutUndefined({ ownerOf }) } as const;
  const change = (tree: ChangingTree): Promise<void> =>
    there.driver.exportVolume(
      there.pool,
      from,
      form,
      (archive) => {
        const seen = new Set<string>();
        const changed = counted(changedMembers(archive, listing, seen), progress);
        return applyChanges(tree, listing, changed, () => Promise.resolve(removedNames(listing, seen)));
      },
      signal,
    );
  await here.driver.deriveVolume(here.pool, base, to, change, signal);
}

async function* counted(bytes: AsyncIterable<Buffer>, progress: Progress): AsyncGenerator<Buffer> {
  for await (const piece of bytes) {
    void progress.add(piece.length);
    yield piece;
  }
}

const labelOf = (volume: VolumeRef, { snapshot }: RefreshPart): string =>
  [plainName(volume.name), ...(snapshot === undefined ? [] : [snapshot])].join('/');

/**
 * Makes the parts in one saga, and deletes the stale snapshots: before it those whose names are added again, after it the others.
 * `add` gets the names that are added, and what makes them and the volume.
 */
export async function runPlan(
  { plan, fill }: PlannedParts,
  progress: Progress,
  drop: (snapshot: string) => Promise<void>,
  add: (coming: ReadonlySet<string>, fill: (params: unknown, context: SagaContext) => Promise<void>) => Promise<void>,
): Promise<void> {
  const coming = new Set(plan.parts.flatMap(({ snapshot }) => (snapshot === undefined ? [] : [snapshot])));
  for (const snapshot of plan.stale.filter((one) => coming.has(one))) await drop(snapshot);
  await add(coming, async (_params, context) => {
    for (const part of plan.parts) {
      await fill(part, context);
      progress.end();
    }
  });
  for (const snapshot of plan.stale.filter((one) => !coming.has(one))) await drop(snapshot);
}

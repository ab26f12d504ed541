// Decides the steps inside a container and their order among the other steps: files to write and remove, commands to run and why,
// snapshots to take.
import { mountOf, type Devices } from '../../../server/api/devices/index.ts';
import type { Change } from '../documents/change.ts';
import type { Conflict } from '../diff/walk.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import {
  execsIn,
  filesIn,
  isInside,
  isTriggeredBy,
  pathText,
  shownCommand,
  snapshotFields,
  snapshotsIn,
  triggerOf,
  type ExecSpec,
  type SnapshotSpec,
} from '../documents/inside.ts';
import { mapOf, valueOf } from '../documents/json-values.ts';
import { compareText } from '../text/listing-order.ts';
import { ownedAt, type KeyHash, type OwnerRecord } from '../ownership/owner-records.ts';
import type { FileWrite, SetOwner, WaitStep } from '../plan/plan.ts';
import { isSecret } from '../documents/secret.ts';
import type { Sketch } from '../plan/step-drafts.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** State of the container after the plan. */
export interface Situation {
  /** Absent: the container is new, and no command has run in it. */
  readonly live?: JsonObject;
  /** Commands that ran according to the set's record, by name. */
  readonly ran?: Readonly<Record<string, string>>;
  readonly owner: SetOwner | undefined;
  /** Changes of files and keys. */
  readonly changes: readonly Change[];
  readonly starts: boolean;
  readonly willRun: boolean;
  /** Devices after the plan, if the container is stopped while its files are written: files on their mounts wait for the start. */
  readonly unmounted?: () => Devices;
}

export interface Inside {
  /** Reasons for commands and snapshots; files are among the differences. */
  readonly changes: readonly Change[];
  readonly reasons: readonly string[];
  /** Steps before the owner's record is written: entries that are no longer declared. */
  readonly removal: readonly Sketch[];
  /** Steps after it, and before a start. */
  readonly writing: readonly Sketch[];
  /** Before the commands: files that exist only in the running container. */
  readonly commands: readonly Sketch[];
  readonly snapshots: readonly Sketch[];
  /** Commands that stay recorded as run. */
  readonly ran: Readonly<Record<string, string>>;
}

const nothing: Inside = { changes: [], reasons: [], removal: [], writing: [], commands: [], snapshots: [], ran: {} };

export function decideInside(document: Document, situation: Situation): Inside {
  if (document.kind !== 'container' && document.kind !== 'storage_volume') return nothing;
  const { exec, files, snapshots: named } = document.values;
  if ((exec ?? files ?? named) === undefined) {
    const removal = removalOf(situation.changes);
    return removal.length === 0 ? nothing : { ...nothing, removal };
  }
  const due = situation.willRun ? dueCommands(document, situation) : [];
  const snapshots = missingSnapshots(document, situation.live);
  const { early, late } = fileSketches(document, situation);
  const cleared = new Set(due.map(({ name }) => name));
  const declared = new Set(execsIn(document.values).map(([name]) => name));
  return {
    changes: [...due.map((one) => commandChange(document, one)), ...snapshots.map((one) => one.change)],
    reasons: due.map(({ name, why }) => `${pathText(['exec', name])} runs: ${why}`),
    removal: removalOf(situation.changes),
    writing: early,
    commands: [...late, ...due.map((one) => commandSketch(document, one, situation.owner))],
    snapshots: snapshots.map((one) => one.sketch),
    ran: Object.fromEntries(
      Object.entries(situation.ran ?? {}).filter(([name]) => declared.has(name) && !cleared.has(name)),
    ),
  };
}

/** Changes that a PUT makes; the others are inside the container. */
export const fieldsOf = (changes: readonly Change[]): readonly Change[] =>
  changes.some(({ segments }) => isInside(segments)) ? changes.filter(({ segments }) => !isInside(segments)) : changes;

/** Children are removed before their directory. */
export function removalOf(changes: readonly Change[]): readonly Sketch[] {
  const removes = changes.filter(isRemoval).map(({ segments }) => segments[1] ?? '');
  return removes.length === 0 ? [] : [{ action: 'files', writes: [], removes: removes.sort().reverse() }];
}

const isRemoval = ({ segments, after }: Change): boolean =>
  segments[0] === 'files' && segments.length === 2 && after === undefined;

/** Every file of a new container; only differing files of an existing one. Directories come before their entries. */
function fileSketches(
  document: Document,
  { live, changes, willRun, unmounted }: Situation,
): { readonly early: readonly Sketch[]; readonly late: readonly Sketch[] } {
  const touched = new Set(changes.filter(({ segments }) => segments[0] === 'files').map(({ segments }) => segments[1]));
  const writes = Object.entries(filesIn(document.values))
    .filter(([path]) => live === undefined || touched.has(path))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, entry]): FileWrite => {
      const content = document.contents?.[path];
      return { path, entry, ...withoutUndefined({ content }) };
    });
  const devices = willRun && writes.length > 0 ? (unmounted?.() ?? {}) : {};
  const waits = ({ path }: FileWrite): boolean => mountOf(path, devices) !== undefined;
  const sketchOf = (some: readonly FileWrite[]): readonly Sketch[] =>
    some.length === 0 ? [] : [{ action: 'files', writes: some, removes: [] }];
  return { early: sketchOf(writes.filter((one) => !waits(one))), late: sketchOf(writes.filter(waits)) };
}

interface DueCommand {
  readonly name: string;
  readonly spec: ExecSpec;
  readonly why: string;
  readonly ranBefore: boolean;
}

function dueCommands(document: Document, situation: Situation): readonly DueCommand[] {
  return execsIn(document.values).flatMap(([name, spec]): readonly DueCommand[] => {
    const ran = valueOf(situation.ran ?? {}, name);
    const why = reasonToRun(document, name, spec, situation);
    return why === undefined ? [] : [{ name, spec, why, ranBefore: ran !== undefined }];
  });
}

function reasonToRun(document: Document, name: string, spec: ExecSpec, situation: Situation): string | undefined {
  const { live, owner } = situation;
  if (live === undefined) return 'the container is new';
  if (spec.creates !== undefined) {
    return mapOf(live['made'])[spec.creates] === true ? undefined : `there is no ${spec.creates}`;
  }
  // Without records it is unknown which commands ran.
  if (owner === undefined) return undefined;
  const ran = valueOf(situation.ran ?? {}, name);
  if (ran === undefined) return 'the set has not run it here';
  if (spec.once === true) return undefined;
  if (spec.on_start === true && situation.starts) return 'the container starts';
  const touched = situation.changes.find(({ segments }) =>
    (spec.on_change ?? []).some((trigger) => isTriggeredBy(trigger, segments)),
  );
  if (touched !== undefined) return `${touched.path} changes`;
  return whyMarked(ran, markOf(owner.hash, document.values, spec, startedAt(live)));
}

/** The last start, if the server reports it. */
export const startedAt = (live: JsonObject): string =>
  typeof live['last_used_at'] === 'string' ? live['last_used_at'] : '';

/** The record of a run: keyed hashes of the command, of its triggers, and of the start before it. */
export function markOf(hash: KeyHash, values: JsonObject, spec: ExecSpec, started: string): string {
  const { command, part, triggers } = markTexts(values, spec);
  return joinMark(hash, command, triggers, part ? started : '');
}

export const joinMark = (hash: KeyHash, command: string, triggers: string, started: string): string =>
  [command, triggers, started].map((text) => (text === '' ? '' : hash(`exec\0${text}`))).join('.');

function markTexts(
  values: JsonObject,
  spec: ExecSpec,
): { readonly command: string; readonly triggers: string; readonly part: boolean } {
  const { command, environment = {}, cwd = '', user = 0, group = 0 } = spec;
  const triggers = [
    ...(spec.on_change ?? []).map((name): Json => [name, triggerOf(values, name)]),
    ...Object.entries(spec.triggers ?? {}).sort(([a], [b]) => compareText(a, b)),
  ];
  return {
    command: JSON.stringify([
      command,
      Object.entries(environment).sort(([a], [b]) => compareText(a, b)),
      cwd,
      user,
      group,
    ]),
    triggers: triggers.length === 0 ? '' : JSON.stringify(triggers),
    part: spec.on_start === true,
  };
}

function whyMarked(ran: string, mark: string): string | undefined {
  const [before, now] = [ran.split('.'), mark.split('.')];
  if (before[0] !== now[0]) return 'the command differs from the one that ran';
  if (before[1] !== now[1]) return 'its triggers changed';
  return before[2] === now[2] ? undefined : 'the container has started since then';
}

function commandChange(document: Document, { name, spec, ranBefore }: DueCommand): Change {
  const segments = ['exec', name];
  const declared = document.secrets ?? [];
  // Some words of a command may be secret.
  const words = spec.command.map((word, index) =>
    declared.includes(`exec.${name}.command.${index}`) ? '(secret)' : word,
  );
  const shown = shownCommand(words);
  return {
    path: pathText(segments),
    segments,
    before: ranBefore ? 'ran' : undefined,
    after: shown,
    effect: 'live',
    secret: isSecret([], shown),
  };
}

function commandSketch(document: Document, { name, spec }: DueCommand, owner: SetOwner | undefined): Sketch {
  const { command, triggers, part } = markTexts(document.values, spec);
  const hidden = Object.entries(spec.environment ?? {})
    .filter(([key]) => document.secrets?.includes(`exec.${name}.environment.${key}`) === true)
    .map(([, value]) => value);
  const words = spec.command.filter((_, index) => document.secrets?.includes(`exec.${name}.command.${index}`) === true);
  return {
    action: 'exec',
    exec: name,
    spec,
    hidden: [...hidden, ...words],
    ...(owner === undefined ? {} : { mark: { set: owner.set, command, triggers, isPerStart: part } }),
  };
}

interface MissingSnapshot {
  readonly change: Change;
  readonly sketch: Sketch;
}

/** A declared snapshot that does not exist is taken once; its expiry and description follow the document. None is ever deleted. */
function missingSnapshots(document: Document, live: JsonObject | undefined): readonly MissingSnapshot[] {
  const taken = mapOf(live?.['snapshots']);
  return snapshotsIn(document.values).flatMap(([name, spec]): readonly MissingSnapshot[] => {
    const now = valueOf(taken, name);
    if (now === undefined)
      return [snapshotStep(name, spec, { before: undefined, after: spec as unknown as JsonObject })];
    const { expired, ...found } = mapOf(now);
    if (expired === true) return [];
    const differs = snapshotFields.filter((key) => spec[key] !== undefined && spec[key] !== found[key]);
    return differs.map((key) => snapshotStep(name, spec, { key, before: found[key] ?? '', after: spec[key] ?? '' }));
  });
}

/** Conflicts with other sets about existing snapshots. */
export function snapshotConflicts(
  document: Document,
  live: JsonObject,
  others: ReadonlyMap<string, OwnerRecord> | undefined,
): readonly Conflict[] {
  if (others === undefined || others.size === 0) return [];
  return missingSnapshots(document, live).flatMap(({ change: { segments } }) =>
    [...others].flatMap(([set, { keys }]) =>
      typeof ownedAt(keys, segments) === 'string' ? [{ set, path: segments }] : [],
    ),
  );
}

function snapshotStep(
  name: string,
  spec: SnapshotSpec,
  { key, before, after }: { readonly key?: string; readonly before: Json | undefined; readonly after: Json },
): MissingSnapshot {
  const segments = ['snapshots', name, ...(key === undefined ? [] : [key])];
  return {
    change: { path: pathText(segments), segments, before, after, effect: 'live', secret: false },
    sketch: { action: 'snapshot', snapshot: name, spec, isNew: key === undefined },
  };
}

/** Waits for a boot come before the commands; waits for their results (an open port, a file) come after them. */
export function withCommands(sketches: readonly Sketch[], commands: readonly Sketch[]): readonly Sketch[] {
  if (commands.length === 0) return sketches;
  const isOfService = (sketch: Sketch): boolean => sketch.action === 'wait' && !boots.has(sketch.condition.type);
  return [...sketches.filter((one) => !isOfService(one)), ...commands, ...sketches.filter(isOfService)];
}

const boots: ReadonlySet<WaitStep['condition']['type']> = new Set(['running', 'ipv4', 'ipv6', 'cloud-init']);

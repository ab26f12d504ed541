// Decides about an object that is not on the server yet.
import { formatBytes } from '../../../server/api/text/byte-size.ts';
import { ownerOfNew } from '../diff/decide-ownership.ts';
import { diffObject } from '../diff/diff.ts';
import type { Change } from '../documents/change.ts';
import type { Document, Json } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import { sourceName } from '../kinds/image-source.ts';
import { coreKind } from '../kinds/index.ts';
import { parseIgnore } from '../ownership/ignored-paths.ts';
import { guardCreate } from '../live/away-members.ts';
import { createBody, creationFacts } from '../plan/creation-bodies.ts';
import { start, waits, type Sketch } from '../plan/step-drafts.ts';
import { bodyForMembers, targetOf } from '../settings/cluster-members.ts';
import { decideInside, withCommands, type Inside } from './decide-inside.ts';
import type { Decision } from './decision.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import type { PlanContext } from './plan-context.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export function decideCreate(document: Document, context: PlanContext): Decision {
  const owner = ownerOfNew(document, parseIgnore(document.manage.ignore), context.owner);
  const isContainer = document.kind === 'container';
  const starts = isContainer && document.manage.power === 'managed' && document.state !== 'stopped';
  const inside = insideOfNew(document, context, starts);
  const guard = guardCreate(document, context.observed);
  return {
    change: {
      ...unchangedObject(document),
      action: 'create',
      ...(starts ? { power: 'start' as const } : {}),
      changes: [...createChanges(document), ...inside.changes],
      reasons: whyCreate(document),
      isProtected: document.manage.protect,
      ...withoutUndefined({ guard }),
    },
    sketches:
      guard !== undefined
        ? []
        : [
            {
              action: 'create',
              body: bodyForMembers(document, createBody(document), context.observed),
              ...targetOf(document, undefined, context.observed),
              ...creationFacts(document),
              ...withoutUndefined({ owner }),
            },
            ...afterCreation(document, inside, starts),
          ],
  };
}

/** All written values as changes from nothing, including the source of a container. */
function createChanges(document: Document): readonly Change[] {
  const rules = { ignore: parseIgnore([]), secrets: document.secrets };
  const { changes } = diffObject(coreKind(document.kind), document.values, {}, rules);
  const { source } = document.values;
  const shown = source === undefined ? changes : [...changes, sourceChange(source)];
  return shown.map((change) => (change.effect === 'live' ? change : { ...change, effect: 'live' }));
}

const sourceChange = (source: Json): Change => ({
  path: 'source',
  segments: ['source'],
  before: undefined,
  after: source,
  effect: 'live',
  secret: false,
});

/** The action already shows that the object does not exist; for an image the fingerprint explains it. */
function whyCreate({ files, kind, values }: Document): readonly string[] {
  if (kind === 'image' && values['source'] !== undefined)
    return [`the server has no image from ${sourceName(mapOf(values['source']))}: it is fetched there`];
  if (kind !== 'image') return coreKind(kind).warnsAtCreation?.(values) ?? [];
  if (files?.fingerprint === undefined) return [];
  const names = 'file' in files.parts ? [files.parts.file] : [files.parts.metadata, files.parts.rootfs];
  const size = files.sizeBytes === undefined ? '' : `, ${formatBytes(files.sizeBytes)}`;
  const shown = names.map((name) => name.slice(name.lastIndexOf('/') + 1)).join(' and ');
  return [`the server has no image ${files.fingerprint.slice(0, 12)} (${shown}${size})`];
}

/** A new container: every file is written, every command runs, every snapshot is taken. */
export const insideOfNew = (document: Document, context: PlanContext, willRun: boolean): Inside =>
  decideInside(document, {
    owner: context.owner,
    changes: [],
    starts: willRun,
    willRun,
    unmounted: () => context.devicesAfter(document, undefined),
  });

/** Files are written before the first start, except on what it mounts. */
export const afterCreation = (document: Document, inside: Inside, starts: boolean): readonly Sketch[] => [
  ...inside.writing,
  ...withCommands(starts ? [start, ...waits(document)] : [], inside.commands),
  ...inside.snapshots,
];

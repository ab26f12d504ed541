// Decides about one object: leave, create, update or replace it, what happens to its power, and what stands in the way.
import type { Effect } from '../../../server/api/schema/field.ts';
import { formatBytes } from '../../../server/api/text/byte-size.ts';
import { isTrue } from '../../../server/api/container/container-config.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { createBody, creationFacts, replacementBody } from '../plan/creation-bodies.ts';
import type { Change } from '../documents/change.ts';
import type { PlanContext } from './plan-context.ts';
import { decideInside, fieldsOf, snapshotConflicts, withCommands, type Inside } from './decide-inside.ts';
import { decidePower, effectOfOwnChanges, type PowerDecision } from './decide-power.ts';
import { diffObject, type Diff, type Ownership } from '../diff/diff.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import {
  ownerOfNew,
  ownershipAfter,
  ownershipBefore,
  usageAddress,
  type OwnershipDecision,
} from '../diff/decide-ownership.ts';
import { worstEffect } from '../settings/setting-effects.ts';
import { inUseGuard, listed, protectedGuard } from '../plan/guards.ts';
import { parseIgnore } from '../ownership/ignored-paths.ts';
import { asideAsItWas, asideFor, nextImage, withoutNotes } from '../live/image-updates.ts';
import { sourceName } from '../kinds/image-source.ts';
import { coreKind } from '../kinds/index.ts';
import { mapOf } from '../documents/json-values.ts';
import { bodyForMembers, targetOf } from '../settings/cluster-members.ts';
import type { Live } from '../documents/observed.ts';
import { recordsIn } from '../ownership/owner-records.ts';
import { allows, lookedAt, policyGuard } from '../diff/policy.ts';
import type { Affected, Guard, ResourceChange } from '../plan/plan.ts';
import { deleting, kill, start, waits, type Sketch } from '../plan/step-drafts.ts';
import { isRunning } from '../live/usage.ts';

export interface Decision {
  readonly change: Omit<ResourceChange, 'steps'>;
  /** Empty when nothing is to do or a guard stands in the way. */
  readonly sketches: readonly Sketch[];
}

const noStrings: readonly string[] = [];
const noAffected: readonly Affected[] = [];

const base = (document: Document): Pick<ResourceChange, 'address' | 'kind' | 'name' | 'secrets'> => ({
  address: document.address,
  kind: document.kind,
  name: document.name,
  ...(document.secrets === undefined ? {} : { secrets: document.secrets }),
});

export function decideObject(document: Document, context: PlanContext): Decision {
  const kind = coreKind(document.kind);
  const aside = document.kind === 'container' ? asideFor(document, context.observed) : undefined;
  const live =
    aside === undefined ? kind.live(context.observed, kind.apiName(document)) : asideAsItWas(aside, document);
  if (live === undefined) {
    if (document.kind === 'profile') context.addNewProfile(document.name, createBody(document));
    return decideCreate(document, context);
  }
  const ignore = parseIgnore(document.manage.ignore);
  const before = ownershipBefore(document, live.object, context.observed, context.owner);
  const { values, secrets } = document;
  const found = diffObject(kind, values, live.object, ignore, before, secrets, context.compareSeeds);
  const conflicts = snapshotConflicts(document, live.object as JsonObject, before?.others);
  const diff = conflicts.length === 0 ? found : { ...found, conflicts: [...found.conflicts, ...conflicts] };
  if (!allows(document.manage, 'update')) return { change: lookedAt(document, live, diff), sketches: [] };
  const decision = decideExisting(document, live, aside !== undefined, diff, before, context);
  return diff.ignored.length === 0 ? decision : { ...decision, change: { ...decision.change, ignored: diff.ignored } };
}

function decideExisting(
  document: Document,
  live: Live<object>,
  isAside: boolean,
  diff: Diff,
  before: Ownership | undefined,
  context: PlanContext,
): Decision {
  const ignore = parseIgnore(document.manage.ignore);
  const isTaking = context.options.forceConflicts === true;
  const ownership = ownershipAfter(document, before, diff, ignore, context.owner, isTaking);
  if (document.kind === 'profile' && diff.changes.length > 0 && ownership.guard === undefined)
    context.addProfileEdits(document.name, diff.changes);
  const isForced = context.isForced(document.address);
  const next = nextImage(document, live.object as JsonObject, (alias) => context.aliasTarget(alias, document.project));
  // An ephemeral one is gone as soon as it stops.
  const canStandAside = (live.object as JsonObject)['ephemeral'] !== true;
  if (isAside || (next !== undefined && document.manage.image === 'rebuild' && canStandAside)) {
    return decideRebuild(document, live, diff, ownership, next, context);
  }
  if (next !== undefined) return decideReplace(document, live, diff, context, ownership, false, next);
  return isForced || needsRecreation(diff, document, live, context)
    ? decideReplace(document, live, diff, context, ownership, isForced)
    : decideUpdate(document, live, diff, context, ownership);
}

function decideCreate(document: Document, context: PlanContext): Decision {
  const owner = ownerOfNew(document, parseIgnore(document.manage.ignore), context.owner);
  const isContainer = document.kind === 'container';
  const starts = isContainer && document.manage.power === 'managed' && document.state !== 'stopped';
  const inside = insideOfNew(document, context, starts);
  return {
    change: {
      ...base(document),
      action: 'create',
      ...(starts ? { power: 'start' as const } : {}),
      changes: [...createChanges(document), ...inside.changes],
      effect: 'live',
      reasons: whyCreate(document),
      unmanaged: noStrings,
      claims: noStrings,
      releases: noStrings,
      affects: noAffected,
      isProtected: document.manage.protect,
    },
    sketches: [
      {
        action: 'create',
        body: bodyForMembers(document, createBody(document), context.observed),
        ...targetOf(document, undefined, context.observed),
        ...creationFacts(document),
        ...(owner === undefined ? {} : { owner }),
      },
      ...afterCreation(document, inside, starts),
    ],
  };
}

/** Nothing of an old one is left: every file is written, every command runs, every snapshot is taken. */
const insideOfNew = (document: Document, context: PlanContext, willRun: boolean): Inside =>
  decideInside(document, { owner: context.owner, changes: [], starts: willRun, willRun });

/** Files are there before the first start. */
const afterCreation = (document: Document, inside: Inside, starts: boolean): readonly Sketch[] => [
  ...inside.writing,
  ...withCommands(starts ? [start, ...waits(document)] : [], inside.commands),
  ...inside.snapshots,
];

/** Everything that is written, as changes from nothing; what a container is made from among them. */
function createChanges(document: Document): readonly Change[] {
  const { changes } = diffObject(
    coreKind(document.kind),
    document.values,
    {},
    parseIgnore([]),
    undefined,
    document.secrets,
  );
  const { source } = document.values;
  const told = source === undefined ? changes : [...changes, sourceChange(source)];
  return told.map((change) => (change.effect === 'live' ? change : { ...change, effect: 'live' }));
}

const sourceChange = (source: Json): Change => ({
  path: 'source',
  segments: ['source'],
  before: undefined,
  after: source,
  effect: 'live',
  secret: false,
});

/** That something does not exist is plain from its creation; of an image only the fingerprint says so. */
function whyCreate({ files, kind, values }: Document): readonly string[] {
  if (kind === 'image' && values['source'] !== undefined)
    return [`the server has no image from ${sourceName(mapOf(values['source']))}: it is fetched there`];
  if (kind !== 'image') return coreKind(kind).warnsAtCreation?.(values) ?? noStrings;
  if (files?.fingerprint === undefined) return noStrings;
  const names = 'file' in files.parts ? [files.parts.file] : [files.parts.metadata, files.parts.rootfs];
  const size = files.sizeBytes === undefined ? '' : `, ${formatBytes(files.sizeBytes)}`;
  const shown = names.map((name) => name.slice(name.lastIndexOf('/') + 1)).join(' and ');
  return [`the server has no image ${files.fingerprint.slice(0, 12)} (${shown}${size})`];
}

/** Profile edits that would force recreation are refused at the profile, so only the container's own part counts here. */
function needsRecreation(diff: Diff, document: Document, live: Live<object>, context: PlanContext): boolean {
  if (diff.changes.length === 0) return false;
  if (document.kind !== 'container') return diff.changes.some((change) => change.effect === 'recreate');
  if (diff.changes.some((change) => change.path === 'architecture')) return true;
  return effectOfOwnChanges(live.object as JsonObject, diff.changes, context) === 'recreate';
}

function decideReplace(
  document: Document,
  live: Live<object>,
  diff: Diff,
  context: PlanContext,
  ownership: OwnershipDecision,
  isForced: boolean,
  next?: NextImage,
): Decision {
  const guard = ownership.guard ?? guardReplace(document, live, diff, context, isForced || next !== undefined);
  const isContainer = document.kind === 'container';
  const wasRunning = isContainer && isRunning(live.object as Parameters<typeof isRunning>[0]);
  const starts = isContainer && (document.manage.power === 'ignore' ? wasRunning : document.state !== 'stopped');
  const inside = insideOfNew(document, context, starts);
  const culprits = diff.changes.filter((change) => change.effect === 'recreate').map((change) => change.path);
  const why = culprits.length > 0 ? culprits.join(', ') : diff.changes.map((change) => change.path).join(', ');
  const sketches: readonly Sketch[] = [
    ...(wasRunning ? [kill] : []),
    deleting(live.etag),
    {
      action: 'create',
      body: bodyForMembers(
        document,
        madeOf(replacementBody(document, live.object, fieldsOf(diff.changes)), next),
        context.observed,
      ),
      ...targetOf(document, live.object, context.observed),
      ...creationFacts(document),
      ...(ownership.owner === undefined ? {} : { owner: { ...ownership.owner, whole: true, ran: {} } }),
    },
    ...afterCreation(document, inside, starts),
  ];
  return {
    change: {
      ...base(document),
      action: 'replace',
      changes: [...diff.changes, ...imageChange(next), ...inside.changes],
      effect: 'recreate',
      reasons: [
        next !== undefined
          ? whyNext(next)
          : isForced
            ? 'recreation was asked for'
            : `${why} cannot be changed in place`,
      ],
      unmanaged: diff.unmanaged,
      claims: ownership.claims,
      releases: ownership.releases,
      affects: noAffected,
      live: live.object,
      isProtected: isProtected(document, live),
      ...(guard === undefined ? {} : { guard }),
    },
    sketches: guard === undefined ? sketches : [],
  };
}

type NextImage = NonNullable<ReturnType<typeof nextImage>>;

const whyNext = ({ from, to }: NextImage): string =>
  `its image moved on from ${from.slice(0, 12)} to ${to.slice(0, 12)}: its root file system is lost`;

/** Exactly the image that was looked at, wherever the alias points by then. */
const madeOf = (body: JsonObject, next: NextImage | undefined): JsonObject =>
  next === undefined ? body : { ...body, source: { type: 'image', fingerprint: next.to } };

const imageChange = (next: NextImage | undefined): readonly Change[] =>
  next === undefined
    ? []
    : [
        {
          path: 'source',
          segments: ['source'],
          before: { type: 'image', fingerprint: next.from },
          after: { type: 'image', fingerprint: next.to },
          effect: 'recreate',
          secret: false,
        },
      ];

/** A new container in the place of the old one, which stands aside until the new one is ready. */
function decideRebuild(
  document: Document,
  live: Live<object>,
  diff: Diff,
  ownership: OwnershipDecision,
  next: NextImage | undefined,
  context: PlanContext,
): Decision {
  const guard =
    ownership.guard ??
    (isProtected(document, live) ? protectedGuard(document.address, 'rebuild') : policyGuard(document, 'rebuild'));
  const wasRunning = isRunning(live.object as Parameters<typeof isRunning>[0]);
  const starts = document.manage.power === 'ignore' ? wasRunning : document.state !== 'stopped';
  const inside = insideOfNew(document, context, starts);
  const body = replacementBody(document, live.object, fieldsOf(diff.changes));
  const { owner } = ownership;
  const sketch: Sketch = {
    action: 'rebuild',
    body: madeOf({ ...body, config: withoutNotes(mapOf(body['config'])) }, next),
    ...targetOf(document, live.object, context.observed),
    ...(owner === undefined ? {} : { owner: { ...owner, whole: true, ran: {} } }),
    afterwards: afterCreation(document, inside, starts),
  };
  const kept =
    'its name, MAC addresses, config, devices and custom volumes stay; until the new one is ready the old one stands aside';
  return {
    change: {
      ...base(document),
      action: 'replace',
      isRebuilt: true,
      changes: [...diff.changes, ...imageChange(next), ...inside.changes],
      effect: 'recreate',
      reasons: [next === undefined ? 'an earlier run began to rebuild it and did not end' : whyNext(next), kept],
      unmanaged: diff.unmanaged,
      claims: ownership.claims,
      releases: ownership.releases,
      affects: noAffected,
      live: live.object,
      isProtected: isProtected(document, live),
      ...(guard === undefined ? {} : { guard }),
    },
    sketches: guard === undefined ? [sketch] : [],
  };
}

function guardReplace(
  document: Document,
  live: Live<object>,
  diff: Diff,
  context: PlanContext,
  isForced: boolean,
): Guard | undefined {
  const { address } = document;
  if (isProtected(document, live)) return protectedGuard(address, 'replace');
  const policy = policyGuard(document, 'replace');
  if (policy !== undefined) return policy;
  const users = context.usersOf(usageAddress(document));
  if (document.kind !== 'container' && users.length > 0) return inUseGuard(address, 'replace', users);
  const isAllowed = isForced || context.options.allowRecreate === true || document.manage.disruption === 'recreate';
  if (isAllowed) return undefined;
  return {
    code: 'disruption',
    address,
    message: `${address} would be deleted and created again, its data lost: ${diff.changes.map((change) => change.path).join(', ')}`,
    remedy: 'set manage.disruption: recreate, run with --allow-recreate, or take the change back',
  };
}

function decideUpdate(
  document: Document,
  live: Live<object>,
  diff: Diff,
  context: PlanContext,
  ownership: OwnershipDecision,
): Decision {
  const fields = fieldsOf(diff.changes);
  const power = decidePower(document, live.object as JsonObject, fields, context);
  const inside = insideOfExisting(document, live, diff, power, context);
  const affects = affectedOf(document, diff, context);
  const guard = ownership.guard ?? power.guard ?? guardStuck(document, live, diff) ?? guardReach(document, affects);
  const edits = inside.changes.length === 0 ? diff.changes : [...diff.changes, ...inside.changes];
  const { owner } = ownership;
  // What was written is known by its hash, and what depends on it is to run again whatever becomes of this run.
  const isNoted = owner !== undefined && fields.length < diff.changes.length;
  const sketches: readonly Sketch[] = [
    ...inside.removal,
    ...(fields.length === 0 && !ownership.isNew && !isNoted
      ? []
      : [
          {
            action: 'update' as const,
            edits: fields,
            ...(owner === undefined
              ? {}
              : { owner: document.kind === 'container' ? { ...owner, ran: inside.ran } : owner }),
            ...(live.etag === undefined ? {} : { etag: live.etag }),
          },
        ]),
    ...inside.writing,
    ...withCommands(power.sketches, inside.commands),
    ...inside.snapshots,
  ];
  return {
    change: {
      ...base(document),
      action: edits.length === 0 ? 'no-op' : 'update',
      ...(power.action === undefined ? {} : { power: power.action }),
      changes: power.isRunning ? edits : calmed(edits, document),
      effect: document.kind === 'container' ? power.effect : worstEffect(affects.map((item) => item.effect)),
      reasons: inside.reasons.length === 0 ? power.reasons : [...power.reasons, ...inside.reasons],
      unmanaged: diff.unmanaged,
      claims: claimsOf(ownership, edits),
      releases: ownership.releases,
      ...(ownership.isTakeover === true && sketches.length === 1 && edits.length === 0 ? { isTakeover: true } : {}),
      affects,
      live: live.object,
      isProtected: isProtected(document, live),
      ...(guard === undefined ? {} : { guard }),
    },
    sketches: guard === undefined ? sketches : [],
  };
}

function insideOfExisting(
  document: Document,
  live: Live<object>,
  diff: Diff,
  power: PowerDecision,
  { owner }: PlanContext,
): Inside {
  const ran = owner === undefined ? undefined : recordsIn(live.object).get(owner.set)?.ran;
  // No command ends in a frozen container.
  const isStill = (live.object as JsonObject)['status_code'] === statusCodes.frozen && power.action === undefined;
  return decideInside(document, {
    live: live.object as JsonObject,
    ...(ran === undefined ? {} : { ran }),
    owner,
    changes: diff.changes,
    starts: (power.action === 'start' && !power.isRunning) || power.action === 'restart',
    willRun: power.action === 'start' || (power.isRunning && power.action !== 'stop' && !isStill),
  });
}

/** A record that changes in nothing but its policy is a claim of the whole. */
const claimsOf = ({ isNew, claims, releases }: OwnershipDecision, edits: readonly Change[]): readonly string[] =>
  isNew && claims.length + releases.length + edits.length === 0
    ? ['']
    : claims.filter((path) => !edits.some((edit) => path.startsWith(`${edit.path}.`)));

/** On a stopped container every change that needs a restart is live. */
const calmed = (changes: readonly Change[], document: Document): readonly Change[] =>
  document.kind === 'container' && changes.some((change) => change.effect === 'restart')
    ? changes.map((change) => (change.effect === 'restart' ? { ...change, effect: 'live' as const } : change))
    : changes;

function affectedOf(document: Document, diff: Diff, context: PlanContext): readonly Affected[] {
  if (diff.changes.length === 0 || document.kind === 'container') return noAffected;
  const isProfile = document.kind === 'profile';
  return context.affectedBy(usageAddress(document), (container): Effect | undefined =>
    isProfile ? context.effectOfProfile(container, document.name) : 'live',
  );
}

function guardStuck({ kind, name, address }: Document, live: Live<object>, { changes }: Diff): Guard | undefined {
  const stuck = coreKind(kind).stuck?.(name, live.object as JsonObject, changes);
  return stuck === undefined ? undefined : { code: 'in-use', address, ...stuck };
}

function guardReach(document: Document, affects: readonly Affected[]): Guard | undefined {
  const stuck = affects.filter((item) => item.effect === 'recreate').map((item) => item.address);
  if (stuck.length === 0) return undefined;
  return {
    code: 'in-use',
    address: document.address,
    message: `${document.address} cannot be changed so while ${listed(stuck)} relies on it: a root disk cannot move to another pool in place`,
    remedy: 'put the new root disk into another profile and move the containers one by one',
  };
}

export function isProtected(document: Document, live: Live<object> | undefined): boolean {
  if (document.manage.protect) return true;
  if (document.kind !== 'container' || live === undefined) return false;
  const key = mapOf((live.object as JsonObject)['config'])['security.protection.delete'];
  return isTrue(typeof key === 'string' ? key : undefined);
}

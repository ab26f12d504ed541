// Decides to replace an object: delete and create it, or rebuild it beside the old one, which is kept until the new one is ready.
import { type OwnershipDecision, recordsOf, usageAddress } from '../diff/decide-ownership.ts';
import type { Diff } from '../diff/diff.ts';
import { policyGuard } from '../diff/policy.ts';
import type { Change } from '../documents/change.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Live } from '../documents/observed.ts';
import { withoutNotes, type nextImage } from '../live/image-updates.ts';
import { isRunning } from '../live/usage.ts';
import { creationFacts, replacementBody } from '../plan/creation-bodies.ts';
import { otherPlace } from '../ownership/place.ts';
import { elsewhereGuard, inUseGuard, protectedGuard } from '../plan/guards.ts';
import type { Guard } from '../plan/plan.ts';
import { deleting, kill, type Sketch } from '../plan/step-drafts.ts';
import { bodyForMembers, targetOf } from '../settings/cluster-members.ts';
import { afterCreation, insideOfNew } from './decide-create.ts';
import { fieldsOf, type Inside } from './decide-inside.ts';
import { isProtected, type Decision } from './decision.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';
import type { PlanContext } from './plan-context.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** An existing object with its differences from the document. */
interface Existing {
  readonly document: Document;
  readonly live: Live<object>;
  readonly diff: Diff;
  readonly ownership: OwnershipDecision;
  readonly context: PlanContext;
  /** The image that the container gets. */
  readonly next: NextImage | undefined;
}

type NextImage = NonNullable<ReturnType<typeof nextImage>>;

export function decideReplace(existing: Existing, isForced: boolean): Decision {
  const { document, live, diff, context, ownership, next } = existing;
  const guard =
    ownership.guard ?? guardOtherPlace(existing, 'replace') ?? guardReplace(existing, isForced || next !== undefined);
  const isContainer = document.kind === 'container';
  const wasRunning = isContainer && isRunning(live.object as Parameters<typeof isRunning>[0]);
  const { starts, inside } = insideOfReplaced(existing, wasRunning);
  const culprits = diff.changes.filter((change) => change.effect === 'recreate');
  const why = pathsOf(culprits.length > 0 ? culprits : diff.changes);
  const reason =
    next !== undefined ? whyNext(next) : isForced ? 'recreation was requested' : `${why} cannot be changed in place`;
  const body = sourcedFrom(replacementBody(document, live.object, fieldsOf(diff.changes)), next);
  return decisionOf(
    existing,
    guard,
    inside,
    [reason],
    [
      ...(wasRunning ? [kill] : []),
      deleting(live.etag),
      {
        action: 'create',
        body: bodyForMembers(document, body, context.observed),
        ...targetOf(document, live.object, context.observed),
        ...creationFacts(document),
        ...ownerOf(ownership),
      },
      ...afterCreation(document, inside, starts),
    ],
  );
}

/** A new container replaces the old one, which is kept under another name until the new one is ready. */
export function decideRebuild(existing: Existing): Decision {
  const { document, live, diff, context, ownership, next } = existing;
  const guard =
    ownership.guard ??
    guardOtherPlace(existing, 'rebuild') ??
    (isProtected(document, live) ? protectedGuard(document.address, 'rebuild') : policyGuard(document, 'rebuild'));
  const { starts, inside } = insideOfReplaced(existing, isRunning(live.object as Parameters<typeof isRunning>[0]));
  const body = replacementBody(document, live.object, fieldsOf(diff.changes));
  const reasons = [
    next === undefined ? 'an earlier run began to rebuild it and did not finish' : whyNext(next),
    'its name, MAC addresses, config, devices and custom volumes stay; the old one is kept until the new one is ready',
  ];
  const { change, sketches } = decisionOf(existing, guard, inside, reasons, [
    {
      action: 'rebuild',
      body: sourcedFrom({ ...body, config: withoutNotes(mapOf(body['config'])) }, next),
      ...targetOf(document, live.object, context.observed),
      ...ownerOf(ownership),
      afterwards: afterCreation(document, inside, starts),
    },
  ]);
  return { change: { ...change, isRebuilt: true }, sketches };
}

function decisionOf(
  { document, live, diff, ownership, next }: Existing,
  guard: Guard | undefined,
  inside: Inside,
  reasons: readonly string[],
  sketches: readonly Sketch[],
): Decision {
  return {
    change: {
      ...unchangedObject(document),
      action: 'replace',
      changes: [...diff.changes, ...imageChange(next), ...inside.changes],
      effect: 'recreate',
      reasons,
      unmanaged: diff.unmanaged,
      claims: ownership.claims,
      releases: ownership.releases,
      live: live.object,
      isProtected: isProtected(document, live),
      ...withoutUndefined({ guard }),
    },
    sketches: guard === undefined ? sketches : [],
  };
}

function insideOfReplaced(
  { document, context }: Existing,
  wasRunning: boolean,
): { readonly starts: boolean; readonly inside: Inside } {
  const starts =
    document.kind === 'container' && (document.manage.power === 'ignore' ? wasRunning : document.state !== 'stopped');
  return { starts, inside: insideOfNew(document, context, starts) };
}

const ownerOf = ({ owner }: OwnershipDecision): Pick<Extract<Sketch, { action: 'rebuild' }>, 'owner'> =>
  owner === undefined ? {} : { owner: { ...owner, whole: true, ran: {} } };

const pathsOf = (changes: readonly Change[]): string => changes.map((change) => change.path).join(', ');

const whyNext = ({ from, to }: NextImage): string =>
  `its image moved on from ${from.slice(0, 12)} to ${to.slice(0, 12)}: its root file system is lost`;

/** The image of the plan, even if its alias moves before the step runs. */
const sourcedFrom = (body: JsonObject, next: NextImage | undefined): JsonObject =>
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

/** The guard of an object without differences. */
function guardOtherPlace({ document, live, context }: Existing, verb: string): Guard | undefined {
  const { owner, observed } = context;
  if (owner === undefined) return undefined;
  const record = recordsOf(document, live.object, observed).get(owner.set);
  const elsewhere = otherPlace(record?.place, owner.place);
  return elsewhere === undefined ? undefined : elsewhereGuard(document.address, verb, owner.set, elsewhere);
}

function guardReplace({ document, live, diff, context }: Existing, isForced: boolean): Guard | undefined {
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
    message: `${address} would be deleted and created again, its data lost: ${pathsOf(diff.changes)}`,
    remedy: 'set manage.disruption: recreate, run with --allow-recreate, or revert the change',
  };
}

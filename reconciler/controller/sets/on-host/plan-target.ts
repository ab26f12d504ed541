// The plan of a target on one host, narrowed by a restraint. Throws with errors that belong to no object.
import { coreKind } from '../../../core/kinds/index.ts';
import type { Document } from '../../../core/documents/document.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import type { SetPlace } from '../../../core/ownership/place.ts';
import type { Guard, PlanOptions } from '../../../core/plan/plan.ts';
import { makePlan, requireSound, type MadePlan } from '../../../engine/runs/make-plan.ts';
import { planAround } from '../../decide/plan-around.ts';
import type { LoadedSet } from '../load-revision.ts';
import { cleaned } from '../../decide/withhold.ts';
import { restrained, type Restraint } from '../../decide/restrain.ts';

export interface TargetPlan {
  readonly loaded: LoadedSet;
  /** Its name in the notes on the host. */
  readonly set: string;
  readonly options: PlanOptions;
  readonly restraint: Restraint;
  /** Where the documents are declared. */
  readonly place: SetPlace;
}

export function planTarget(observed: Observed, { loaded, set, options, restraint, place }: TargetPlan): MadePlan {
  const exists = (document: Document): boolean => {
    const kind = coreKind(document.kind);
    return kind.live(observed, kind.apiName(document)) !== undefined;
  };
  const narrowed = restrained(loaded.loaded.documents, options, restraint, exists);
  const { exclude = [] } = narrowed.options;
  const made = planAround(narrowed.documents, (broken) =>
    makePlan(observed, {
      documents: narrowed.documents,
      options: { ...narrowed.options, exclude: [...exclude, ...broken], awaitsExcluded: true },
      set,
      mode: 'apply',
      images: loaded.pins,
      place,
    }),
  );
  requireSound(made);
  return withCleanGuards(made, loaded.loaded.documents);
}

/** Removes secrets from guards, which quote values of documents and are visible to everybody. */
function withCleanGuards(made: MadePlan, documents: readonly Document[]): MadePlan {
  const { plan } = made;
  if (plan.guards.length === 0) return made;
  const known = new Map<Guard, Guard>();
  const clean = (guard: Guard): Guard => {
    const { message, remedy } = guard;
    const found = known.get(guard) ?? {
      ...guard,
      message: cleaned(message, documents),
      remedy: cleaned(remedy, documents),
    };
    known.set(guard, found);
    return found;
  };
  const changes = plan.changes.map((one) => (one.guard === undefined ? one : { ...one, guard: clean(one.guard) }));
  return { ...made, plan: { ...plan, changes, guards: plan.guards.map(clean) } };
}

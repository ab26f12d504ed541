// Holds the deletion of objects with data back: it comes after everything else in the plan, and never while a declared object is missing,
// which may be the same data under another name. Pure.
import { rivalsOf } from '../clashes/containers.ts';
import { expectedContainers } from '../clashes/expected-containers.ts';
import type { Address, Document } from '../documents/document.ts';
import { behind } from '../graph/waves.ts';
import { coreKind } from '../kinds/index.ts';
import type { Guard, ResourceChange, Step } from '../plan/plan.ts';
import type { PlanContext } from './plan-context.ts';

/** The plan before its deletions of what is no longer declared. */
export interface PlanSoFar {
  readonly declared: readonly Document[];
  readonly steps: readonly Step[];
  readonly changes: readonly ResourceChange[];
}

export const holdsData = ({ kind }: Pick<Document, 'kind'>): boolean => coreKind(kind).holdsData === true;

export class DataHold {
  readonly #context: PlanContext;
  readonly #plan: PlanSoFar;
  readonly #missing: Address | undefined;
  #all: readonly string[] | undefined;
  #rivals: ReadonlyMap<Address, readonly Address[]> | undefined;

  constructor(context: PlanContext, plan: PlanSoFar) {
    this.#context = context;
    this.#plan = plan;
    this.#missing = missingIn(context, plan);
  }

  /** Undefined: it may be deleted in this plan. */
  guardOf(one: Document): Guard | undefined {
    const missing = this.#missing;
    if (missing === undefined || !holdsData(one)) return undefined;
    return {
      code: 'dependency',
      address: one.address,
      message: `${one.address} is not deleted before ${missing} exists, which cannot be created now`,
      remedy: `end what keeps ${missing} from being created; then plan again`,
    };
  }

  /** Ids of the steps that the deletion comes after. `ordered`: those before it by waves and depends_on. */
  stepsBefore(one: Document, ordered: readonly string[]): readonly string[] {
    if (!holdsData(one) || this.#plan.steps.length === 0) return ordered;
    const rivals = this.#rivalsOf(one);
    if (rivals === undefined) return behind(this.#last(), ordered);
    // These cannot start before it is gone, and what comes after them in the order cannot begin.
    const made = new Set(rivals);
    return this.#plan.steps.flatMap(({ id, address, action }) =>
      action === 'create' && made.has(address) ? [id] : [],
    );
  }

  /** Declared containers that want an address or a port which it has; undefined: none. */
  #rivalsOf({ kind, address }: Document): readonly Address[] | undefined {
    if (kind !== 'container') return undefined;
    this.#rivals ??= rivalsOf(expectedContainers(this.#plan.declared, this.#context.observed));
    return this.#rivals.get(address);
  }

  /** The last step of each object. */
  #last(): readonly string[] {
    this.#all ??= [...new Map(this.#plan.steps.map(({ id, address }) => [address, id])).values()].sort();
    return this.#all;
  }
}

/** A declared object that neither exists nor is created: its creation is refused, or it is left out for now. */
function missingIn({ observed, options }: PlanContext, { declared, changes }: PlanSoFar): Address | undefined {
  const refused = changes.find(({ action, guard }) => action === 'create' && guard !== undefined);
  if (refused !== undefined || options.awaitsExcluded !== true) return refused?.address;
  const planned = new Set(changes.map(({ address }) => address));
  const isThere = (one: Document): boolean => {
    const kind = coreKind(one.kind);
    return kind.live(observed, kind.apiName(one)) !== undefined;
  };
  return declared.find((one) => !planned.has(one.address) && !isThere(one))?.address;
}

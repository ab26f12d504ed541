// Plans one object: the framework's plan, adjusted by the hook of the resource, with null entries of maps as configured.
import type { Attributes } from './attribute.ts';
import type { Diagnostic } from './diagnostic.ts';
import { plannedNullEntries, withoutNullEntries } from './null-entries.ts';
import type { ConfigOf, DraftOf, PrivateData } from './object-type.ts';
import { planChange } from './plan.ts';
import type { AnyResource, TakenBy } from './provider.ts';
import { redacted } from './redact.ts';
import type { PlanResult } from './results.ts';
import type { ValueMap } from './value.ts';

export interface PlanDeps<C> {
  readonly resource: AnyResource<C>;
  /** Undefined: the provider is not configured yet. */
  readonly client: C | undefined;
  readonly explain: (what: string, error: unknown) => readonly Diagnostic[];
}

export interface PlanInput {
  /** Null: delete. */
  readonly config: ValueMap | null;
  /** Null: create. */
  readonly prior: ValueMap | null;
  readonly isImported: boolean;
  readonly takenBy?: TakenBy;
  readonly privateData?: PrivateData;
}

export async function planResource<C>(deps: PlanDeps<C>, { config, prior, ...marks }: PlanInput): Promise<PlanResult> {
  const { resource } = deps;
  const { attributes } = resource;
  const before = prior === null ? null : withoutNullEntries(attributes, prior);
  if (config === null) {
    const diagnostics = before === null ? [] : (resource.planDelete?.(before) ?? []);
    return { planned: null, replace: [], diagnostics };
  }
  const wanted = withoutNullEntries(attributes, config);
  const plan = await planWithHook(deps, wanted, before, marks);
  const lost = before !== null && plan.replace.length > 0 ? (resource.planDelete?.(before) ?? []) : [];
  const result = { ...plan, diagnostics: redacted([...plan.diagnostics, ...lost], attributes, [wanted, before]) };
  if ((wanted === config && before === prior) || result.planned === null) return result;
  return { ...result, planned: plannedNullEntries(attributes, result.planned, { config, prior }) };
}

async function planWithHook<C>(
  { resource, client, explain }: PlanDeps<C>,
  config: ValueMap,
  prior: ValueMap | null,
  { isImported, takenBy, privateData = {} }: Omit<PlanInput, 'config' | 'prior'>,
): Promise<PlanResult> {
  const change = planChange(resource.attributes, config, prior, isImported);
  if (resource.plan === undefined) return { planned: change.planned, replace: change.replace, diagnostics: [] };
  const planned = { ...change.planned };
  const replace = [...change.replace];
  const diagnostics: Diagnostic[] = [];
  try {
    await resource.plan({
      config: config as ConfigOf<Attributes>,
      prior,
      planned: planned as DraftOf<Attributes>,
      differs: change.differs,
      isImported,
      takenBy,
      privateData,
      client,
      replace: (path) => replace.push(path),
      add: (diagnostic) => diagnostics.push(diagnostic),
    });
  } catch (error) {
    diagnostics.push(...explain(`plan ${resource.typeName}`, error));
  }
  return { planned, replace, diagnostics };
}

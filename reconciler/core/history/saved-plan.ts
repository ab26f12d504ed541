// A saved plan, which is applied exactly as it was reviewed: the documents without their secrets, the shape of each change,
// and the check that a new plan from them still equals it. The CLI reads and writes the file.
import type { Change } from '../documents/change.ts';
import type { Address, Document, Json, JsonObject } from '../documents/document.ts';
import type { WrittenDocument } from './revisions.ts';
import { isMap } from '../documents/json-values.ts';
import type { SetPlace } from '../ownership/place.ts';
import { planJson } from '../render/plan-json.ts';
import type { Plan, PlanOptions, ResourceChange, Step } from '../plan/plan.ts';
import { renderPlan } from '../render/render-plan.ts';
import { hidden, isSecret, redact, type DeclaredSecrets } from '../documents/secret.ts';
import { isChange, summarize } from '../plan/summary.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const savedPlanFormat = 'gantry-plan';

export interface SavedPlan {
  readonly format: typeof savedPlanFormat;
  readonly version: 1;
  readonly createdAt: string;
  readonly set: string;
  readonly mode: Plan['mode'];
  readonly options: PlanOptions;
  /** Identifies the server: the fingerprint of its certificate, if it shows one. */
  readonly server: string;
  /** Absent in plans of releases without places. */
  readonly place?: SetPlace;
  /** Files from which the secrets are read again, as absolute paths. */
  readonly paths: readonly string[];
  /** Secret values are replaced by `{$secret: true}`. */
  readonly documents: readonly Document[];
  /** For the revision that the apply will record; without secrets. */
  readonly written?: readonly WrittenDocument[];
  /** The content of gantry.lock. */
  readonly images: Readonly<Record<string, string>>;
  /** SHA-256 of `documents`. */
  readonly hash: string;
  readonly changes: readonly SavedChange[];
  /** The shown text. */
  readonly text: string;
  readonly plan: JsonObject;
}

export interface SavedChange {
  readonly address: Address;
  /** The parts of the change that a person approved, secrets masked; equal texts are equal changes. */
  readonly shape: string;
  /** The ETag of the object when the plan was made. */
  readonly etag?: string;
}

export interface SavedParts extends Pick<
  SavedPlan,
  'createdAt' | 'set' | 'options' | 'server' | 'place' | 'paths' | 'documents' | 'images'
> {
  readonly written: readonly WrittenDocument[];
  readonly etags: ReadonlyMap<Address, string>;
  readonly hashOf: (text: string) => string;
}

export function savePlan(plan: Plan, parts: SavedParts): SavedPlan {
  const { etags, hashOf, documents, ...rest } = parts;
  const cut = documents.map(withoutSecrets);
  const known = withEtags(plan, etags);
  return {
    format: savedPlanFormat,
    version: 1,
    ...rest,
    mode: plan.mode,
    documents: cut,
    hash: hashOf(JSON.stringify(cut)),
    changes: plan.changes.filter(isChange).map((change) => {
      const etag = etags.get(change.address);
      return { address: change.address, shape: shapeOf(change), ...withoutUndefined({ etag }) };
    }),
    text: renderPlan(plan, { color: false }),
    plan: planJson(known),
  };
}

/** Lists have no ETags: the steps get those of objects that were read one by one. */
function withEtags(plan: Plan, etags: ReadonlyMap<Address, string>): Plan {
  const steps = plan.steps.map((step): Step => {
    const etag = etags.get(step.address);
    const takes = step.action === 'update' || step.action === 'delete';
    return takes && etag !== undefined ? { ...step, etag } : step;
  });
  return { ...plan, steps };
}

function shapeOf(change: ResourceChange): string {
  const edits = change.changes.map((edit) => [
    edit.path,
    shown(edit, edit.before),
    shown(edit, edit.after),
    edit.effect,
  ]);
  return JSON.stringify([change.action, change.power ?? '', change.guard?.code ?? '', edits]);
}

const shown = (edit: Change, value: Json | undefined): Json =>
  value === undefined ? null : edit.secret ? hidden : redact(value, edit.segments);

const cutOut = { $secret: true } as const;
const isCut = (value: Json | undefined): boolean => isMap(value) && value['$secret'] === true;

function withoutSecrets(document: Document): Document {
  const values = cutSecrets(document.values, [], document.secrets) as JsonObject;
  if (document.contents === undefined) return { ...document, values };
  const isOpen = ([path]: readonly [string, unknown]): boolean =>
    document.secrets?.includes(`files.${path}.content`) !== true;
  return { ...document, values, contents: Object.fromEntries(Object.entries(document.contents).filter(isOpen)) };
}

function cutSecrets(value: Json, path: readonly string[], declared: DeclaredSecrets): Json {
  if (Array.isArray(value)) {
    return (value as readonly Json[]).map((item, index) =>
      declared?.includes([...path, index].join('.')) === true ? cutOut : cutSecrets(item, path, declared),
    );
  }
  if (isMap(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, cutSecrets(item, [...path, key], declared)]),
    );
  return value !== null && value !== '' && isSecret(path, value, declared) ? cutOut : value;
}

export const hasSecrets = (documents: readonly Document[]): boolean => documents.some(({ values }) => holdsCut(values));

const holdsCut = (value: Json): boolean =>
  isCut(value) || (typeof value === 'object' && value !== null && Object.values(value as JsonObject).some(holdsCut));

export interface RestoreResult {
  readonly documents: readonly Document[];
  /** `container/web1 config.environment.PW`: secrets that can no longer be found. */
  readonly missing: readonly string[];
}

/** Puts the secrets back in, from the current text of the same documents. */
export function restoreSecrets(saved: readonly Document[], fresh: readonly Document[]): RestoreResult {
  const missing: string[] = [];
  const byAddress = new Map(fresh.map((document) => [document.address, document]));
  const documents = saved.map((document) => {
    const fresh = byAddress.get(document.address);
    const values = restore(document.values, fresh?.values, document.address, missing) as JsonObject;
    if (document.contents === undefined) return { ...document, values };
    // Omitted contents are secrets; all others keep the approved content.
    return { ...document, values, contents: { ...fresh?.contents, ...document.contents } };
  });
  return { documents, missing };
}

function restore(value: Json, source: Json | undefined, place: string, missing: string[]): Json {
  if (isCut(value)) {
    if (source !== undefined && source !== null && typeof source !== 'object') return source;
    missing.push(place);
    return '';
  }
  if (Array.isArray(value)) {
    const from = Array.isArray(source) ? (source as readonly Json[]) : [];
    return (value as readonly Json[]).map((item, index) => restore(item, from[index], `${place} ${index}`, missing));
  }
  if (!isMap(value)) return value;
  const from = isMap(source) ? source : {};
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      restore(item, from[key], place.includes(' ') ? `${place}.${key}` : `${place} ${key}`, missing),
    ]),
  );
}

export interface Comparison {
  /** The approved part of the new plan, and nothing else. */
  readonly plan: Plan;
  /** Why the saved plan no longer applies; empty: it may be applied. */
  readonly stale: readonly string[];
  /** Objects that reached their planned state since. */
  readonly done: readonly Address[];
  /** Changes of the new plan that the saved one does not have; not part of `plan`. */
  readonly beyond: readonly Address[];
}

/** `now`: the plan from the restored documents and the current state of the server. */
export function comparePlans(saved: SavedPlan, now: Plan): Comparison {
  const changes = new Map(now.changes.map((change) => [change.address, change]));
  const approved = new Set<Address>();
  const stale: string[] = [];
  const done: Address[] = [];
  for (const { address, shape } of saved.changes) {
    const change = changes.get(address);
    if (change === undefined || !isChange(change)) done.push(address);
    else if (shapeOf(change) === shape) approved.add(address);
    else stale.push(`${address} would now ${describeShape(shapeOf(change))}; approved was ${describeShape(shape)}`);
  }
  const beyond = now.changes
    .filter((change) => isChange(change) && !isSaved(saved, change.address))
    .map(({ address }) => address);
  const steps = now.steps.filter((step) => approved.has(step.address));
  const ids = new Set(steps.map(({ id }) => id));
  for (const step of steps) {
    const needed = step.needs.find((id) => !ids.has(id));
    if (needed !== undefined) stale.push(`${step.address} now needs ${needed}, which was not part of the plan`);
  }
  const kept = now.changes.filter((change) => approved.has(change.address) || !isChange(change));
  const guards = now.guards.filter(({ address }) => approved.has(address));
  return { plan: { ...now, changes: kept, steps, guards, summary: summarize(kept) }, stale, done, beyond };
}

const isSaved = (saved: SavedPlan, address: Address): boolean =>
  saved.changes.some((change) => change.address === address);

function describeShape(shape: string): string {
  const [action, power, , edits] = JSON.parse(shape) as [
    string,
    string,
    string,
    readonly [string, Json, Json, string][],
  ];
  const paths = edits.map(([path, before, after]) => `${path} ${JSON.stringify(before)} -> ${JSON.stringify(after)}`);
  const what = [action === 'no-op' ? '' : action, power].filter((word) => word !== '').join(' and ');
  return `${what === '' ? 'be recorded' : what}${paths.length === 0 ? '' : ` (${paths.slice(0, 3).join(', ')}${paths.length > 3 ? ', ...' : ''})`}`;
}

/** Undefined when the text is no saved plan. */
export function parseSavedPlan(text: string): SavedPlan | 'newer' | undefined {
  if (!text.startsWith('{"format":"gantry-plan"')) return undefined;
  try {
    const value = JSON.parse(text) as SavedPlan;
    return value.version === 1 ? value : 'newer';
  } catch {
    return undefined;
  }
}

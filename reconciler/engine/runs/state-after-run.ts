// Derives the state of a set after a run from the finished steps: records, sources, pending restarts and waits. Pure.
import type { Address, JsonObject } from '../../core/documents/document.ts';
import { mapOf } from '../../core/documents/json-values.ts';
import { sourceHash } from '../../core/live/image-sources.ts';
import {
  hasConfig,
  isRelease,
  makeRecord,
  type KeyHash,
  type OwnerRecord,
} from '../../core/ownership/owner-records.ts';
import type { SetState } from '../../core/ownership/set-state.ts';
import { applyEdits } from '../../core/plan/apply-edits.ts';
import type { Plan, Step } from '../../core/plan/plan.ts';
import { scopedName } from '../../core/text/scoped-name.ts';
import { bindImages } from '../bind-images.ts';
import type { RunResult } from '../run-result.ts';

/** Objects without config whose record is in the notes, under their API names. */
export function claimsOf(plan: Plan, hash: KeyHash): ReadonlyMap<Address, OwnerRecord> {
  const claims = new Map<Address, OwnerRecord>();
  const live = new Map(plan.changes.map((change) => [change.address, change.live]));
  for (const step of plan.steps) {
    if (hasConfig(step.kind) || (step.action !== 'create' && step.action !== 'update')) continue;
    if (step.owner === undefined || isRelease(step.owner)) continue;
    const before = (live.get(step.address) ?? {}) as JsonObject;
    const object = step.action === 'create' ? step.body : applyEdits(before, step.edits);
    claims.set(`${step.kind}/${step.name}`, makeRecord(step.owner, object, hash));
  }
  return claims;
}

/** The notes after the steps in `done`: objects of failed steps keep their former records. */
export function stateAfterRun(
  now: SetState,
  before: SetState,
  steps: readonly Step[],
  done: ReadonlySet<string>,
): SetState {
  const inventory = new Map(now.inventory);
  const restarts = new Map(now.restarts);
  const sources = new Map(now.sources);
  const unready = new Set(now.unready);
  const byId = new Map(steps.map((step) => [step.id, step]));
  const undone = new Set(steps.filter((step) => step.action === 'wait' && !done.has(step.id)).map(({ name }) => name));
  for (const step of steps) {
    const address: Address = `${step.kind}/${step.name}`;
    const isDone = done.has(step.id);
    if (step.action === 'restart' && (isDone || !isOwed(step, byId, done))) restarts.delete(step.name);
    if (step.action === 'wait' && !undone.has(step.name)) unready.delete(step.name);
    if (step.action === 'delete' && isDone) {
      inventory.delete(address);
      if (step.kind === 'image') for (const [hash, image] of sources) if (image === step.name) sources.delete(hash);
      restarts.delete(step.name);
      unready.delete(step.name);
    }
    if (step.action !== 'create' && step.action !== 'update') continue;
    if (!isDone) restore(inventory, before, address);
    else if (step.owner !== undefined && isRelease(step.owner)) inventory.delete(address);
  }
  return { ...now, inventory, restarts, sources, unready };
}

/** Records fetched images under their fingerprints, with their source, and replaces references to them by fingerprints. */
export function withMade(state: SetState, plan: Plan, result: RunResult | undefined, hash: KeyHash): SetState {
  const { made = new Map<string, string>(), done = [] } = result ?? {};
  if (made.size === 0) return state;
  const inventory = new Map(state.inventory);
  const sources = new Map(state.sources);
  const byId = new Map(plan.steps.map((step) => [step.id, step]));
  const steps = plan.steps.map((step): Step => {
    const fingerprint = made.get(step.id);
    return fingerprint === undefined
      ? bindImages(step, byId, made)
      : { ...step, name: scopedName(fingerprint, step.project) };
  });
  const claims = claimsOf({ ...plan, steps }, hash);
  for (const [index, step] of steps.entries()) {
    const planned = plan.steps[index];
    if (planned === undefined || planned === step || !done.includes(step.id)) continue;
    inventory.delete(`${planned.kind}/${planned.name}`);
    const record = claims.get(`${step.kind}/${step.name}`);
    if (record !== undefined) inventory.set(`${step.kind}/${step.name}`, record);
    if (step.kind === 'image' && step.action === 'create')
      sources.set(sourceHash(mapOf(step.body['source']), step.project, hash), step.name);
  }
  return { ...state, inventory, sources };
}

/** A skipped restart is pending if a change that needs it was made, or if it was pending before. */
function isOwed(restart: Step, byId: ReadonlyMap<string, Step>, done: ReadonlySet<string>): boolean {
  const needs = new Set<string>(restart.needs);
  for (const id of needs) for (const need of byId.get(id)?.needs ?? []) needs.add(need);
  const updates = [...needs].filter((id) => byId.get(id)?.action === 'update');
  return updates.length === 0 || updates.some((id) => done.has(id));
}

function restore(inventory: Map<Address, OwnerRecord>, before: SetState, address: Address): void {
  const record = before.inventory.get(address);
  if (record === undefined) inventory.delete(address);
  else inventory.set(address, record);
}

// Laws of ownership, for any documents and worlds: dropped keys vanish, keys of others stay, records have no values.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../reconciler/core/decide/check-plan.ts';
import type { Document, JsonObject } from '../../reconciler/core/documents/document.ts';
import { parseIgnore } from '../../reconciler/core/ownership/ignored-paths.ts';
import { isInside } from '../../reconciler/core/documents/inside.ts';
import { coreKind } from '../../reconciler/core/kinds/index.ts';
import type { Observed } from '../../reconciler/core/documents/observed.ts';
import { isNote, ownedAt, recordKey, recordsIn } from '../../reconciler/core/ownership/owner-records.ts';
import { planChanges } from '../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../reconciler/core/decide/plan-destroy.ts';
import { planJson } from '../../reconciler/core/render/plan-json.ts';
import type { Plan, PlanOptions, SetOwner } from '../../reconciler/core/plan/plan.ts';
import { renderPlan } from '../../reconciler/core/render/render-plan.ts';
import { hasChanges } from '../../reconciler/core/plan/summary.ts';
import { applyPlan } from '../support/fakes/model-daemon.ts';
import { isLongRun } from '../support/left-out.ts';
import { hash, scenes, secretText } from './arbitrary-worlds.ts';

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? (isLongRun ? 200 : 40));
const permissive: PlanOptions = { allowRestart: true, allowRecreate: true };

const base: SetOwner = { set: 'base', hash };
const team: SetOwner = { set: 'team', hash };

interface Applied {
  readonly plan: Plan;
  readonly documents: readonly Document[];
  readonly after: Observed;
}

/** Applies the steps that no guard refuses; undefined when the plan fails. */
function applied(
  documents: readonly Document[],
  observed: Observed,
  owner: SetOwner,
  options: PlanOptions = permissive,
): Applied | undefined {
  for (let left = documents; ;) {
    const plan = planChanges({ documents: left, observed, options, owner });
    if (plan.diagnostics.some(({ severity }) => severity === 'error')) return undefined;
    expect(checkPlan(plan, observed)).toEqual([]);
    if (plan.guards.length === 0) return { plan, documents: left, after: applyPlan(plan, observed, owner) };
    const refused = new Set<string>(plan.guards.map(({ address }) => address));
    left = left.filter(({ address }) => !refused.has(address));
  }
}

const again = ({ documents, after }: Applied, owner: SetOwner, options = permissive): Plan =>
  planChanges({ documents, observed: after, options, owner });

const modes = fc.constantFrom('merge', 'exact');
const inMode = (documents: readonly Document[], mode: 'merge' | 'exact'): readonly Document[] =>
  documents.map((one) => ({ ...one, manage: { ...one.manage, mode } }));

const configOf = (observed: Observed, { kind, name }: Document): Readonly<Record<string, string>> =>
  ((coreKind(kind).live(observed, name)?.object as JsonObject | undefined)?.['config'] ?? {}) as Record<string, string>;
const writtenConfig = (document: Document): JsonObject => (document.values['config'] ?? {}) as JsonObject;

describe('laws of ownership', () => {
  test('a second plan of a set is empty, in both modes', () => {
    let count = 0;
    fc.assert(
      fc.property(scenes, modes, ({ documents, observed }, mode) => {
        const first = applied(inMode(documents, mode), observed, base);
        if (first === undefined) return;
        count += 1;
        const second = again(first, base);
        expect(renderPlan(second, { color: false })).toMatch(/^No changes/);
        expect(second.steps).toEqual([]);
        expect(hasChanges(second)).toBe(false);
      }),
      { numRuns },
    );
    expect(count).toBeGreaterThan(numRuns / 2);
  });

  test('a key that the set wrote and drops vanishes; a key that it never wrote stays', () => {
    let dropped = 0;
    fc.assert(
      fc.property(scenes, scenes, (one, other) => {
        const first = applied(one.documents, one.observed, base);
        if (first === undefined) return;
        const second = applied(other.documents, first.after, base);
        if (second === undefined) return;
        for (const document of second.documents) {
          const before = first.documents.find(({ address }) => address === document.address);
          if (before === undefined || document.kind === 'image' || document.manage.ignore.length > 0) continue;
          const [kind, then] = [coreKind(document.kind), writtenConfig(document)];
          const now = configOf(second.after, document);
          for (const [key, value] of Object.entries(writtenConfig(before))) {
            if (key in then || value === null || value === '' || kind.isComputed(['config', key])) continue;
            if (before.manage.ignore.length > 0 || kind.isProvenance?.(['config', key]) === true) continue;
            dropped += 1;
            expect(now, `${document.address} ${key}`).not.toHaveProperty([key]);
          }
          if (now['user.by-hand'] !== undefined || configOf(first.after, document)['user.by-hand'] !== undefined)
            expect(now['user.by-hand']).toBe(document.name);
        }
      }),
      { numRuns },
    );
    expect(dropped).toBeGreaterThan(numRuns / 10);
  });

  test('two sets on one world: after the apply of one the other has an empty plan, or got a conflict', () => {
    let shared = 0;
    fc.assert(
      fc.property(scenes, scenes, modes, (one, other, mode) => {
        const first = applied(one.documents, one.observed, base);
        if (first === undefined) return;
        // Power has no owner: only one of the two may manage it.
        const theirs = inMode(other.documents, mode).map((document): Document => ({
          ...document,
          manage: { ...document.manage, power: 'ignore' },
        }));
        const second = applied(theirs, first.after, team);
        if (second === undefined) return;
        shared += second.documents.filter(({ address }) =>
          first.documents.some((one) => one.address === address),
        ).length;
        const plan = again({ ...first, after: second.after }, base);
        // The files of a replaced container are gone with it, and are written into the new one.
        const remade = new Set(
          second.plan.changes.flatMap(({ action, address }) => (action === 'replace' ? [address] : [])),
        );
        const edits = plan.changes.flatMap(({ address, changes }) =>
          changes
            .filter(({ segments }) => !(remade.has(address) && isInside(segments)))
            // An alias that only the other set declares may have moved on, and containers follow it.
            .filter(({ path }) => path !== 'source')
            .map(({ path }) => `${address} ${path}`),
        );
        expect(edits).toEqual([]);
        expect(plan.guards).toEqual([]);
      }),
      { numRuns },
    );
    expect(shared).toBeGreaterThan(numRuns / 4);
  });

  test('a key taken by force leaves the other record, and the new owner has an empty plan', () => {
    let taken = 0;
    fc.assert(
      fc.property(scenes, scenes, (one, other) => {
        const first = applied(one.documents, one.observed, base);
        if (first === undefined) return;
        const options = { ...permissive, forceConflicts: true };
        const second = applied(other.documents, first.after, team, options);
        if (second === undefined) return;
        expect(again(second, team, options).steps).toEqual([]);
        for (const step of second.plan.steps) {
          if (step.action !== 'update' || step.owner === undefined || 'release' in step.owner) continue;
          const live = coreKind(step.kind).live(second.after, step.name)?.object ?? {};
          for (const { set, path } of step.owner.takes) {
            if (!('config' in live)) continue;
            taken += 1;
            expect(ownedAt(recordsIn(live).get(set)?.keys, path)).toBeUndefined();
          }
        }
      }),
      { numRuns },
    );
    expect(taken).toBeGreaterThan(0);
  });

  test('exact mode keeps only declared config and devices, and the keys that the server sets', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const done = applied(inMode(documents, 'exact'), observed, base);
        for (const document of done?.documents ?? []) {
          const kind = coreKind(document.kind);
          if (kind.fields['config'] !== 'map') continue;
          const ignored = parseIgnore(document.manage.ignore);
          const declared = writtenConfig(document);
          const extra = Object.keys(configOf(done?.after ?? observed, document)).filter(
            (key) =>
              !(key in declared) &&
              !isNote(key) &&
              !kind.isComputed(['config', key]) &&
              key !== 'security.protection.delete' &&
              !ignored.some((rule) => rule.test(`config.${key}`)),
          );
          expect(extra, document.address).toEqual([]);
        }
      }),
      { numRuns },
    );
  });

  test('a prune deletes dropped objects that the set made, and never objects of others or with keys of others', () => {
    let pruned = 0;
    const options: PlanOptions = { ...permissive, prune: true, allowDestroy: true, pruneLimit: { percent: 100 } };
    fc.assert(
      fc.property(scenes, scenes, fc.integer({ min: 0, max: 12 }), (one, other, kept) => {
        const first = applied(one.documents, one.observed, base);
        if (first === undefined) return;
        const second = applied(other.documents.slice(0, kept), first.after, team) ?? { after: first.after };
        const left = first.documents.filter((_, index) => index % 2 === 0);
        const plan = planChanges({ documents: left, observed: second.after, options, owner: base });
        if (plan.diagnostics.some(({ severity }) => severity === 'error')) return;
        expect(checkPlan(plan, second.after)).toEqual([]);
        for (const step of plan.steps.filter(({ action }) => action === 'delete')) {
          const live = coreKind(step.kind).live(second.after, step.name);
          const isDeclared = left.some(({ address }) => address === step.address);
          if (isDeclared || live === undefined) continue;
          pruned += 1;
          const isOld = coreKind(step.kind).live(one.observed, step.name) !== undefined;
          const isRemade = first.plan.changes.some(
            (change) => change.address === step.address && change.action === 'replace',
          );
          expect(isOld && !isRemade, `${step.address} was there before`).toBe(false);
          expect([...recordsIn(live.object).keys()].filter((set) => set !== 'base')).toEqual([]);
        }
        if (plan.guards.length > 0) return;
        const after = applyPlan(plan, second.after, base);
        const next = planChanges({ documents: left, observed: after, options, owner: base });
        expect(next.steps.map(({ id }) => id)).toEqual([]);
      }),
      { numRuns },
    );
    expect(pruned).toBeGreaterThan(numRuns / 10);
  });

  test('a destroy by the set keeps objects that it did not make, without its record', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const first = applied(documents, observed, base);
        if (first === undefined) return;
        const plan = planDestroy({ documents: first.documents, observed: first.after, owner: base });
        expect(checkPlan(plan, first.after)).toEqual([]);
        if (plan.guards.length > 0) return;
        const after = applyPlan(plan, first.after, base);
        for (const change of first.plan.changes) {
          const live = coreKind(change.kind).live(after, change.name)?.object;
          const wasThere = change.live !== undefined && change.action !== 'replace' && change.kind !== 'image';
          if (wasThere) expect(live, change.address).toBeDefined();
          else if (change.action === 'create') expect(live, change.address).toBeUndefined();
        }
        const next = planDestroy({ documents: first.documents, observed: after, owner: base });
        expect(next.steps.map(({ id }) => id)).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('neither records nor output have values or secrets', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const done = applied(documents, observed, base);
        if (done === undefined) return;
        const notes = [done.after.containers, done.after.profiles, done.after.networks, done.after.pools].flatMap(
          (map) => [...map.values()].map(({ object }) => object.config[recordKey('base')] ?? ''),
        );
        for (const text of notes) {
          expect(text).not.toContain(secretText);
          expect(text).not.toMatch(/512MiB|536870912|postgres|cloud-config/);
        }
        expect(JSON.stringify(planJson(done.plan))).not.toContain(secretText);
        expect(renderPlan(done.plan, { color: false })).not.toContain(secretText);
      }),
      { numRuns },
    );
  });
});

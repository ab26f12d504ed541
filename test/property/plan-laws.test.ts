// The laws of plans, over generated worlds and a model daemon of plain data.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../reconciler/core/decide/check-plan.ts';
import type { Document, JsonObject } from '../../reconciler/core/documents/document.ts';
import type { Observed } from '../../reconciler/core/documents/observed.ts';
import { planChanges } from '../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../reconciler/core/decide/plan-destroy.ts';
import { planJson } from '../../reconciler/core/render/plan-json.ts';
import type { Plan } from '../../reconciler/core/plan/plan.ts';
import { renderPlan } from '../../reconciler/core/render/render-plan.ts';
import { hasChanges } from '../../reconciler/core/plan/summary.ts';
import { applyPlan } from '../support/fakes/model-daemon.ts';
import { isLongRun } from '../support/left-out.ts';
import { scenes, secretText } from './arbitrary-worlds.ts';

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? (isLongRun ? 300 : 60));
const permissive = { allowRestart: true, allowRecreate: true } as const;

const rendered = (plan: Plan): string =>
  [renderPlan(plan, { color: false }), JSON.stringify(planJson(plan)), JSON.stringify(plan.steps)].join('\n');

/** Leaves out the objects that a guard protects, and those that need them. */
function allowed(documents: readonly Document[], observed: Observed): { plan: Plan; documents: readonly Document[] } {
  let left = documents;
  for (;;) {
    const plan = planChanges({ documents: left, observed, options: permissive });
    if (plan.guards.length === 0) return { plan, documents: left };
    const refused = new Set<string>(plan.guards.map((guard) => guard.address));
    left = left.filter((document) => !refused.has(document.address));
  }
}

describe('laws of plans', () => {
  test('a second plan after an apply is empty', () => {
    let applied = 0;
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const { plan, documents: left } = allowed(documents, observed);
        if (plan.diagnostics.some((diagnostic) => diagnostic.severity === 'error')) return;
        applied += 1;
        const after = applyPlan(plan, observed);
        const again = planChanges({ documents: left, observed: after, options: permissive });
        // Networks of generated worlds overlap at random.
        expect(again.diagnostics.filter(({ code }) => code !== 'overlapping-subnets')).toEqual([]);
        expect(renderPlan(again, { color: false })).toMatch(/^No changes/);
        expect(hasChanges(again)).toBe(false);
        expect(again.steps).toEqual([]);
      }),
      { numRuns },
    );
    // Most worlds must reach an apply, or this law would test nothing.
    expect(applied).toBeGreaterThan(numRuns / 2);
  });

  test('the order of the documents never changes the plan', () => {
    fc.assert(
      fc.property(
        scenes.chain((scene) =>
          fc.record({
            ...constants(scene),
            shuffled: fc.shuffledSubarray([...scene.documents], full(scene.documents)),
          }),
        ),
        ({ documents, observed, shuffled }) => {
          expect(rendered(planChanges({ documents: shuffled, observed }))).toBe(
            rendered(planChanges({ documents, observed })),
          );
          expect(rendered(planDestroy({ documents: shuffled, observed }))).toBe(
            rendered(planDestroy({ documents, observed })),
          );
        },
      ),
      { numRuns },
    );
  });

  test('the checker finds no mistake in any plan: no step before its needs, no deletion of used or protected objects', () => {
    fc.assert(
      fc.property(scenes, fc.boolean(), ({ documents, observed }, isPermissive) => {
        const options = isPermissive ? permissive : {};
        expect(checkPlan(planChanges({ documents, observed, options }), observed)).toEqual([]);
        expect(checkPlan(planDestroy({ documents, observed, options }), observed)).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('protected objects are never deleted, whichever side protects them', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const isProtected = (document: Document): boolean =>
          document.manage.protect ||
          observed.containers.get(document.name)?.object.config['security.protection.delete'] === 'true';
        const names = documents.filter((one) => one.kind === 'container' && isProtected(one)).map((one) => one.address);
        const options = { ...permissive, replace: names };
        const plans = [planChanges({ documents, observed, options }), planDestroy({ documents, observed })];
        const deleted = plans.flatMap((plan) => plan.steps.filter((step) => step.action === 'delete'));
        expect(deleted.filter((step) => names.includes(step.address))).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('keys that no set wrote stay unchanged, also when a container is replaced', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const { plan, documents: left } = allowed(documents, observed);
        const after = applyPlan(plan, observed);
        for (const [name, { object }] of observed.containers) {
          const written = left.find((document) => document.address === `container/${name}`)?.values[
            'config'
          ] as JsonObject;
          const kept = Object.entries(object.config).filter(
            ([key]) => !(key in (written ?? {})) && key !== 'volatile.base_image',
          );
          expect(after.containers.get(name)?.object.config).toMatchObject(Object.fromEntries(kept));
          expect(after.containers.get(name)?.object.devices).toHaveProperty('manual');
        }
        expect(after.containers.get('stranger')?.object).toEqual(
          observed.containers.has('stranger')
            ? { ...observed.containers.get('stranger')?.object, ...expandedOf(after, 'stranger') }
            : undefined,
        );
      }),
      { numRuns },
    );
  });

  test('the output has no secret', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        for (const plan of [planChanges({ documents, observed }), planDestroy({ documents, observed })]) {
          expect(renderPlan(plan, { color: true })).not.toContain(secretText);
          expect(JSON.stringify(planJson(plan))).not.toContain(secretText);
        }
      }),
      { numRuns },
    );
  });

  test('a destroy deletes all permitted objects, and a second one has no steps', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const plan = planDestroy({ documents, observed });
        const refused = new Set<string>(plan.guards.map((guard) => guard.address));
        const left = documents.filter((document) => !refused.has(document.address));
        const retry = planDestroy({ documents: left, observed });
        // Without a refused object, guards may refuse objects that it holds; those are refused in turn.
        fc.pre(retry.guards.length === 0);
        const after = applyPlan(retry, observed);
        const again = planDestroy({ documents: left, observed: after });
        expect(again.steps).toEqual([]);
        expect(again.changes.filter((change) => change.action !== 'no-op')).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('a plan of some targets is a part of the whole plan', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const whole = planChanges({ documents, observed });
        const target = documents.at(-1);
        // A generated container without a root disk refuses the whole plan, but no part without that container.
        const isRootless = whole.diagnostics.some(({ code }) => code === 'no-root-disk');
        if (target === undefined || isRootless) return;
        const part = planChanges({ documents, observed, options: { targets: [target.address] } });
        const ids = new Set(whole.steps.map((step) => step.id));
        expect(part.steps.filter((step) => !ids.has(step.id))).toEqual([]);
        expect(checkPlan(part, observed)).toEqual([]);
      }),
      { numRuns },
    );
  });

  test('a plan changes neither the documents nor the world', () => {
    fc.assert(
      fc.property(scenes, ({ documents, observed }) => {
        const before = JSON.stringify([documents, [...observed.containers], [...observed.profiles]]);
        planDestroy({ documents, observed });
        planChanges({ documents, observed, options: permissive });
        expect(JSON.stringify([documents, [...observed.containers], [...observed.profiles]])).toBe(before);
      }),
      { numRuns: 30 },
    );
  });
});

const full = (items: readonly unknown[]): { minLength: number; maxLength: number } => ({
  minLength: items.length,
  maxLength: items.length,
});

function constants<T extends object>(scene: T): { [K in keyof T]: fc.Arbitrary<T[K]> } {
  return Object.fromEntries(Object.entries(scene).map(([key, value]) => [key, fc.constant(value)])) as never;
}

function expandedOf(observed: Observed, name: string): object {
  const object = observed.containers.get(name)?.object;
  return { expanded_config: object?.expanded_config, expanded_devices: object?.expanded_devices };
}

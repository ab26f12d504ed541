// Laws of export, for any world: an export can be loaded again and has an empty plan, also under the set that made the objects, and a
// redacted export has no secret.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownedOf, planAdoption, planRelease } from '../../reconciler/core/adoption/adopt.ts';
import { checkPlan } from '../../reconciler/core/decide/check-plan.ts';
import { exportWorld } from '../../reconciler/core/adoption/export.ts';
import type { Document } from '../../reconciler/core/documents/document.ts';
import type { Observed } from '../../reconciler/core/documents/observed.ts';
import { planChanges } from '../../reconciler/core/decide/plan-changes.ts';
import type { SetOwner } from '../../reconciler/core/plan/plan.ts';
import { loadManifests } from '../../reconciler/manifest/load.ts';
import { writeExport } from '../../reconciler/manifest/write-export.ts';
import { applyPlan } from '../support/fakes/model-daemon.ts';
import { isLongRun } from '../support/left-out.ts';
import { hash, scenes, secretText } from './arbitrary-worlds.ts';

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? (isLongRun ? 60 : 25));

const owner: SetOwner = { set: 'default', hash };

async function load(text: string): Promise<readonly Document[]> {
  const loaded = await loadManifests({ paths: ['-'], stdin: text });
  expect(loaded.diagnostics, text).toEqual([]);
  return loaded.documents;
}

function expectNothing(documents: readonly Document[], observed: Observed, text: string): void {
  const plan = planChanges({ documents, observed, owner });
  // Networks of generated worlds overlap at random.
  expect(
    plan.diagnostics.filter(({ code }) => code !== 'overlapping-subnets'),
    text,
  ).toEqual([]);
  expect(plan.guards, text).toEqual([]);
  const changed = plan.changes.filter(({ action, power }) => action !== 'no-op' || power !== undefined);
  expect(
    changed.map(({ address, changes }) => [address, changes.map(({ path }) => path)]),
    text,
  ).toEqual([]);
}

/** Leaves out references that no server would have accepted: missing profiles, pools and networks. */
function sound(observed: Observed): Observed {
  const isThere = (device: Readonly<Record<string, string>>): boolean =>
    device['type'] === 'disk'
      ? observed.pools.has(device['pool'] ?? '')
      : device['type'] !== 'nic' || observed.networks.has(device['parent'] ?? '');
  const devices = <T extends { devices: Record<string, Record<string, string>> }>(object: T): T => ({
    ...object,
    devices: Object.fromEntries(Object.entries(object.devices).filter(([, device]) => isThere(device))),
  });
  const containers = [...observed.containers].map(([name, { object }]) => {
    const profiles = object.profiles.filter((profile) => observed.profiles.has(profile));
    return [name, { object: { ...devices(object), profiles } }] as const;
  });
  const profiles = [...observed.profiles].map(([name, { object }]) => [name, { object: devices(object) }] as const);
  return { ...observed, containers: new Map(containers), profiles: new Map(profiles) };
}

const textOf = (observed: Observed): string =>
  writeExport(exportWorld(observed), false)
    .parts.map(({ text }) => text)
    .join('');

describe('laws of export', () => {
  test('an export has an empty plan', async () => {
    await fc.assert(
      fc.asyncProperty(scenes, async (scene) => {
        const observed = sound(scene.observed);
        const text = textOf(observed);
        expectNothing(await load(text), observed, text);
      }),
      { numRuns },
    );
  });

  test('an export for the set that made the objects has an empty plan, and deletes nothing', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(scenes, async ({ documents, observed }) => {
        const permissive = { allowRestart: true, allowRecreate: true };
        const plan = planChanges({ documents, observed, owner, options: permissive });
        if (plan.guards.length > 0 || plan.diagnostics.some(({ severity }) => severity === 'error')) return;
        count += 1;
        const after = applyPlan(plan, observed, owner);
        const text = textOf(after);
        expectNothing(await load(text), after, text);
      }),
      { numRuns },
    );
    expect(count).toBeGreaterThan(0);
  });

  test('a redacted export has no secret and, with its variables, an empty plan', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(scenes, async ({ observed }) => {
        const objects = exportWorld(observed);
        const { variables, parts, secrets } = writeExport(objects, true);
        const text = variables + parts.map((part) => part.text).join('');
        expect(text).not.toContain(secretText);
        if (secrets.length === 0) return;
        count += 1;
        expect((await loadManifests({ paths: ['-'], stdin: text })).diagnostics.map(({ code }) => code)).toContain(
          'empty-variable',
        );
      }),
      { numRuns },
    );
    expect(count).toBeGreaterThan(0);
  });

  test('every key is owned after export and adoption and the plan is empty; after a release the world is unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(scenes, async (scene) => {
        const observed = sound(scene.observed);
        const documents = await load(textOf(observed));
        const { plan, refusals } = planAdoption(
          planChanges({ documents, observed, owner }),
          observed,
          owner,
          undefined,
        );
        expect(refusals).toEqual([]);
        expect(checkPlan(plan, observed)).toEqual([]);
        const after = applyPlan(plan, observed, owner);
        const again = planChanges({ documents, observed: after, owner });
        expect([again.steps, again.orphans]).toEqual([[], []]);
        expect(ownedOf(after, owner).length).toBe(documents.length);
        const released = applyPlan(planRelease(after, owner, undefined), after, owner);
        expect(ownedOf(released, owner)).toEqual([]);
        // All user-chosen values are unchanged; the model rewrites computed keys at each write.
        expect(textOf(released).replaceAll(/^#.*\n/gm, '')).toBe(textOf(observed).replaceAll(/^#.*\n/gm, ''));
      }),
      { numRuns },
    );
  });
});

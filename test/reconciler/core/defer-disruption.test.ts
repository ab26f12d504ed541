// Plans that may not restart or recreate: harmless changes are made, the rest is refused and found again later.
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { defaultManage, type Document, type JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import {
  makeRecord,
  recordKey,
  recordsIn,
  renderRecord,
  type OwnerRecord,
} from '../../../reconciler/core/ownership/owner-records.ts';
import { policyOf } from '../../../reconciler/core/ownership/recorded-policy.ts';
import { applyEdits } from '../../../reconciler/core/plan/apply-edits.ts';
import type { Plan, PlanOptions, UpdateStep } from '../../../reconciler/core/plan/plan.ts';
import {
  document,
  fingerprintOf,
  liveAlias,
  liveContainer,
  liveImage,
  liveProfile,
  world,
} from '../../support/fakes/worlds.ts';

const hash = (text: string): string => `h(${text})`;
const owner = { set: 's', hash };
const calm: PlanOptions = { defersDisruption: true, allowRestart: false };
const still = { manage: { disruption: 'none' } } as const;

const plan = (documents: readonly Document[], observed: Observed, options: PlanOptions = calm): Plan => {
  const made = planChanges({ documents, observed, options, owner });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
};
const updates = (made: Plan): readonly UpdateStep[] =>
  made.steps.map((step) => {
    if (step.action !== 'update') throw new Error(`${step.id} is no update`);
    return step;
  });
const edited = (made: Plan): readonly string[] => updates(made).flatMap(({ edits }) => edits.map(({ path }) => path));

/** A running container whose keys the set owns. */
function owned(config: Readonly<Record<string, string>>): JsonObject {
  const live = liveContainer('c1', { config }) as unknown as JsonObject;
  const record = makeRecord(
    {
      set: 's',
      paths: Object.keys(config).map((key) => ['config', key]),
      whole: true,
      policy: policyOf(defaultManage),
      takes: [],
    },
    live,
    hash,
  );
  return { ...live, config: { ...config, [recordKey('s')]: renderRecord(record) } };
}
const observedWith = (live: JsonObject, profiles: readonly ReturnType<typeof liveProfile>[] = []): Observed =>
  world({ containers: [live as never], profiles });
/** The container after the steps of the plan. */
function after(live: JsonObject, made: Plan): JsonObject {
  return updates(made).reduce((object, { edits, owner: write }) => {
    const next = applyEdits(object, edits);
    const config = { ...(next['config'] as JsonObject) };
    if (write !== undefined && 'paths' in write)
      config[recordKey('s')] = renderRecord(makeRecord(write, next, hash, recordOf(object)));
    return { ...next, config };
  }, live);
}
const recordOf = (live: JsonObject): OwnerRecord | undefined => recordsIn(live).get('s');

describe('a container', () => {
  const before = { 'user.note': 'a', 'security.nesting': 'false', 'security.privileged': 'true' };
  const declared = (manage: typeof still | object = still): Document =>
    document(
      'container',
      'c1',
      { config: { 'user.note': 'b', 'security.nesting': 'true', 'limits.memory': '64MiB' } },
      manage,
    );

  test('gets its live changes, and the guard names the waiting ones', () => {
    const made = plan([declared()], observedWith(owned(before)));
    expect(edited(made)).toEqual(['config.limits.memory', 'config.user.note']);
    expect(made.changes[0]).toMatchObject({ isSplit: true, action: 'update', guard: { code: 'disruption' } });
    expect(made.guards[0]?.message).toBe(
      'container/c1 would have to restart: config.security.nesting, config.security.privileged',
    );
  });

  test('afterwards only the rest differs: keys that are dropped, changed and added are still found', () => {
    const live = owned(before);
    const first = after(live, plan([declared()], observedWith(live)));
    const second = plan([declared()], observedWith(first));
    expect([second.steps, second.guards.length]).toEqual([[], 1]);
    const open = plan([declared({})], observedWith(first), {});
    expect(open.guards).toEqual([]);
    expect(open.changes[0]?.changes.map(({ path, after: value, origin }) => [path, value, origin])).toEqual([
      ['config.security.nesting', 'true', 'manifest'],
      ['config.security.privileged', undefined, 'manifest'],
    ]);
    expect(open.steps.map(({ action }) => action)).toEqual(['update', 'restart']);
  });

  test('a container without live changes has no step, and without the option its whole change is refused', () => {
    const live = observedWith(owned({ 'security.nesting': 'false' }));
    const rest = document('container', 'c1', { config: { 'security.nesting': 'true' } }, still);
    expect(plan([rest], live).steps).toEqual([]);
    const refused = plan([declared()], observedWith(owned(before)), { allowRestart: false });
    expect([refused.steps, refused.guards.length]).toEqual([[], 1]);
  });

  test('a container that is stopped gets everything', () => {
    const live = { ...owned(before), status: 'Stopped', status_code: 102 };
    const made = plan(
      [document('container', 'c1', { config: { 'security.nesting': 'true' } }, { ...still, state: 'stopped' })],
      observedWith(live),
    );
    expect(made.guards).toEqual([]);
    expect(edited(made)).toContain('config.security.nesting');
  });

  test('is not rebuilt for a newer image, and gets its live changes meanwhile', () => {
    const [old, next] = [fingerprintOf('old'), fingerprintOf('next')];
    const live = owned({ 'user.note': 'a' });
    const container = { ...live, config: { ...(live['config'] as JsonObject), 'volatile.base_image': old } };
    const images = [liveImage(old), liveImage(next)];
    const observed = world({ containers: [container as never], images, aliases: [liveAlias('base', next)] });
    const values = { config: { 'user.note': 'b' }, source: { type: 'image', alias: 'base' } };
    for (const image of ['rebuild', 'recreate'] as const) {
      const wanted = document('container', 'c1', values, { manage: { ...still.manage, image } });
      const made = planChanges({ documents: [wanted], observed, options: calm, owner });
      expect(edited(made)).toEqual(['config.user.note']);
      expect(made.guards[0]?.message).toContain('container/c1 would be replaced: its image moved on from');
      expect(planChanges({ documents: [wanted], observed, owner }).changes[0]?.action).toBe('replace');
    }
  });
});

describe('a profile', () => {
  const live = { ...(liveContainer('c1', { profiles: ['p'] }) as unknown as JsonObject) };
  const observed = observedWith(live, [liveProfile('p', { config: { 'user.note': 'a' } })]);
  const changed = document('profile', 'p', { config: { 'user.note': 'b', 'security.nesting': 'true' } }, still);
  const container = (manage: object): Document => document('container', 'c1', { profiles: ['p'] }, manage);

  test('keeps values that would restart a container of the plan, which is left alone', () => {
    const made = plan([changed, container(still)], observed);
    expect(made.steps.filter(({ address }) => address === 'profile/p')).toHaveLength(1);
    expect(edited(made)).toEqual(['config.user.note']);
    expect(made.guards.map(({ message }) => message)).toEqual(['profile/p would restart container/c1']);
  });

  test('gets everything when nothing restarts for it', () => {
    const made = plan([changed, container({ manage: { disruption: 'none', power: 'ignore' } })], observed);
    expect(made.guards).toEqual([]);
    expect(edited(made)).toEqual(['config.security.nesting', 'config.user.note']);
  });
});

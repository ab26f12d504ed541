// A change that is refused in one wave holds the changes of later waves back.
import { describe, expect, test } from 'vitest';
import { planAround } from '../../../reconciler/controller/decide/plan-around.ts';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { defaultManage, type Document } from '../../../reconciler/core/documents/document.ts';
import { makeRecord, recordKey, renderRecord } from '../../../reconciler/core/ownership/owner-records.ts';
import { policyOf } from '../../../reconciler/core/ownership/recorded-policy.ts';
import type { Plan } from '../../../reconciler/core/plan/plan.ts';
import type { MadePlan } from '../../../reconciler/engine/runs/make-plan.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import { document, liveContainer, liveProfile, world } from '../../support/fakes/worlds.ts';

const observed = world({ containers: [liveContainer('db')] });
const wave = (at: number): { readonly manage: { readonly wave: number } } => ({ manage: { wave: at } });
const plan = (...documents: readonly Document[]): Plan => {
  const made = planChanges({ documents, observed });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
};
const steps = ({ steps: all }: Pick<Plan, 'steps'>): readonly string[] => all.map(({ id }) => id);
const guards = ({ guards: all }: Pick<Plan, 'guards'>): readonly string[] =>
  all.map(({ code, address }) => `${code} ${address}`);

/** Needs a new container, which no plan makes unasked. */
const db = document('container', 'db', { architecture: 'aarch64' });

describe('a refused change', () => {
  test('holds the later waves back, and not its own', () => {
    const made = plan(db, document('profile', 'beside'), document('profile', 'late', {}, wave(2)));
    expect(steps(made)).toEqual(['profile/beside#create']);
    expect(guards(made).toSorted()).toEqual(['dependency profile/late', 'disruption container/db']);
    expect(made.guards.find(({ address }) => address === 'profile/late')?.message).toBe(
      'profile/late of wave 2 comes after container/db of wave 0, whose change is refused',
    );
  });

  test('holds nothing of the earlier waves back', () => {
    const made = plan({ ...db, manage: { ...db.manage, wave: 1 } }, document('profile', 'early'));
    expect([steps(made), guards(made)]).toEqual([['profile/early#create'], ['disruption container/db']]);
  });

  test('leaves objects alone that are as declared', () => {
    const same = document('container', 'db', {}, wave(1));
    const refused = document('container', 'other', { architecture: 'aarch64' });
    const both = world({ containers: [liveContainer('db'), liveContainer('other')] });
    const made = planChanges({ documents: [same, refused], observed: both });
    expect(guards(made)).toEqual(['disruption container/other']);
  });
});

test('an object with an error holds the later waves back, and not its own', () => {
  const documents = [
    document('container', 'broken'),
    document('profile', 'beside'),
    document('profile', 'late', {}, wave(1)),
  ];
  const made = planAround(
    documents,
    (exclude) => ({ plan: planChanges({ documents, observed, options: { exclude } }), observed }) as MadePlan,
  );
  expect(steps(made.plan)).toEqual(['profile/beside#create']);
  expect(guards(made.plan)).toEqual(['invalid container/broken', 'dependency profile/late']);
});

describe('the deletion of what is no longer declared', () => {
  const hash = (text: string): string => `h(${text})`;
  const owner = { set: 's', hash };
  /** A profile that the set made. */
  const old = (): Profile => {
    const live = liveProfile('old');
    const facts = { set: 's', paths: [], whole: true, policy: policyOf(defaultManage), takes: [] };
    return {
      ...live,
      config: { [recordKey('s')]: renderRecord(makeRecord(facts, live, hash)) },
    };
  };
  const there = world({ containers: [liveContainer('db')], profiles: [old()] });
  const pruning = (...documents: readonly Document[]): Plan => {
    const made = planChanges({ documents, observed: there, owner, options: { prune: true } });
    expect(checkPlan(made, there)).toEqual([]);
    return made;
  };
  const needsOf = (made: Plan, id: string) => made.steps.find((one) => one.id === id)?.needs;

  test('comes after all waves', () => {
    const made = pruning(document('profile', 'early'), document('profile', 'late', {}, wave(3)));
    expect(needsOf(made, 'profile/old#delete')).toEqual(['profile/late#create']);
    expect(needsOf(pruning(document('profile', 'early')), 'profile/old#delete')).toEqual([]);
  });

  test('waits while a change in a wave is refused', () => {
    const made = pruning({ ...db, manage: { ...db.manage, wave: 3 } }, document('profile', 'early'));
    expect(steps(made)).toEqual(['profile/early#create']);
    expect(guards(made).toSorted()).toEqual(['dependency profile/old', 'disruption container/db']);
    expect(steps(pruning(db)).toSorted()).toEqual(['profile/old#delete']);
  });
});

describe('a refused deletion in a destroy', () => {
  const kept = document('profile', 'kept', {}, { manage: { wave: 2, protect: true } });
  const live = world({ profiles: [liveProfile('kept'), liveProfile('beside'), liveProfile('early')] });
  const destroy = (...documents: readonly Document[]): Plan => {
    const made = planDestroy({ documents, observed: live });
    expect(checkPlan(made, live)).toEqual([]);
    return made;
  };

  test('holds the earlier waves back, which would go after it, and not its own', () => {
    const made = destroy(kept, document('profile', 'beside', {}, wave(2)), document('profile', 'early'));
    expect(steps(made)).toEqual(['profile/beside#delete']);
    expect(guards(made).toSorted()).toEqual(['dependency profile/early', 'protected profile/kept']);
    expect(made.guards.find(({ address }) => address === 'profile/early')?.message).toBe(
      'the deletion of profile/early of wave 0 comes after profile/kept of wave 2, whose deletion is refused',
    );
  });

  test('holds nothing of the later waves back', () => {
    const made = destroy(kept, document('profile', 'early', {}, wave(3)));
    expect([steps(made), guards(made)]).toEqual([['profile/early#delete'], ['protected profile/kept']]);
  });
});

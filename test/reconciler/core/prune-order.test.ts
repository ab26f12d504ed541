// What is no longer declared goes in the order of its use, and data goes last, only when the rest of the plan is done.
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import {
  defaultManage,
  type Document,
  type JsonObject,
  type Manage,
} from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { makeRecord, recordKey, renderRecord, type Path } from '../../../reconciler/core/ownership/owner-records.ts';
import { policyOf } from '../../../reconciler/core/ownership/recorded-policy.ts';
import type { Plan, PlanOptions } from '../../../reconciler/core/plan/plan.ts';
import { hasDifferences } from '../../../reconciler/core/plan/summary.ts';
import { applyPlan } from '../../support/fakes/model-daemon.ts';
import {
  document,
  liveContainer,
  liveNetwork,
  livePool,
  liveProfile,
  liveVolume,
  world,
} from '../../support/fakes/worlds.ts';

const hash = (text: string): string => `h(${text})`;
const owner = { set: 's', hash };

/** The set has a record of it: as a whole, or only of these paths. */
function owned<T extends { readonly config: object }>(
  live: T,
  paths: readonly Path[] = [],
  manage: Partial<Manage> = {},
): T {
  const policy = policyOf({ ...defaultManage, ...manage });
  const facts = { set: 's', paths, whole: paths.length === 0, policy, takes: [] };
  const record = renderRecord(makeRecord(facts, live as unknown as JsonObject, hash));
  return { ...live, config: { ...live.config, [recordKey('s')]: record } };
}

function plan(observed: Observed, documents: readonly Document[], options: PlanOptions = {}): Plan {
  const all = { prune: true, allowDestroy: true, ...options };
  const made = planChanges({ documents, observed, owner, options: all });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
}
const stepsOf = ({ steps }: Plan): readonly string[] => steps.map(({ id }) => id);
const needsOf = ({ steps }: Plan, id: string) => steps.find((one) => one.id === id)?.needs;
const guardsOf = ({ guards }: Plan): readonly string[] => guards.map(({ code, address }) => `${code} ${address}`);

describe('objects that use each other', () => {
  const root = { type: 'disk', path: '/', pool: 'fast' };
  const eth0 = { type: 'nic', nictype: 'bridged', parent: 'br1' };
  const eth0Paths = Object.keys(eth0).map((key) => ['devices', 'eth0', key]);

  test('containers go before their profile, and that before its network and pool', () => {
    const observed = world({
      containers: [owned(liveContainer('c', { profiles: ['p'] }))],
      profiles: [liveProfile('default', { devices: {} }), owned(liveProfile('p', { devices: { root, eth0 } }))],
      networks: [owned(liveNetwork('br1'))],
      pools: [owned(livePool('fast'))],
    });
    const made = plan(observed, [], { pruneLimit: { percent: 100 } });
    expect(guardsOf(made)).toEqual([]);
    expect(stepsOf(made).indexOf('profile/p#delete')).toBeGreaterThan(stepsOf(made).indexOf('container/c#delete'));
    expect(needsOf(made, 'profile/p#delete')).toEqual(['container/c#delete']);
    expect(needsOf(made, 'network/br1#delete')).toContain('profile/p#delete');
    expect(needsOf(made, 'storage_pool/fast#delete')).toContain('profile/p#delete');
  });

  test('a network goes once its device is taken out of the profile default, which stays', () => {
    const observed = world({
      containers: [owned(liveContainer('c'))],
      profiles: [owned(liveProfile('default', { devices: { root, eth0 } }), eth0Paths)],
      networks: [owned(liveNetwork('br1'))],
      pools: [livePool('fast')],
    });
    const made = plan(observed, []);
    expect(guardsOf(made)).toEqual([]);
    expect(stepsOf(made)).toEqual([
      'container/c#stop',
      'container/c#delete',
      'profile/default#update',
      'network/br1#delete',
    ]);
    expect(needsOf(made, 'network/br1#delete')).toContain('profile/default#update');
  });

  test('a network stays when a container of others uses it by the profile default', () => {
    const observed = world({
      containers: [liveContainer('other')],
      profiles: [owned(liveProfile('default', { devices: { root, eth0 } }), eth0Paths)],
      networks: [owned(liveNetwork('br1'))],
      pools: [livePool('fast')],
    });
    const made = plan(observed, []);
    expect([stepsOf(made), guardsOf(made)]).toEqual([[], ['in-use network/br1']]);
  });
});

describe('objects that their last apply ordered', () => {
  const profile = (name: string, manage: Partial<Manage> = {}): Document => document('profile', name, {}, { manage });
  /** The world after an apply of these documents, which a second one finds as declared. */
  const applied = (...documents: readonly Document[]): Observed => {
    const made = applyPlan(plan(world({}), documents), world({}), owner);
    expect(plan(made, documents).steps).toEqual([]);
    return made;
  };
  const all: PlanOptions = { pruneLimit: { percent: 100 } };

  test('go before what they depended on', () => {
    const there = applied(
      profile('a'),
      profile('b', { dependsOn: ['profile/a'] }),
      profile('c', { dependsOn: ['profile/b', 'profile/a'] }),
    );
    const made = plan(there, [], all);
    expect(stepsOf(made)).toEqual(['profile/c#delete', 'profile/b#delete', 'profile/a#delete']);
    expect(needsOf(made, 'profile/a#delete')).toEqual(['profile/b#delete', 'profile/c#delete']);
    expect(stepsOf(plan(there, [profile('a')], all))).toEqual(['profile/c#delete', 'profile/b#delete']);
  });

  test('go in the reverse of their waves, and not while a deletion of a later wave is refused', () => {
    const ordered = [profile('a'), profile('b', { wave: 2 }), profile('c', { wave: 1 })];
    const made = plan(applied(...ordered), [], all);
    expect(stepsOf(made)).toEqual(['profile/b#delete', 'profile/c#delete', 'profile/a#delete']);
    expect(needsOf(made, 'profile/a#delete')).toEqual(['profile/c#delete']);
    const held = plan(applied(...ordered, profile('d', { wave: 1, protect: true })), [], all);
    expect(stepsOf(held)).toEqual(['profile/b#delete', 'profile/c#delete']);
    expect(guardsOf(held).toSorted()).toEqual(['dependency profile/a', 'protected profile/d']);
  });

  test('have their order recorded although nothing else of them changes, which counts as no difference', () => {
    const there = applied(profile('a'), profile('b'));
    const ordered = [profile('a', { wave: 1 }), profile('b', { dependsOn: ['profile/a'], wave: 1 })];
    const made = plan(there, ordered);
    expect([stepsOf(made), hasDifferences(made)]).toEqual([['profile/a#update', 'profile/b#update'], false]);
    const then = applyPlan(made, there, owner);
    expect(stepsOf(plan(then, ordered))).toEqual([]);
    expect(stepsOf(plan(then, [], all))).toEqual(['profile/b#delete', 'profile/a#delete']);
  });
});

describe('an object with data', () => {
  const profiles = [liveProfile('default')];
  const pools = [livePool('fast')];
  const observed = world({
    containers: [owned(liveContainer('old')), liveContainer('gate', { status: 'Stopped', status_code: 102 })],
    profiles: [...profiles, owned(liveProfile('gone'))],
    pools,
    volumes: [owned(liveVolume('fast/data'))],
  });
  const source = { type: 'none' };

  test('goes after everything else in the plan, so that a failure there keeps it', () => {
    const made = plan(observed, [document('container', 'new', { source })]);
    expect(needsOf(made, 'container/old#stop')).toEqual(['container/new#start']);
    expect(needsOf(made, 'storage_volume/fast/data#delete')).toEqual(['container/new#start']);
    expect(needsOf(made, 'profile/gone#delete')).toEqual([]);
  });

  test('stays while the creation of another object is refused', () => {
    const late = document('container', 'new', { source }, { manage: { dependsOn: ['container/gate'] } });
    const made = plan(observed, [late]);
    expect(stepsOf(made)).toEqual(['profile/gone#delete']);
    expect(guardsOf(made).toSorted()).toEqual([
      'dependency container/new',
      'dependency container/old',
      'dependency storage_volume/fast/data',
    ]);
    expect(made.guards.find(({ address }) => address === 'container/old')?.message).toBe(
      'container/old is not deleted before container/new exists, which cannot be created now',
    );
  });

  test('stays while an object that is left out for now is missing', () => {
    const fresh = document('container', 'new', { source });
    const exclude = { exclude: ['container/new'] } as const;
    const held = plan(observed, [fresh], { ...exclude, awaitsExcluded: true });
    expect(stepsOf(held)).toEqual(['profile/gone#delete']);
    expect(stepsOf(plan(observed, [fresh], exclude))).toContain('container/old#delete');
    const there = plan(observed, [document('container', 'gate')], {
      exclude: ['container/gate'],
      awaitsExcluded: true,
    });
    expect(stepsOf(there)).toContain('container/old#delete');
  });

  test('waits only for the creation of a container that wants its port', () => {
    const port = { type: 'proxy', listen: 'tcp:0.0.0.0:80', connect: 'tcp:127.0.0.1:80' };
    const taken = world({ containers: [owned(liveContainer('old', { devices: { port } }))], profiles, pools });
    const heir = document('container', 'new', { source, devices: { port } });
    const made = plan(taken, [heir, document('profile', 'beside')]);
    expect(needsOf(made, 'container/old#stop')).toEqual(['container/new#create']);
  });

  // The start of that container fails until then, so that nothing which comes after it in the order would ever begin.
  test('waits for no wave and no dependent of it when a new container wants its port', () => {
    const port = { type: 'proxy', listen: 'tcp:0.0.0.0:80', connect: 'tcp:127.0.0.1:80' };
    const old = owned(liveContainer('old', { devices: { port } }));
    const manage = { dependsOn: ['container/old'] } as const;
    const taken = world({ containers: [old, owned(liveContainer('user'), [], manage)], profiles, pools });
    const heir = document('container', 'new', { source, devices: { port } });
    const made = plan(taken, [heir, document('profile', 'late', {}, { manage: { wave: 1 } })]);
    expect(needsOf(made, 'container/old#stop')).toEqual(['container/new#create']);
    expect(needsOf(made, 'container/user#stop')).toEqual(['container/new#start', 'profile/late#create']);
  });
});

test('an object that is left alone for now stays, and is listed', () => {
  const observed = world({ profiles: [owned(liveProfile('a')), owned(liveProfile('b'))] });
  const made = plan(observed, [], { leaves: new Map([['profile/a', 'debugging']]) });
  expect([stepsOf(made), made.orphans]).toEqual([['profile/b#delete'], []]);
  expect(made.changes.find(({ name }) => name === 'a')).toMatchObject({ action: 'no-op', reasons: ['debugging'] });
});

describe('the root disk of a container that was there before', () => {
  const root = { type: 'disk', path: '/', pool: 'fast' };
  const paths = [...Object.keys(root).map((key) => ['devices', 'root', key]), ['config', 'user.x']];
  const before = liveContainer('c', { profiles: ['default'], devices: { root }, config: { 'user.x': '1' } });
  const observed = world({
    containers: [owned(before, paths)],
    profiles: [liveProfile('default', { devices: {} })],
    pools: [livePool('fast')],
  });

  test('stays when the rest of the set is taken out', () => {
    const [gone] = planDestroy({ documents: [document('container', 'c')], observed, owner }).changes;
    expect(gone?.changes.map(({ path }) => path)).toEqual(['config.user.x']);
  });

  test('is not taken away by a document without it, unless a profile has one', () => {
    const bare = document('container', 'c', { profiles: ['default'], config: { 'user.x': '1' } });
    const made = plan(observed, [bare]);
    expect(made.guards.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^container\/c would lose its root/),
    ]);
    const given = document('profile', 'default', { devices: { root } });
    expect(stepsOf(plan(observed, [bare, given]))).toEqual(['profile/default#update', 'container/c#update']);
  });
});

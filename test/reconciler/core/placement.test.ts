// Actual and declared members of containers: moves, groups, evacuated and offline members.
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import { findDrift } from '../../../reconciler/core/drift/drift.ts';
import type { Observed, ObservedMember } from '../../../reconciler/core/documents/observed.ts';
import type { Plan, PlanOptions, SetOwner } from '../../../reconciler/core/plan/plan.ts';
import { document, liveContainer, livePool, liveProfile, world } from '../../support/fakes/worlds.ts';

const running = { status: 'Running', status_code: 103 } as const;
const stopped = { status: 'Stopped', status_code: 102 } as const;
const root = { type: 'disk', path: '/', pool: 'fast' };

type Live = Parameters<typeof liveContainer>[1];
const cluster = (members: Readonly<Record<string, ObservedMember>>, ...containers: [string, Live][]): Observed => ({
  ...world({
    pools: [livePool('fast')],
    profiles: [liveProfile('default', { devices: { root } })],
    containers: containers.map(([name, live]) => liveContainer(name, live)),
  }),
  members: new Map(Object.entries(members)),
});
const online = { status: 'Online', groups: ['default'] };
const fast = { status: 'Online', groups: ['default', 'fast'] };
const three = { m1: online, m2: fast, m3: fast };

const web = (target: string, more: Partial<Document> = {}): Document => ({
  ...document('container', 'web', { target, source: { type: 'none' } }),
  ...more,
});
const plan = (observed: Observed, wanted: Document, options: PlanOptions = {}): Plan => {
  const made = planChanges({ documents: [wanted], observed, options });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
};
const ids = ({ steps }: Plan): readonly string[] => steps.map(({ id }) => id);
const guards = (made: Plan): readonly string[] => made.guards.map(({ code, message }) => `${code}: ${message}`);

describe('moves', () => {
  test('a running container stops, moves and starts; a stopped one only moves', () => {
    const made = plan(cluster(three, ['web', { ...running, location: 'm1' }]), web('m2'));
    expect(ids(made)).toEqual(['container/web#stop', 'container/web#update', 'container/web#start']);
    expect(made.changes[0]).toMatchObject({
      power: 'restart',
      changes: [{ path: 'target', before: 'm1', after: 'm2' }],
      reasons: ['it stops, moves from m1 to m2, and starts there'],
    });
    const still = plan(cluster(three, ['web', { ...stopped, location: 'm1' }]), web('m2', { state: 'stopped' }));
    expect(ids(still)).toEqual(['container/web#update']);
    const stopping = plan(cluster(three, ['web', { ...running, location: 'm1' }]), web('m2', { state: 'stopped' }));
    expect(ids(stopping)).toEqual(['container/web#stop', 'container/web#update']);
    expect(ids(plan(cluster(three, ['web', { ...running, location: 'm2' }]), web('m2')))).toEqual([]);
  });

  test('a group is any of its members; from outside, the one with the fewest containers is chosen', () => {
    expect(ids(plan(cluster(three, ['web', { ...running, location: 'm3' }]), web('@fast')))).toEqual([]);
    const busy = cluster(three, ['web', { ...running, location: 'm1' }], ['other', { ...running, location: 'm2' }]);
    expect(plan(busy, web('@fast')).changes[0]?.changes).toMatchObject([{ before: 'm1', after: 'm3' }]);
    const away = { m1: online, m2: { ...fast, status: 'Offline' }, m3: { ...fast, status: 'Evacuated' } };
    expect(guards(plan(cluster(away, ['web', { ...running, location: 'm1' }]), web('@fast')))).toEqual([
      expect.stringContaining('no member of that group is online'),
    ]);
  });

  test.each([
    [{ ...running, ephemeral: true }, {}, 'a stop deletes it'],
    [running, { power: 'ignore' }, 'manage.power is ignore'],
    [running, { disruption: 'none' }, 'would have to restart: target'],
  ] as const)('a move that the container cannot make is refused: %j %j', (live, manage, text) => {
    const wanted = web('m2');
    const observed = cluster(three, ['web', { ...live, location: 'm1' }]);
    const made = plan(observed, { ...wanted, manage: { ...wanted.manage, ...manage } });
    expect([ids(made), guards(made)]).toEqual([[], [expect.stringContaining(text)]]);
  });

  test('manage.ignore leaves it where it is', () => {
    const wanted = web('m2');
    const ignoring = { ...wanted, manage: { ...wanted.manage, ignore: [{ path: 'target' }] } };
    expect(ids(plan(cluster(three, ['web', { ...running, location: 'm1' }]), ignoring))).toEqual([]);
  });
});

describe('evacuated members', () => {
  const evacuated = { ...three, m2: { ...fast, status: 'Evacuated' } };

  test('containers that moved away stay until the member is restored, and those that wait on it are not started', () => {
    const config = { 'volatile.evacuate.origin': 'm2' };
    expect(ids(plan(cluster(evacuated, ['web', { ...running, location: 'm1', config }]), web('m2')))).toEqual([]);
    const waiting = plan(cluster(evacuated, ['web', { ...stopped, location: 'm2' }]), web('m2'));
    expect(ids(waiting)).toEqual([]);
    expect(waiting.changes[0]).toMatchObject({ action: 'no-op', changes: [] });
    const arriving = { ...config, 'volatile.evacuate.power': 'RUNNING' };
    const moved = cluster(evacuated, ['web', { ...stopped, location: 'm1', config: arriving }]);
    expect(ids(plan(moved, web('m2')))).toEqual([]);
    const restored = cluster(three, ['web', { ...stopped, location: 'm2' }]);
    expect(ids(plan(restored, web('m2')))).toEqual(['container/web#start']);
  });

  test('other changes of a container that waits are made, without a start', () => {
    const wanted = { ...web('m2'), values: { ...web('m2').values, description: 'new' } };
    expect(ids(plan(cluster(evacuated, ['web', { ...stopped, location: 'm2' }]), wanted))).toEqual([
      'container/web#update',
    ]);
  });

  test('nothing is created on an evacuated member or moved to it', () => {
    expect(guards(plan(cluster(evacuated), web('m2')))).toEqual([
      'member: container/web cannot be created on m2: it is evacuated',
    ]);
    expect(guards(plan(cluster(evacuated, ['web', { ...running, location: 'm1' }]), web('m2')))).toEqual([
      expect.stringContaining('and m2 is evacuated'),
    ]);
  });
});

test('nothing is started, moved or changed on a member that is offline', () => {
  const offline = { ...three, m2: { ...fast, status: 'Offline' } };
  const unknown = { status: 'Error', status_code: 112, location: 'm2' } as const;
  for (const target of ['m2', 'm1']) expect(ids(plan(cluster(offline, ['web', unknown]), web(target)))).toEqual([]);
  const wanted = { ...web('m2'), values: { ...web('m2').values, description: 'new' } };
  expect(guards(plan(cluster(offline, ['web', unknown]), wanted))).toEqual([
    'member: container/web cannot be changed: its member m2 is offline',
  ]);
});

describe('a container that LXD lists without values', () => {
  const owner: SetOwner = { set: 'stack', hash: (text) => text };
  /** As LXD 5.0 lists a container whose member does not answer, before the cluster counts the member as offline. */
  const unread: Live = { architecture: '', profiles: [], status: 'Error', status_code: 112, location: 'm2' };
  const listing = (observed: Observed, live: Live): Observed => {
    const object = liveContainer('web', live);
    return { ...observed, containers: new Map([...observed.containers, ['web', { object }]]) };
  };
  const observed = listing(cluster(three, ['other', { ...running, location: 'm1' }]), unread);
  const refused =
    'member: container/web cannot be compared: its member m2 does not answer, or cannot read it, and lists it without values (status Error)';

  test.each([{}, { owner }])('It is neither as declared nor different: %j', (more) => {
    const made = planChanges({ documents: [web('m1')], observed, ...more });
    expect(checkPlan(made, observed)).toEqual([]);
    expect([ids(made), guards(made)]).toEqual([[], [refused]]);
    expect(made.changes[0]).toMatchObject({ action: 'no-op', changes: [] });
    const differences = [{ path: 'state', cause: 'unknown', live: 'error', declared: 'running or stopped' }];
    expect(findDrift({ plan: made, observed, owner })).toMatchObject({ objects: [{ differences }], undeclared: [] });
  });

  test.each([{}, { owner }])('A destroy neither deletes it nor takes it for foreign: %j', (options) => {
    const made = planDestroy({ documents: [web('m2')], observed, ...options });
    expect(checkPlan(made, observed)).toEqual([]);
    expect([ids(made), guards(made)]).toEqual([[], [refused]]);
  });

  test('A prune leaves it, and a plan says so for a server in no cluster', () => {
    const alone = listing(world({}), { ...unread, location: 'none' });
    const pruned = planChanges({ documents: [], observed: alone, owner, options: { prune: true } });
    expect([ids(pruned), guards(pruned)]).toEqual([[], []]);
    const declared = document('container', 'web', { source: { type: 'none' } });
    expect(guards(planChanges({ documents: [declared], observed: alone, owner }))).toEqual([
      'member: container/web cannot be compared: the server cannot read it, and lists it without values (status Error)',
    ]);
  });
});

describe('a member is offline', () => {
  const offline = { ...three, m2: { ...fast, status: 'Offline' } };
  const pool = document('storage_pool', 'fast', { driver: 'dir' });
  const volume = (target?: string): Document =>
    document('storage_volume', 'fast/data', target === undefined ? {} : { target });
  const destroyed = (observed: Observed, ...documents: Document[]): readonly string[] => {
    const made = planDestroy({ documents, observed });
    expect(checkPlan(made, observed)).toEqual([]);
    return [...ids(made), ...guards(made)];
  };

  test('its own objects and cluster-wide ones are not deleted; the rest is', () => {
    const observed = cluster(offline, ['web', { ...stopped, location: 'm2' }], ['b', { ...stopped, location: 'm1' }]);
    expect(destroyed(observed, web('m2'), document('container', 'b', {}))).toEqual([
      'container/b#delete',
      'member: container/web cannot be deleted: its member m2 is offline',
    ]);
    const bare = (members: Readonly<Record<string, ObservedMember>>): Observed => ({
      ...world({ pools: [livePool('fast')] }),
      members: new Map(Object.entries(members)),
    });
    expect(destroyed(bare(offline), pool)).toEqual([
      'member: storage_pool/fast cannot be deleted: every member has it, and m2 is offline',
    ]);
    expect(destroyed(bare(three), pool)).toEqual(['storage_pool/fast#delete']);
  });

  test('an unlisted volume may exist, unless it belongs to another member', () => {
    const unseen = 'member: storage_volume/fast/data may be on the member m2, which is offline: it is not deleted';
    expect(destroyed(cluster(offline), volume())).toEqual([unseen]);
    expect(destroyed(cluster(offline), volume('@fast'))).toEqual([unseen]);
    expect(destroyed(cluster(offline), volume('m1'))).toEqual([]);
    expect(destroyed(cluster(three), volume())).toEqual([]);
  });

  test('pools are neither made nor changed', () => {
    const more = document('storage_pool', 'more', { driver: 'dir' });
    expect(guards(plan(cluster(offline), more))).toEqual([
      'member: storage_pool/more cannot be created: every member has it, and m2 is offline',
    ]);
    const changed = document('storage_pool', 'fast', { driver: 'dir', description: 'new' });
    expect(guards(plan(cluster(offline), changed))).toEqual([
      'member: storage_pool/fast cannot be changed: every member has it, and m2 is offline',
    ]);
    expect(guards(plan(cluster(offline), pool))).toEqual([]);
  });

  test('pools are made and changed by a gantryd, whose members follow when they are back', () => {
    const found = cluster(offline);
    const ofGantry = { ...found, server: { ...found.server, isGantry: true } };
    const more = document('storage_pool', 'more', { driver: 'dir' });
    expect(guards(plan(ofGantry, more))).toEqual([]);
  });
});

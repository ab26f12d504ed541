// Rollouts that a newer rollout overtakes, that the end of the controller cuts off, or whose controller is not the active one meanwhile.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LoadedRevision } from '../../../reconciler/controller/sets/load-revision.ts';
import type { SetOnHost } from '../../../reconciler/controller/sets/on-host/set-on-host.ts';
import { until } from '../../support/until.ts';
import { Rollouts, type RolloutDeps, type StartPart } from '../../../reconciler/controller/sets/rollouts.ts';

const start: StartPart = { kind: 'sync', reason: 'commit', by: 'ann' };
const loaded = { hosts: new Map([['h1', { text: 't' }]]) } as unknown as LoadedRevision;

/** A set with one host. `endHook` ends the failure hook that runs. */
function begun(more: Partial<RolloutDeps>) {
  const state = {
    isFailed: false,
    isSynced: false,
    withdrawn: [] as string[],
    endHook: undefined as (() => void) | undefined,
  };
  const host = {
    name: 'h1',
    isAway: false,
    isTried: true,
    give: () => {},
    get isFailed() {
      return state.isFailed;
    },
    get isSynced() {
      return state.isSynced;
    },
  } as unknown as SetOnHost;
  const run = { isEnded: false, end: () => {} };
  const rollouts = new Rollouts({
    rollout: { stopAfter: 1, rollback: true },
    batchesOf: (hosts) => [hosts],
    hosts: [host],
    appliedText: () => undefined,
    noteGiven: () => {},
    begin: () => run as unknown as ReturnType<RolloutDeps['begin']>,
    hasEarlier: () => true,
    goBack: async (from) => {
      state.withdrawn.push(from);
      return undefined;
    },
    onWithdrawn: () => {},
    onFailure: () => new Promise((resolve) => (state.endHook = () => resolve(undefined))),
    onGood: () => {},
    onError: () => {},
    by: 'gantry',
    nowMs: () => 0,
    ...more,
  });
  return { rollouts, state };
}

async function untilHook(state: ReturnType<typeof begun>['state']): Promise<void> {
  for (let turns = 0; state.endHook === undefined && turns < 100; turns += 1) await turn();
}

test('a rollout that failed withdraws nothing when the revision is rolled out again during its hook', async () => {
  const { rollouts, state } = begun({});
  state.isFailed = true;
  rollouts.start('r1', loaded, start);
  await untilHook(state);
  const endFirst = state.endHook;
  state.isFailed = false;
  rollouts.start('r1', loaded, start);
  endFirst?.();
  await turn();
  expect(state.withdrawn).toEqual([]);
});

test('a rollout that a check stopped withdraws nothing when the revision is rolled out again during its hook', async () => {
  let verdicts = 0;
  const { rollouts, state } = begun({ check: async () => (verdicts++ === 0 ? 'too slow' : undefined) });
  state.isSynced = true;
  rollouts.start('r1', loaded, start);
  await untilHook(state);
  const endFirst = state.endHook;
  rollouts.start('r1', loaded, start);
  endFirst?.();
  await turn();
  expect([state.withdrawn, rollouts.isStopped]).toEqual([[], false]);
});

test('a rollout that failed withdraws its revision after its hook', async () => {
  const { rollouts, state } = begun({});
  state.isFailed = true;
  rollouts.start('r1', loaded, start);
  await untilHook(state);
  state.endHook?.();
  await turn();
  expect(state.withdrawn).toEqual(['r1']);
});

test('a revision that failed is taken back when the last good one can be read again', async () => {
  const said: string[] = [];
  let tries = 0;
  const withdrawn: string[] = [];
  const { rollouts, state } = begun({
    onFailure: async () => undefined,
    onError: (message) => said.push(message),
    goBack: async () => {
      tries += 1;
      if (tries === 1) throw new Error('Vault does not answer');
      state.isFailed = false;
      state.isSynced = true;
      return { revision: 'r0', loaded };
    },
    onWithdrawn: (revision) => withdrawn.push(revision),
  });
  state.isFailed = true;
  rollouts.start('r1', loaded, start);
  await until(() => withdrawn.length > 0);
  expect([withdrawn, rollouts.message]).toEqual([['r1'], expect.stringContaining('It was taken back to r0')]);
  expect(said).toContain('Revision r1 cannot be taken back yet, it is tried again: Vault does not answer');
});

test('a revision that cannot be taken back yet stays when a newer one comes', async () => {
  let tries = 0;
  const { rollouts, state } = begun({
    onFailure: async () => undefined,
    goBack: async () => {
      tries += 1;
      throw new Error('Vault does not answer');
    },
  });
  state.isFailed = true;
  rollouts.start('r1', loaded, start);
  await until(() => tries === 1);
  state.isFailed = false;
  state.isSynced = true;
  rollouts.start('r2', loaded, start);
  await turn();
  expect([tries, rollouts.message]).toEqual([1, undefined]);
});

/** A rollout to a host that has the revision already, after a restart of the controller. */
function restarted(more: Partial<RolloutDeps>) {
  const good: string[] = [];
  const unchecked = new Set<string>();
  const { rollouts, state } = begun({
    appliedText: () => 't',
    isUnchecked: (revision) => unchecked.has(revision),
    noteUnchecked: (revision, isUnchecked) => void (isUnchecked ? unchecked.add(revision) : unchecked.delete(revision)),
    onGood: (revision) => void good.push(revision),
    hasEarlier: () => false,
    onFailure: async () => undefined,
    ...more,
  });
  state.isSynced = true;
  return { rollouts, state, good, unchecked };
}

test('a revision whose last check had not passed when the controller ended is checked again', async () => {
  const checked: string[] = [];
  let verdict: string | undefined = 'too slow';
  const { rollouts, good, unchecked } = restarted({
    check: async (revision) => {
      checked.push(revision);
      return verdict;
    },
  });
  unchecked.add('r1');
  rollouts.start('r1', loaded, start);
  await until(() => rollouts.isStopped);
  expect([checked, good, [...unchecked]]).toEqual([['r1'], [], ['r1']]);
  expect(rollouts.message).toContain('too slow');

  verdict = undefined;
  rollouts.start('r1', loaded, start);
  await until(() => good.length > 0);
  expect([checked, good, [...unchecked]]).toEqual([['r1', 'r1'], ['r1'], []]);
});

test('a revision that passed its checks is not checked again', async () => {
  const checked: string[] = [];
  const { rollouts, good } = restarted({ check: async (revision) => void checked.push(revision) });
  rollouts.start('r1', loaded, start);
  await until(() => good.length > 0);
  expect(checked).toEqual([]);
});

test('a controller that is no longer the active one takes nothing back and runs no hooks', async () => {
  const hooks: string[] = [];
  let isActive = true;
  const { rollouts, state } = restarted({
    appliedText: () => undefined,
    hasEarlier: () => true,
    check: async () => {
      isActive = false;
      return 'too slow';
    },
    isActive: () => isActive,
    onFailure: async ({ revision }) => void hooks.push(revision),
  });
  rollouts.start('r1', loaded, start);
  await until(() => !isActive);
  await turn();
  expect([hooks, state.withdrawn, rollouts.isStopped]).toEqual([[], [], false]);
  isActive = true;
  rollouts.wake();
  await until(() => state.withdrawn.length > 0);
  expect(hooks).toEqual(['r1']);
});

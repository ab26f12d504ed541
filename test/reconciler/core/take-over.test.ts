// Containers that take over a port or an address from another container of the set come after it.
import { expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import type { Document, JsonObject } from '../../../reconciler/core/documents/document.ts';
import { document, liveContainer, liveNetwork, livePool, liveProfile, world } from '../../support/fakes/worlds.ts';

const web = { type: 'proxy', listen: 'tcp:0.0.0.0:80', connect: 'tcp:127.0.0.1:80' };
const admin = { ...web, listen: 'tcp:0.0.0.0:81' };
const nic = { type: 'nic', network: 'br0', 'ipv4.address': '10.1.0.5' };
const root = { type: 'disk', path: '/', pool: 'fast' };

const container = (name: string, devices: JsonObject, more: object = {}): Document =>
  document('container', name, { source: { type: 'none' }, devices }, more);
const live = (name: string, devices: Record<string, Record<string, string>>, status_code = 103) =>
  liveContainer(name, { devices, expanded_devices: devices, status_code });

/** The steps of the plan with what they need. */
function stepsOf(documents: readonly Document[], ...containers: readonly ReturnType<typeof live>[]) {
  const observed = world({
    containers,
    profiles: [liveProfile('default', { devices: { root } })],
    networks: [liveNetwork('br0', { config: { 'ipv4.address': '10.1.0.1/24' } })],
    pools: [livePool('fast')],
  });
  const plan = planChanges({ documents, observed });
  expect(plan.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(checkPlan(plan, observed)).toEqual([]);
  return Object.fromEntries(plan.steps.map(({ id, needs }) => [id, needs]));
}

test('a new container comes after the one that gives it its port', () => {
  const steps = stepsOf([container('a', { web }), container('z', { web: null })], live('z', { web }));
  expect(steps['container/a#create']).toEqual(['container/z#update']);
});

test('a new container comes after the stop of the one whose port it takes', () => {
  const steps = stepsOf([container('a', { web }), container('z', { web }, { state: 'stopped' })], live('z', { web }));
  expect(steps['container/a#create']).toEqual(['container/z#stop']);
});

test('a new container comes after the one that gives it its address', () => {
  const changed = { eth0: { ...nic, 'ipv4.address': '10.1.0.6' } };
  const steps = stepsOf([container('a', { eth0: nic }), container('z', changed)], live('z', { eth0: nic }));
  expect(steps['container/a#create']).toEqual(['container/z#update']);
});

test('two containers that swap their ports are changed one after the other', () => {
  const steps = stepsOf(
    [container('a', { web: admin }), container('b', { web })],
    live('a', { web }),
    live('b', { web: admin }),
  );
  expect(steps).toEqual({ 'container/a#update': ['container/b#update'], 'container/b#update': [] });
});

test('a dependency comes before the container that needs it, even if that gives it a port', () => {
  const given = container('z', { web: null }, { manage: { dependsOn: ['container/a'] } });
  const steps = stepsOf([container('a', { web }), given], live('z', { web }));
  expect(steps['container/a#create']).toEqual([]);
});

test('a container that keeps its port holds up nothing', () => {
  const steps = stepsOf([container('a', { web: admin }), container('z', { web })], live('z', { web }));
  expect(steps['container/a#create']).toEqual([]);
});

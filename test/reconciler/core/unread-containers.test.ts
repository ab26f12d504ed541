// Containers that LXD lists without values, since their member does not answer: nothing is exported or adopted of them.
import { expect, test } from 'vitest';
import { planAdoption } from '../../../reconciler/core/adoption/adopt.ts';
import { exportWorld } from '../../../reconciler/core/adoption/export.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { writeExport } from '../../../reconciler/manifest/write-export.ts';
import { document, liveContainer, liveProfile, world } from '../../support/fakes/worlds.ts';

const unread = liveContainer('web', {
  status: 'Error',
  status_code: 112,
  architecture: '',
  profiles: [],
  location: 'node2',
});
const observed = world({ profiles: [liveProfile('default')], containers: [unread] });

test('an export names a container that cannot be read and declares nothing of it', () => {
  const objects = exportWorld(observed).filter(({ kind }) => kind === 'container');
  expect(objects.map(({ values }) => values)).toEqual([undefined]);
  expect(writeExport(objects, false).refused).toEqual([
    'container/web cannot be exported: its member node2 does not answer, or cannot read it, and lists it without values (status Error)',
  ]);
});

test('an adoption of a container that cannot be read is refused', () => {
  const owner = { set: 'default', key: 'k', hash: (text: string) => text };
  const documents = [document('container', 'web', { source: { type: 'none' } }, { state: 'stopped' })];
  const plan = planChanges({ documents, observed, owner });
  expect(planAdoption(plan, observed, owner, undefined).refusals).toEqual([
    expect.stringMatching(/^container\/web cannot be compared: its member node2 does not answer/),
  ]);
});

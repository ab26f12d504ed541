// The choice among several volumes of one name for a document, and the member in its steps.
import { expect, test } from 'vitest';
import {
  chooseVolumes,
  onMember,
  onMembers,
  tableWithTwins,
} from '../../../reconciler/core/live/volumes-of-one-name.ts';
import { bareDocument } from '../../../reconciler/core/documents/bare-document.ts';
import { emptyWorld, type Observed, type PooledVolume } from '../../../reconciler/core/documents/observed.ts';
import type { Step } from '../../../reconciler/core/plan/plan.ts';

const on = (location: string, config: Record<string, string> = {}): readonly [string, PooledVolume] => [
  'p/v',
  { name: 'v', pool: 'p', location, config, description: '', type: 'custom' } as unknown as PooledVolume,
];
const ours = { 'user.gantry.own.s': '{"v":1,"w":1,"k":{}}' };
const world = (...volumes: readonly (readonly [string, PooledVolume])[]): Observed => ({
  ...emptyWorld,
  volumes: tableWithTwins(volumes),
});
const document = (target?: string) => ({
  ...bareDocument('storage_volume', 'p/v'),
  values: target === undefined ? {} : { target },
});
const chosen = (observed: Observed, ...documents: readonly ReturnType<typeof document>[]): string | undefined =>
  chooseVolumes(observed, documents, 's').observed.volumes.get('p/v')?.object.location;

test('the target decides, then the record of the set; otherwise the document must name a target', () => {
  const two = world(on('m3'), on('m1'));
  expect(chosen(two, document('m1'))).toBe('m1');
  expect(chosen(two, document('m3'))).toBe('m3');
  expect(chosen(two, document('m2'))).toBeUndefined();
  expect(chosen(world(on('m1'), on('m3', ours)), document())).toBe('m3');
  for (const members of [two, world(on('m3', ours), on('m1', ours))])
    expect(chooseVolumes(members, [document()], 's').problems).toMatchObject([
      { code: 'several-volumes', path: 'target', remedy: 'write target: m1 or target: m3' },
    ]);
  expect(chooseVolumes(two, [document('m1')], 's').problems).toEqual([]);
});

test('an undeclared volume of the set counts, otherwise the first by its member', () => {
  expect(chosen(world(on('m3'), on('m1')))).toBe('m1');
  expect(chosen(world(on('m1'), on('m3', ours)))).toBe('m3');
});

test('a unique volume stays as it was listed', () => {
  const alone = world(on('m1'));
  expect(chooseVolumes(alone, [document('m2')], 's').observed).toBe(alone);
  expect(onMember(alone.volumes.get('p/v'), 'm2')?.object).toMatchObject({ location: 'm1' });
});

test('steps name the member of the volume, also for a snapshot of a new volume', () => {
  const step = (action: string, more: object = {}): Step =>
    ({
      id: `x#${action}`,
      address: 'storage_volume/p/v',
      kind: 'storage_volume',
      name: 'p/v',
      action,
      ...more,
    }) as unknown as Step;
  const targets = (steps: readonly Step[], observed: Observed): unknown[] =>
    onMembers(steps, observed).map((one) => ('target' in one ? one.target : undefined));
  const two = chooseVolumes(world(on('m3'), on('m1')), [document('m3')], 's').observed;
  expect(targets([step('update'), step('snapshot'), step('delete')], two)).toEqual(['m3', 'm3', 'm3']);
  expect(targets([step('update'), step('delete')], world(on('m3')))).toEqual([undefined, undefined]);
  const beside = chooseVolumes(world(on('m3'), on('m1')), [document('m2')], 's').observed;
  expect(targets([step('create', { target: 'm2' }), step('snapshot')], beside)).toEqual(['m2', 'm2']);
});

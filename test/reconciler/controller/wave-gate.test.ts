// The hooks before a wave come before all changes of the wave, and before no deletion.
import { expect, test } from 'vitest';
import { waveGate } from '../../../reconciler/controller/sets/hooks/wave-gate.ts';
import type { ResourceChange, Step } from '../../../reconciler/core/plan/plan.ts';

const change = (address: string, part: Partial<ResourceChange>): ResourceChange =>
  ({ address, ...part }) as ResourceChange;
const step = (address: string, action: Step['action']): Step => ({ address, action }) as Step;
const { signal } = new AbortController();

async function wavesBefore(changes: readonly ResourceChange[], ...steps: readonly Step[]): Promise<readonly number[]> {
  const waves: number[] = [];
  const gate = waveGate({ changes }, async (wave) => void waves.push(wave));
  for (const one of steps) await gate(one, signal);
  return waves;
}

test('an object that is replaced waits for the hooks before its wave, before it is deleted', async () => {
  const changes = [change('container/db', { action: 'replace', wave: 1 })];
  expect(await wavesBefore(changes, step('container/db', 'delete'))).toEqual([1]);
});

test('neither the stop nor the deletion of an object that leaves the set waits for hooks', async () => {
  const changes = [change('container/old', { action: 'delete', isPruned: true })];
  expect(await wavesBefore(changes, step('container/old', 'stop'), step('container/old', 'delete'))).toEqual([]);
});

test('hooks before a wave run once for all of its steps', async () => {
  const changes = [
    change('profile/a', { action: 'create', wave: 2 }),
    change('profile/b', { action: 'create', wave: 2 }),
  ];
  expect(await wavesBefore(changes, step('profile/a', 'create'), step('profile/b', 'create'))).toEqual([2]);
});

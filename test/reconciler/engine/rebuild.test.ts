// A rebuild that was cut off before its end: the next run continues it, and repeats nothing that would do harm.
import { expect, test } from 'vitest';
import { runStep } from '../../../reconciler/engine/steps/run-step.ts';
import { rebuild } from '../../../reconciler/engine/steps/rebuild.ts';
import type { StepContext } from '../../../reconciler/engine/steps/context.ts';
import { policyOf } from '../../../reconciler/core/ownership/recorded-policy.ts';
import { defaultManage } from '../../../reconciler/core/documents/document.ts';
import type { RebuildStep, Step } from '../../../reconciler/core/plan/plan.ts';
import { FakeWorld } from '../../support/fakes/client.ts';
import { fingerprintOf } from '../../support/fakes/worlds.ts';

const images = ['old', 'next', 'newer'].map(fingerprintOf);
const [old = '', next = '', newer = ''] = images;
const { signal } = new AbortController();
const aside = 'c1-gantry-old';
const base = { address: 'container/c1', kind: 'container', name: 'c1', needs: [], timeoutMs: 1000 } as const;
const afterwards: readonly Step[] = [
  { ...base, id: 'start', action: 'start', force: 'never', graceMs: 0 },
  {
    ...base,
    id: 'exec',
    action: 'exec',
    exec: 'setup',
    spec: { command: ['setup'], timeout_ms: 1000 },
    hidden: [],
    mark: { set: 's', command: 'setup', triggers: '', isPerStart: false },
  },
];
const step = (image: string): RebuildStep => ({
  ...base,
  id: 'rebuild',
  action: 'rebuild',
  graceMs: 1000,
  body: {
    name: 'c1',
    architecture: 'x86_64',
    profiles: [],
    ephemeral: false,
    config: {},
    devices: {},
    description: '',
    source: { type: 'image', fingerprint: image },
  },
  owner: { set: 's', paths: [], whole: true, policy: policyOf(defaultManage), takes: [] },
  afterwards,
});

/** A world whose container was rebuilt from `next`, up to the deletion of the old one. */
async function interrupted() {
  const world = new FakeWorld();
  for (const fingerprint of images) world.objects.image.set(fingerprint, { fingerprint, properties: {} });
  let commands = 0;
  world.command = async () => ({ code: 0, output: String((commands += 1)) });
  const context: StepContext = {
    client: world.client,
    hash: (text) => `h(${text})`,
    nowMs: () => 0,
    pause: async () => {},
    onOperation: () => {},
    onProgress: () => {},
  };
  const run = (image: string): Promise<unknown> =>
    rebuild(context, step(image), (one) => runStep(context, one, signal), signal);
  await world.client.create('container', step(old).body as never, {}, signal);
  world.beforeChange = (what) => {
    if (what === `delete container/${aside}`) throw new Error('gone');
  };
  await expect(run(next)).rejects.toThrow('gone');
  world.beforeChange = undefined;
  world.changes.length = 0;
  expect([[...world.objects.container.keys()].toSorted(), commands]).toEqual([['c1', aside], 1]);
  const c1 = () => world.objects.container.get('c1') as { status: string; config: Record<string, string> };
  return { world, run, c1, commands: () => commands };
}

test('the next run does not run a command again that ran before the interruption', async () => {
  const { world, run, commands } = await interrupted();
  await run(next);
  expect([world.changes, commands()]).toEqual([[`delete container/${aside}`], 1]);
});

test('the next run makes the container from a newer image, when the image has moved on since', async () => {
  const { world, run, c1, commands } = await interrupted();
  await run(newer);
  expect(c1()).toMatchObject({ status: 'Running', config: { 'volatile.base_image': newer } });
  expect([[...world.objects.container.keys()], commands()]).toEqual([['c1'], 2]);
});

test('the old container comes back when the container of a newer image cannot be made', async () => {
  const { world, run, c1 } = await interrupted();
  world.beforeChange = (what) => {
    if (what === 'create container/c1') throw new Error('no space');
  };
  await expect(run(newer)).rejects.toThrow('no space; the old container was restored');
  expect(c1().config['volatile.base_image']).toBe(old);
});

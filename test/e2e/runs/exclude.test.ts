// --exclude leaves objects out of a run: an apply also leaves out their dependents, a destroy their dependencies.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerWith, network, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench('sim');
  bench.parts = { ...bench.parts, other: 'kind: profile\nname: other\nconfig: { user.x: "1" }\n' };
  await bench.apply();
});
afterAll(() => bench.close());

test('an apply leaves out excluded objects and their dependents, and reports nothing else', async () => {
  bench.parts = {
    ...bench.parts,
    container: containerWith('config: { user.note: b }\n'),
    other: 'kind: profile\nname: other\nconfig: { user.x: "2" }\n',
    network: bench.parts['network']?.replace('config: {', 'config: { user.a: b,') ?? '',
  };
  const plan = await bench.gantry('plan', '--exclude', `network/${network}`);
  expect(plan.stdout).toContain('profile/other');
  // The container needs the network through its profile.
  expect(plan.stdout).not.toMatch(/container\/c1|network\//);
  await bench.apply('--exclude', 'container/c1', '--exclude', 'profile/other');
  expect(await bench.planned()).toEqual(['profile/other: update live', 'container/c1: update live']);
  const wrong = await bench.gantry('plan', '--exclude', 'container/c2');
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--exclude container/c2 is not declared')]);
  await bench.settle();
});

test('objects excluded from a prune or a destroy stay, with their dependencies', async () => {
  const plan = await bench.gantry('plan', '--destroy', '--exclude', 'container/c1');
  expect(plan.stdout).toContain('- profile/other');
  expect(plan.stdout).not.toMatch(/profile\/small|network\/|storage_pool\/|image\//);
  const run = await bench.gantry('destroy', '-y', '--exclude', 'profile/other');
  expect(run.code, run.stderr).toBe(0);
  expect((await bench.daemon.call('GET', '/1.0/profiles/other')).status).toBe(200);
  expect((await bench.daemon.call('GET', '/1.0/containers/c1')).status).toBe(404);
});

// manage.policy: an object that may only be observed is reported and never written; creation and deletion obey the policy too.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';

let bench: Bench;
const profileOf = (name: string, x: string, policy: string): string =>
  `kind: profile\nname: ${name}\nconfig: { user.x: "${x}" }\nmanage: { policy: [${policy}] }\n`;
const configOf = async (name: string): Promise<Record<string, string>> =>
  ((await bench.get(`/1.0/profiles/${name}`)) as { config: Record<string, string> }).config;
beforeAll(async () => {
  bench = await openBench('sim');
  await bench.daemon.call('POST', '/1.0/profiles', { name: 'theirs', config: { 'user.x': '1' } });
});
afterAll(() => bench.close());

test('an object that may only be observed is compared and reported, and never written', async () => {
  bench.parts = { ...bench.parts, mine: profileOf('theirs', '2', 'observe') };
  const plan = await bench.gantry('plan', '--detailed-exitcode');
  expect([plan.code, plan.stdout]).toEqual([0, expect.stringContaining('No changes')]);
  expect(plan.stdout).toContain(
    'profile/theirs config.user.x: is "1", declared "2"  # manage.policy does not allow update',
  );
  await bench.apply();
  expect(await configOf('theirs')).toEqual({ 'user.x': '1' });
  expect((await bench.gantry('drift')).stdout).toContain('profile/theirs config.user.x');
});

test('update without create adopts existing objects, and reports missing ones', async () => {
  bench.parts = { ...bench.parts, mine: profileOf('theirs', '2', 'observe, update') };
  await bench.apply();
  expect((await configOf('theirs'))['user.x']).toBe('2');
  await bench.expectSettled();
  const before = bench.parts;
  bench.parts = { ...before, more: profileOf('absent', '2', 'observe, update') };
  const run = await bench.gantry('apply', '-y');
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('does not allow to create it')]);
  expect(run.stderr).toMatch(/stack\.yaml:\d+:\d+/);
  bench.parts = before;
});

test('create without update creates it once; without delete a prune and a destroy release it', async () => {
  bench.parts = { ...bench.parts, more: profileOf('once', '1', 'observe, create') };
  await bench.apply();
  bench.parts = { ...bench.parts, more: profileOf('once', '2', 'observe, create') };
  await bench.expectSettled();
  expect((await configOf('once'))['user.x']).toBe('1');
  const replaced = await bench.gantry('plan', '--replace', 'profile/theirs');
  expect([replaced.code, replaced.stdout]).toEqual([4, expect.stringContaining('does not allow delete and create')]);
  const { more: _more, ...rest } = bench.parts;
  bench.parts = rest;
  await bench.apply('--prune', '--set', 'default');
  expect(Object.keys(await configOf('once'))).toEqual(['user.x']);
  const end = await bench.gantry('destroy', '-y');
  expect(end.code, end.stderr).toBe(0);
  expect(await configOf('theirs')).toEqual({ 'user.x': '2' });
});

test('a policy with contradictory or unknown words is an error with its place', async () => {
  for (const manage of ['{ policy: [observe], on_delete: delete }', '{ policy: [look] }', '{ policy: [] }']) {
    bench.parts = { mine: `kind: profile\nname: theirs\nmanage: ${manage}\n` };
    const run = await bench.gantry('plan');
    expect(run.code, manage).toBe(1);
    expect(run.stderr).toMatch(/stack\.yaml:\d+:\d+/);
  }
});

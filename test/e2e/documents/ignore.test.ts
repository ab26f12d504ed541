// Differences that a manifest ignores: listed with their reason while the rule is valid, reported and counted again after its expiry.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';

let bench: Bench;
const note = 'config: { user.note: a, user.other: x }\n';
const ignoring = (...rules: readonly string[]): void => {
  const list = rules.map((rule) => `    - ${rule}\n`).join('');
  bench.parts = { ...bench.parts, container: containerWith(`${note}manage:\n  ignore:\n${list}`) };
};
beforeAll(async () => {
  bench = await openBench('sim');
  bench.parts = { ...bench.parts, container: containerWith(note) };
  await bench.apply();
  const config = { 'user.note': 'b' };
  expect((await bench.daemon.call('PATCH', '/1.0/containers/c1', { config })).status).toBeLessThan(300);
});
afterAll(() => bench.close());

test('plans and drift list the differences that a rule hides, with its expiry and its reason', async () => {
  ignoring('{ path: config.user.note, until: 2099-12-31, reason: load test }');
  // An ignored key is no longer owned.
  await bench.apply();
  const plan = await bench.gantry('plan', '--detailed-exitcode');
  expect([plan.code, plan.stdout]).toEqual([0, expect.stringContaining('No changes')]);
  const line = 'container/c1 config.user.note: is "b", declared "a"  # until 2099-12-31, load test';
  expect(plan.stdout).toContain(line);
  const drift = await bench.gantry('drift');
  expect([drift.code, drift.stdout]).toEqual([0, expect.stringContaining(line)]);
  const report = JSON.parse((await bench.gantry('drift', '-o', 'json')).stdout) as { ignored: unknown };
  const rule = { rule: 'config.user.note', until: '2099-12-31', reason: 'load test' };
  expect(report.ignored).toEqual([{ address: 'container/c1', path: 'config.user.note', ...rule }]);
  const lines = (await bench.gantry('plan', '--json')).stdout.trimEnd().split('\n');
  const found = lines.map((text) => JSON.parse(text) as { type: string; ignored?: object });
  expect(found.find(({ type }) => type === 'ignored_difference')?.ignored).toMatchObject({
    path: 'config.user.note',
    ...rule,
  });
  const whole = JSON.parse((await bench.gantry('plan', '-o', 'json')).stdout) as {
    resource_changes: { address: string; ignored?: unknown }[];
  };
  expect(whole.resource_changes.find(({ address }) => address === 'container/c1')?.ignored).toMatchObject([rule]);
  const hidden = await bench.gantry('drift', '--ignore', 'config.user.*@2099-01-01');
  expect(hidden.stdout).toContain(line);
});

test('an ended rule no longer applies and is reported with its reason and its place', async () => {
  ignoring('config.user.other', '{ path: config.user.note, expires: 2020-02-29, reason: load test }');
  for (const verb of ['plan', 'drift', 'validate']) {
    const run =
      verb === 'validate'
        ? await cli(['validate', join(bench.dir, 'stack.yaml')])
        : await bench.gantry(verb, '--detailed-exitcode');
    expect(run.code, `${verb} ${run.stdout} ${run.stderr}`).toBe(verb === 'validate' ? 0 : 2);
    expect(run.stderr).toContain('the rule that ignores config.user.note (load test) ended on 2020-02-29');
    expect(run.stderr).toMatch(/stack\.yaml:\d+:\d+/);
  }
});

test('an invalid date is an error with its place', async () => {
  for (const until of ['soon', '2030-02-30', '2030-13-01', '2030-01-01T10:00:00']) {
    ignoring(`{ path: config.user.note, until: "${until}" }`);
    const run = await bench.gantry('plan');
    expect([run.code, run.stderr], until).toEqual([1, expect.stringContaining('must be a day such as 2030-12-31')]);
    expect(run.stderr).toMatch(/stack\.yaml:\d+:\d+/);
  }
  ignoring('{ path: config.user.note, until: 2030-01-01, expires: 2030-01-01 }');
  expect((await bench.gantry('plan')).stderr).toContain('they mean the same');
  ignoring('{ until: 2030-01-01 }');
  expect((await bench.gantry('plan')).code).toBe(1);
  ignoring('{ path: config.user.note, until: 2030-01-01T10:00:00+02:00 }');
  expect((await bench.gantry('plan')).code).toBe(0);
});

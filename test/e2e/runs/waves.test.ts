// manage.wave and manage.depends_on: an order between objects without references, inside a set and across sets, for creation and
// deletion.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';
import { openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';

interface Line {
  readonly type: string;
  readonly hook?: { readonly resource: { readonly addr: string } };
  readonly change?: { readonly resource: { readonly addr: string }; readonly wave?: number };
}
const linesOf = (run: CliRun): readonly Line[] =>
  run.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

/** Expects that all steps of the first end before any of the second begins. */
function expectBefore(lines: readonly Line[], first: readonly string[], second: readonly string[]): void {
  const at = (type: string, addresses: readonly string[]): readonly number[] =>
    lines.flatMap((line, index) =>
      line.type === type && addresses.includes(line.hook?.resource.addr ?? '') ? [index] : [],
    );
  const [ended, begun] = [at('apply_complete', first), at('apply_start', second)];
  expect(ended.length).toBeGreaterThanOrEqual(first.length);
  expect(begun.length).toBeGreaterThanOrEqual(second.length);
  expect(Math.max(...ended)).toBeLessThan(Math.min(...begun));
}

const container = (name: string, manage: string, more = ''): string =>
  `kind: container\nname: ${name}\nprofiles: [small]\nsource: { type: image, alias: base }\n${more}manage: ${manage}\n`;

describe('waves on a server', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench('sim');
  });
  afterAll(() => bench.close(), 120_000);
  const gantry = (verb: string, text: string, set: string, ...more: readonly string[]): Promise<CliRun> => {
    const path = join(bench.dir, `${set}.yaml`);
    writeFileSync(path, text);
    return cli([verb, path, '--host', `unix://${bench.daemon.socketPath}`, '--set', set, ...more]);
  };

  test('a lower wave is created and ready before a higher one begins, and deleted after it', async () => {
    const documents = [
      container('late', '{ wave: 1 }'),
      container('early', '{ wave: -1, wait: [running] }'),
      'kind: profile\nname: extra\nconfig: { user.a: b }\n',
      'kind: profile\nname: last\nmanage: { wave: 2 }\n',
    ];
    const plan = await gantry('plan', documents.join('---\n'), 'waves');
    expect(plan.stdout).toContain('container/early (and start) [wave -1]');
    expect(plan.stdout).toContain('profile/extra [wave 0]');
    const run = await gantry(
      'apply',
      documents.join('---\n'),
      'waves',
      '--auto-approve',
      '--json',
      '--parallelism',
      '8',
    );
    expect(run.code, run.stdout).toBe(0);
    const lines = linesOf(run);
    expect(lines.flatMap(({ change }) => (change === undefined ? [] : [[change.resource.addr, change.wave]]))).toEqual([
      ['profile/extra', 0],
      ['profile/last', 2],
      ['container/early', -1],
      ['container/late', 1],
    ]);
    expectBefore(lines, ['container/early'], ['profile/extra', 'container/late', 'profile/last']);
    expectBefore(lines, ['profile/extra'], ['container/late', 'profile/last']);
    expectBefore(lines, ['container/late'], ['profile/last']);
    const again = await gantry('plan', [...documents].reverse().join('---\n'), 'waves', '--detailed-exitcode');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('No changes')]);
    const gone = await gantry(
      'destroy',
      documents.join('---\n'),
      'waves',
      '--auto-approve',
      '--json',
      '--parallelism',
      '8',
    );
    expect(gone.code, gone.stdout).toBe(0);
    expectBefore(linesOf(gone), ['profile/last'], ['container/late']);
    expectBefore(linesOf(gone), ['container/late'], ['profile/extra']);
    expectBefore(linesOf(gone), ['profile/extra'], ['container/early']);
  });

  test('a failure in a lower wave stops the higher ones', async () => {
    const text = `${container('first', '{ wait: [{ file: /never, timeout: 1s }] }')}---\nkind: profile\nname: second\nmanage: { wave: 1 }\n`;
    const run = await gantry('apply', text, 'broken', '--auto-approve');
    expect([run.code, run.stderr]).toEqual([
      6,
      expect.stringContaining('profile/second: Creation skipped: container/first#wait did not succeed'),
    ]);
    expect((await gantry('destroy', text, 'broken', '--auto-approve')).code).toBe(0);
  });

  test('a dependency of another set: absent, stopped and not ready have different messages, and the run then continues', async () => {
    const app = container('app', '{ depends_on: [container/db] }');
    const absent = await gantry('plan', app, 'app');
    expect([absent.code, absent.stderr]).toEqual([
      1,
      expect.stringContaining('container/db is neither declared nor on the server'),
    ]);
    expect(absent.stderr).toContain('manage.depends_on.0');
    // Offline its state is unknown.
    const offline = await cli(['validate', join(bench.dir, 'app.yaml')]);
    expect([offline.code, offline.stderr]).toEqual([0, expect.stringContaining('must exist on the server')]);

    const stopped = await gantry('apply', container('db', '{}', 'state: stopped\n'), 'base', '--auto-approve');
    expect(stopped.code, stopped.stderr).toBe(0);
    const refused = await gantry('apply', app, 'app', '--auto-approve');
    expect([refused.code, refused.stdout + refused.stderr]).toEqual([
      4,
      expect.stringContaining('container/app is to come after container/db, which is not ready: it is stopped'),
    ]);

    const never = container('db', '{ wait: [{ file: /never, timeout: 1s }] }');
    expect((await gantry('apply', never, 'base', '--auto-approve')).code).toBe(6);
    const unseen = await gantry('plan', app, 'app');
    expect(unseen.stdout).toContain('the set base has not seen it ready yet');

    const ready = await gantry('apply', container('db', '{ wait: [running] }'), 'base', '--auto-approve');
    expect(ready.code, ready.stderr).toBe(0);
    const done = await gantry('apply', app, 'app', '--auto-approve');
    expect(done.code, done.stdout + done.stderr).toBe(0);
    expect((await gantry('plan', app, 'app', '--detailed-exitcode')).code).toBe(0);
    // An unchanged object does not wait for its dependencies.
    await gantry('apply', container('db', '{}', 'state: stopped\n'), 'base', '--auto-approve');
    expect((await gantry('plan', app, 'app', '--detailed-exitcode')).code).toBe(0);
    for (const [set, text] of [
      ['app', app],
      ['base', container('db', '{}')],
    ] as const)
      expect((await gantry('destroy', text, set, '--auto-approve')).code).toBe(0);
  });
});

describe('without a server', () => {
  const world = useCliWorld();
  test('impossible waves are errors with place and remedy, and dependencies are selected too', async () => {
    const run = (text: string, ...verb: readonly string[]): Promise<CliRun> => cli([...verb, world.manifest(text)]);
    const validate = (text: string): Promise<CliRun> => run(text, 'validate');
    expect((await validate('kind: profile\nname: a\nmanage: { wave: soon }\n')).stderr).toContain(
      'manage.wave must be',
    );
    expect((await validate('kind: profile\nname: a\nmanage: { wave: 1.5 }\n')).code).toBe(1);
    expect((await validate('kind: profile\nname: a\nmanage: { wave: 5000 }\n')).code).toBe(1);
    const order =
      'kind: profile\nname: b\nmanage: { wave: 3 }\n---\nkind: container\nname: a\nprofiles: [b]\nsource: { type: none }\n';
    expect((await validate(order)).code).toBe(0);
    const wrong = await validate(`${order}manage: { wave: 2 }\n`);
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining('container/a is in wave 2 and needs profile/b, which comes later, in wave 3'),
    ]);
    expect((await run(order, 'graph')).stdout).not.toContain('subgraph');
    const apart = `${order}---\nkind: profile\nname: c\n`;
    const [mermaid, dot] = [await run(apart, 'graph'), await run(apart, 'graph', '-o', 'dot')];
    expect(mermaid.stdout).toContain('subgraph w1["wave 3"]');
    expect(dot.stdout).toContain('label = "wave 3"; "profile/b"; "container/a";');
    expect((await cli(['explain', 'container.manage.wave'])).stdout).toContain('a destroy goes the other way');
    expect((await cli(['schema'])).stdout).toContain('"wave"');
  });
});

// `gantry controller explain`, `diff`, `plan`, `history`, `logs`: texts for people, JSON and exit codes for scripts, each within a second.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LogLine, RunRecord } from '../../../reconciler/controller/contract/index.ts';
import { anObject, aSet } from '../../support/controller/fake-controller.ts';
import { startHttp, type HttpHarness } from '../../support/controller/http-harness.ts';
import { cli } from '../../support/cli/io.ts';
import { until } from '../../support/until.ts';

const at = '2030-01-31T12:00:00Z';
let http: HttpHarness;
beforeAll(async () => void (http = await startHttp()));
afterAll(() => http.close());
beforeEach(() => {
  Object.assign(http.controller, { sets: [aSet('web')], items: [], runs: [], lines: [], details: {}, previewed: {} });
});
const ask = (...args: readonly string[]) => cli(['controller', ...args, ...http.asOperator]);
/** The lines of --json after the first, which names the version. */
const jsonOf = async (...args: readonly string[]) =>
  (await ask(...args, '--json')).stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => JSON.parse(line) as unknown);

describe('explain', () => {
  test('a waiting set shows who holds it, what it waits for, and what ends the wait', async () => {
    http.controller.sets = [
      aSet('base', { status: 'failed' }),
      aSet('web', {
        status: 'waiting',
        message: 'It waits until base is synced.',
        dependsOn: ['base'],
        problems: ['web.yaml:3:1: unknown key "nmae"'],
        suspensions: [
          { id: 's7', set: 'web', host: 'h1', address: 'container/a', reason: 'a test', by: 'ann', since: at },
        ],
        pruneGate: { revision: 'c0ffee', hosts: [{ host: 'h1', count: 1, objects: ['profile/old'] }] },
        nextWindow: at,
      }),
    ];
    const { code, stdout } = await ask('explain', 'web');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `web is waiting.
It waits until base is synced.
Revision c0ffee is in force: 1 of 1 hosts have it.
The newest manifests have an error and are not applied: web.yaml:3:1: unknown key "nmae"
container/a on h1 is left alone by ann: a test (gantry controller resume web s7 ends it).
A deletion waits for an approval: gantry controller prune web shows it, gantry controller approve web --reason TEXT allows it.
Changes are next allowed at 2030-01-31T12:00:00Z.
It depends on base, which is failed.
`,
    });
  });

  test('a failed host shows the reason', async () => {
    const objects = { total: 3, synced: 2, drifted: 0, failed: 1 };
    http.controller.sets = [
      aSet('web', { status: 'failed', hosts: [{ host: 'h1', status: 'failed', error: 'no space', objects }] }),
    ];
    expect((await ask('explain', 'web')).stdout).toContain(
      'h1 is failed: no space, 1 of 3 objects are not as declared.',
    );
    expect(await jsonOf('explain', 'web')).toMatchObject([
      { type: 'controller_explain', set: 'web', status: 'failed' },
    ]);
    expect(await ask('explain', 'none')).toMatchObject({ code: 1, stderr: expect.stringContaining('it has web') });
  });
});

describe('diff', () => {
  test('the fields of objects that differ are shown, secrets masked, with the exit codes of diff(1)', async () => {
    http.controller.items = [
      anObject('a'),
      anObject('b', { status: 'drifted', message: 'changed by root' }),
      anObject('c', { host: 'h2', status: 'failed' }),
    ];
    http.controller.details = {
      differences: [
        { path: 'config.limits.memory', desired: '1GiB', live: '2GiB', effect: 'live', isSecret: false },
        { path: 'config.user.password', desired: '***', live: '***', effect: 'live', isSecret: true },
      ],
    };
    expect(await ask('diff', 'web', '--on', 'h1', 'container/b')).toMatchObject({
      code: 1,
      stdout: `container/b on h1: drifted: changed by root
      - config.limits.memory = "2GiB"
      + config.limits.memory = "1GiB"
      ~ config.user.password = (secret, differs)
`,
    });
    expect(await jsonOf('diff', 'web')).toMatchObject([
      { type: 'controller_diff', items: [{ summary: { name: 'b' } }, { summary: { name: 'c' } }] },
    ]);
    expect(await ask('diff', 'web', 'container/a')).toMatchObject({ code: 0, stdout: 'container/a is as declared.\n' });
    expect(await ask('diff', 'web', 'container/x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has no container/x'),
    });
    http.controller.items = [anObject('a')];
    expect(await ask('diff', 'web')).toMatchObject({ code: 0, stdout: 'The set web is as declared.\n' });
  });

  test('a person sees 200 of 230 objects and how many are left, a script sees all', async () => {
    const names = Array.from({ length: 230 }, (_, index) => `c${index}`);
    http.controller.items = names.map((name) => anObject(name, { status: 'drifted' }));
    const { stdout } = await ask('diff', 'web');
    expect(stdout.match(/^container\/c\d+ on /gm)).toHaveLength(200);
    expect(stdout).toMatch(/\nand 30 more objects: -o json has them all\n$/);
    const namesIn = (list: unknown) => (list as { summary: { name: string } }[]).map(({ summary }) => summary.name);
    expect(namesIn(JSON.parse((await ask('diff', 'web', '-o', 'json')).stdout)).toSorted()).toEqual(names.toSorted());
    const [line] = (await jsonOf('diff', 'web')) as { items: unknown }[];
    expect(namesIn(line?.items).toSorted()).toEqual(names.toSorted());
  });
});

describe('plan', () => {
  const change = {
    kind: 'container',
    name: 'a',
    effect: 'restart',
    reasons: ['it restarts'],
    differences: [],
  } as const;

  test('a branch is planned on the hosts of the set; without a branch, the current revision', async () => {
    http.controller.previewed = {
      hosts: [
        {
          host: 'h1',
          changes: { create: 0, update: 1, delete: 0 },
          restarts: 1,
          objects: [{ ...change, address: 'container/a', action: 'update', power: 'restart' }],
        },
      ],
    };
    expect(await ask('plan', 'web', '--branch', 'more-memory', '--host', 'h1', '--detailed-exitcode')).toMatchObject({
      code: 2,
      stdout: `Plan of more-memory for the set web:
h1: 0 to create, 1 to update, 0 to delete, 1 to restart
    ~ container/a (restart)
        # it restarts
`,
    });
    expect(http.controller.asked.at(-1)).toMatchObject({ request: { ref: 'more-memory', hosts: ['h1'] } });
    expect(await ask('plan', 'web')).toMatchObject({ code: 0 });
    expect(http.controller.asked.at(-1)).toMatchObject({ request: { ref: 'c0ffee' } });
  });

  test('refused, wrong and impossible plans have exit codes', async () => {
    const host = { host: 'h1', changes: { create: 0, update: 0, delete: 1 }, restarts: 0 };
    http.controller.previewed = {
      hosts: [
        { ...host, objects: [{ ...change, address: 'container/a', action: 'delete', guard: 'it is protected' }] },
      ],
    };
    expect(await ask('plan', 'web')).toMatchObject({
      code: 4,
      stdout: expect.stringContaining('REFUSED: it is protected'),
    });
    http.controller.previewed = { hosts: [{ ...host, objects: [], error: 'offline' }] };
    expect(await ask('plan', 'web')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('h1: no plan: offline'),
    });
    http.controller.previewed = { problems: [{ message: 'twice', place: 'a.yaml:1:2' }] };
    const [line] = await jsonOf('plan', 'web', '--branch', 'b');
    expect(line).toMatchObject({ type: 'controller_plan', revision: 'b', problems: [{ message: 'twice' }] });
  });
});

describe('history and logs', () => {
  const run: RunRecord = {
    id: 'r1',
    at,
    revision: 'c0ffee0123456789',
    by: 'controller main',
    reason: 'commit: more memory',
    outcome: 'failed',
    hosts: ['h1'],
    changes: { create: 1, update: 2, delete: 0 },
    message: 'no space',
    tries: 7,
    since: at,
  };
  const line = (message: string, level: LogLine['level'] = 'info', set = 'web'): LogLine => ({
    at,
    level,
    message,
    set,
  });

  test('the history has a line for each run, also as JSON', async () => {
    http.controller.runs = [run];
    const { stdout } = await ask('history', 'web', '--limit', '5');
    expect(stdout).toMatch(
      /c0ffee012345 +failed \(7 times\) +controller main +\+1 ~2 -0 +commit: more memory: no space/,
    );
    expect(JSON.parse((await ask('history', 'web', '-o', 'json')).stdout)).toEqual([run]);
    expect(await jsonOf('history', 'web')).toMatchObject([{ type: 'controller_history', items: [{ id: 'r1' }] }]);
  });

  test('the log is printed, and followed without gaps and duplicates', async () => {
    http.controller.lines = [line('first')];
    expect((await ask('logs', 'web')).stdout).toBe(`${at} info  first (web)\n`);
    expect(await jsonOf('logs')).toMatchObject([{ '@level': 'info', '@message': 'first', type: 'log', set: 'web' }]);
    expect(await ask('logs', '--level', 'loud')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('not one of debug'),
    });
    let stop = (): void => {};
    let text = '';
    const following = cli(['controller', 'logs', 'web', '--follow', ...http.asOperator], {
      interrupts: (now) => (stop = now),
      onStdout: (more) => (text += more),
    });
    await until(() => http.controller.listeners.size > 0 && text.includes('first'));
    for (const one of [
      line('first'),
      line('second'),
      line('other', 'info', 'db'),
      line('quiet', 'debug'),
      line('third', 'error'),
    ])
      http.controller.emit({ type: 'log', line: one });
    await until(() => text.includes('third'));
    stop();
    const { code, stdout } = await following;
    expect(stdout.split('\n').map((text) => text.split(' ').at(-2))).toEqual(['first', 'second', 'third', undefined]);
    expect(code).toBe(130);
  });

  test('each verb answers within a second', async () => {
    for (const words of [
      ['explain', 'web'],
      ['diff', 'web'],
      ['plan', 'web'],
      ['history', 'web'],
      ['logs'],
      ['status'],
    ]) {
      const startMs = performance.now();
      expect(await ask(...words)).toMatchObject({ code: 0 });
      expect({ words, isQuick: performance.now() - startMs < 1000 }).toEqual({ words, isQuick: true });
    }
  });
});

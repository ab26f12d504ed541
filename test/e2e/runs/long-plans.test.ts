// Plans of many objects: equal ones are shown together, one line each with --compact, through a pager on a terminal; machine-readable
// output is unchanged.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CliIo } from '../../../reconciler/cli/output/process-io.ts';
import { pagerFor } from '../../../reconciler/cli/session/pager.ts';
import { spellRanges } from '../../../reconciler/core/render/equal-changes.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildPrograms, runOnTerminal, withoutEscapes, type Programs } from '../../support/cli/programs.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
let dir: string;
let stack: string;
beforeAll(async () => void (daemon = await makeDaemon()));
beforeEach(() => {
  dir = tempFolder('glp-');
  stack = join(dir, 'stack.yaml');
  const container = (index: number): string =>
    `kind: container\nname: c${index}\nsource: { type: none }\nconfig: { limits.memory: 64MiB }\nstate: stopped\n`;
  const parts = [
    'kind: storage_pool\nname: p1\ndriver: dir\n',
    'kind: profile\nname: default\ndevices: { root: { type: disk, path: /, pool: p1 } }\n',
    ...Array.from({ length: 100 }, (_, index) => container(index + 1)),
    'kind: container\nname: other\nsource: { type: none }\nconfig: { limits.memory: 65MiB }\nstate: stopped\n',
  ];
  writeFileSync(stack, parts.join('---\n'));
});
afterAll(() => daemon?.cleanUp());

const gantry = (...words: readonly string[]): Promise<CliRun> =>
  cli([...words, '--host', `unix://${daemon.socketPath}`]);

describe('a plan of 100 equal containers and one other', () => {
  test('shows the equal ones together with all their names, the other one separately, and the same totals', async () => {
    const { stdout } = await gantry('plan', stack);
    expect(stdout).toContain('  + container/c1 ... container/c100 (100 equal objects)\n');
    expect(stdout).toContain('  + container/other\n');
    expect(stdout).toContain('Plan: 102 to add, 1 to change');
    expect(stdout.split('\n').length).toBeLessThan(45);
    const compact = (await gantry('plan', stack, '--compact')).stdout;
    const lines = compact.split('\n').filter((line) => line.trim() !== '');
    expect(lines).toHaveLength(6);
    expect(lines.at(-1)).toMatch(/^For the set default, declared at /);
    expect(compact).not.toContain('limits.memory');
  });

  test('lists each of them in machine-readable output, also with --compact', async () => {
    for (const words of [['-o', 'json'], ['--json']]) {
      const plain = (await gantry('plan', stack, ...words)).stdout;
      const compact = (await gantry('plan', stack, ...words, '--compact')).stdout;
      const bare = (text: string): string => text.replaceAll(/"@timestamp":"[^"]*"/g, '');
      expect(bare(compact)).toBe(bare(plain));
      expect(plain).toContain('container/c57');
    }
    expect((await gantry('plan', stack, '-o', 'markdown')).stdout).toContain('container/c57');
  });
});

test('names are shown as ranges of numbers, with other names after them', () => {
  expect(spellRanges(['b', 'c1', 'c2', 'c3', 'c10', 'w09', 'w10', 'w11'])).toBe('b, c1 ... c3, c10, w09 ... w11');
  expect(spellRanges(['c1', 'c2'])).toBe('c1, c2');
  expect(spellRanges(['2a', '1a', '3a'])).toBe('1a ... 3a');
});

describe('the pager', () => {
  let programs: Programs;
  beforeAll(() => {
    programs = buildPrograms();
  });

  /** A stack whose plan is longer than the terminal of 40 lines. */
  function long(): readonly string[] {
    const one = (index: number): string => `kind: profile\nname: q${index}\nconfig: { user.a: '${index * 7}' }\n`;
    writeFileSync(stack, Array.from({ length: 40 }, (_, index) => one(index)).join('---\n'));
    return ['-f', stack, '--host', `unix://${daemon.socketPath}`];
  }
  const paged = (): string => (existsSync(join(dir, 'paged')) ? readFileSync(join(dir, 'paged'), 'utf8') : '');
  const env = (): Record<string, string> => ({ PAGER: `cat > ${join(dir, 'paged')}` });

  test('shows a long plan on a terminal, with colours, and keeps the exit code', async () => {
    const words = long();
    const ran = await runOnTerminal(programs, ['plan', '--detailed-exitcode', ...words], { env: env() });
    expect(ran.code, ran.stdout).toBe(2);
    expect(withoutEscapes(paged())).toContain('Plan: 40 to add');
    expect(paged()).toContain('\u001b[');
    expect(ran.stdout).not.toContain('Plan: 40 to add');
  });

  const terminal = { isTTY: true, rows: 40 } as unknown as CliIo['stdout'];
  const chosen = (env: Record<string, string>, options: { readonly pager?: boolean } = {}, stdout = terminal) =>
    pagerFor({ env, stdin: { isTTY: true } as CliIo['stdin'], stdout }, options, 41);

  test.each([
    ['--no-pager', chosen({}, { pager: false })],
    ['a pipe', chosen({}, {}, { isTTY: false } as CliIo['stdout'])],
    ['a terminal that cannot', chosen({ TERM: 'dumb' })],
    ['an empty PAGER', chosen({ PAGER: '' })],
    ['CI', chosen({ CI: 'true' })],
  ])('is not chosen for %s', (_name, pager) => {
    expect([pager, chosen({ PAGER: 'more' })]).toEqual([undefined, 'more']);
  });

  test('is not used for --json, and when it is not there: the plan is printed', async () => {
    const json = await runOnTerminal(programs, ['plan', '--json', ...long()], { env: env() });
    expect([json.code, paged()]).toEqual([0, '']);
    expect(json.stdout).toContain('profile/q39');
    const setting = { env: { PAGER: '/nowhere/pager 2>/dev/null' } };
    const absent = await runOnTerminal(programs, ['plan', ...long()], setting);
    expect(absent.code, absent.stdout).toBe(0);
    expect(absent.stdout).toContain('Plan: 40 to add');
  });

  test('never runs between a plan and its question', async () => {
    const answers = [['Enter a value: ', 'yes\r']] as const;
    const ran = await runOnTerminal(programs, ['apply', ...long()], { env: env(), answers });
    expect(ran.code, ran.stdout).toBe(0);
    expect(paged()).toBe('');
    expect(ran.stdout).toContain('Apply complete! 40 added');
  });
});

// The audit log on disk: hash chain, files, killed processes, a full disk.
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { buildSync } from 'esbuild';
import { AuditLog } from '../../../reconciler/controller/audit/audit-log.ts';
import { startHttp, tokens } from '../../support/controller/http-harness.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = tempFolder('gantry-audit-');
  file = join(folder, 'audit.jsonl');
});
const entry = { who: 'ann', from: '::1', via: 'token', what: 'sync', outcome: 'asked' } as const;

async function filled(count: number, longest?: number): Promise<AuditLog> {
  const log = new AuditLog(file, Date.now, longest);
  for (let at = 1; at <= count; at += 1) await log.add({ ...entry, set: `s${at % 2}`, why: `reason ${at}` });
  return log;
}
const lines = (path = file): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');
const edit = (change: (all: string[]) => string[]): void => writeFileSync(file, `${change(lines()).join('\n')}\n`);

describe('the chain of the audit log', () => {
  test('is intact after restarts, and ends with a number and a hash', async () => {
    await (await filled(3)).close();
    const log = await filled(2);
    const { hash, ...check } = await log.verify();
    expect(check).toEqual({ entries: 5, first: 1, last: 5, cutOff: 0, unchained: 0, problems: [] });
    expect(lines().at(-1)).toContain(`"hash":"${hash}"`);
    await log.close();
  });

  test.each<[string, (all: string[]) => string[], string]>([
    ['a line is removed', (all) => all.toSpliced(2, 1), 'audit.jsonl:3: entry 4 follows entry 2'],
    ['the first line is removed', (all) => all.slice(1), ''],
    ['two lines change places', ([a, b, c, ...rest]) => [a, c, b, ...rest].map(String), 'entry 3 follows entry 1'],
    ['a word is changed', (all) => all.map((one) => one.replace('reason 3', 'reason 9')), 'entry 3 was changed'],
    [
      'a line becomes one that was cut off',
      (all) => all.map((one, at) => (at === 2 ? one.slice(0, 20) : one)),
      'entry 4 follows entry 2',
    ],
    [
      'a hash is taken away',
      (all) => all.map((one, at) => (at === 2 ? one.replace(/,"hash.*/, '}') : one)),
      'the entry has no hash',
    ],
    [
      'a line is removed and the numbers are corrected',
      (all) => all.toSpliced(2, 1).map((one, at) => one.replace(/"number":\d+/, `"number":${at + 1}`)),
      'entry 3 was changed, or the one before it was',
    ],
  ])('shows when %s', async (_what, change, problem) => {
    await (await filled(5)).close();
    edit(change);
    const log = new AuditLog(file, Date.now);
    const check = await log.verify();
    // Older files may be archived elsewhere, so a later beginning is reported but is not a problem.
    if (problem === '') expect(check).toMatchObject({ first: 2, problems: [] });
    else expect(check.problems.join('\n')).toContain(problem);
  });

  test('continues after entries of a version without hashes', async () => {
    writeFileSync(file, `${JSON.stringify({ at: '2030-01-31T12:00:00Z', id: 'x', ...entry })}\n`);
    const log = await filled(2);
    expect(await log.verify()).toMatchObject({ entries: 3, first: 1, last: 3, unchained: 1, problems: [] });
    expect((await log.list({})).map(({ number }) => number)).toEqual([1, 2, 3]);
    await log.close();
  });
});

describe('the files of the audit log', () => {
  test('are rotated when long, and are read and verified as one log', async () => {
    const log = await filled(40, 2000);
    const names = readdirSync(folder).sort();
    expect(names.length).toBeGreaterThan(3);
    expect(await log.verify()).toMatchObject({ entries: 40, first: 1, last: 40, problems: [] });
    const numbers = async (query: Parameters<AuditLog['list']>[0]) =>
      (await log.list(query)).map(({ number }) => number);
    expect(await numbers({ limit: 3 })).toEqual([38, 39, 40]);
    expect(await numbers({ after: 0, limit: 1000 })).toEqual(Array.from({ length: 40 }, (_one, at) => at + 1));
    expect(await numbers({ after: 17, limit: 4 })).toEqual([18, 19, 20, 21]);
    expect(await numbers({ set: 's0', after: 30, limit: 3 })).toEqual([32, 34, 36]);
    // Removes a file in the middle.
    rmSync(join(folder, names[2] ?? ''));
    expect((await log.verify()).problems[0]).toMatch(/entry \d+ follows entry \d+: what was between them is gone/);
    await log.close();
  });

  test('are written alternately by two controllers that share a directory', async () => {
    const [one, other] = [new AuditLog(file, Date.now, 2000), new AuditLog(file, Date.now, 2000)];
    for (let at = 0; at < 12; at += 1) await (at % 3 === 0 ? other : one).add({ ...entry, why: 'x'.repeat(300) });
    expect(await one.verify()).toMatchObject({ entries: 12, last: 12, problems: [] });
    await Promise.all([one.close(), other.close()]);
  });

  test('lose nothing when two controllers rotate in one moment, also after one was killed there', async () => {
    const stale = join(folder, 'audit-000000000001.jsonl');
    writeFileSync(stale, '');
    utimesSync(stale, 1, 1);
    const logs = [1, 2].map(() => new AuditLog(file, Date.now, 600));
    const ids: string[] = [];
    const write = async (log: AuditLog): Promise<void> => {
      for (let at = 0; at < 60; at += 1) ids.push(await log.add(entry));
    };
    await (logs[0] as AuditLog).add({ ...entry, why: 'x'.repeat(600) });
    await (logs[0] as AuditLog).add(entry);
    await Promise.all(logs.map(write));
    const found = new Set((await new AuditLog(file, Date.now).list({})).map(({ id }) => id));
    expect(ids.filter((id) => !found.has(id))).toEqual([]);
    expect(readdirSync(folder).length).toBeGreaterThan(10);
    await Promise.all(logs.map((log) => log.close()));
  });

  test('need little memory to be read', async () => {
    const long = `${JSON.stringify({ at: '2030-01-31T12:00:00Z', id: 'x', ...entry, why: 'y'.repeat(900) })}\n`;
    writeFileSync(file, long.repeat(90_000));
    const log = new AuditLog(file, Date.now);
    global.gc?.();
    const before = process.memoryUsage().rss;
    expect(await log.list({ limit: 10 })).toHaveLength(10);
    expect(process.memoryUsage().rss - before).toBeLessThan(70_000_000);
  });
});

describe('the end of a process', () => {
  test('a kill -9 loses no confirmed entry, and does not break the chain', async () => {
    const program = join(folder, 'writer.mjs');
    const contents = `import { AuditLog } from './reconciler/controller/audit/audit-log.ts';
      const log = new AuditLog(process.argv[2], Date.now, 4000);
      for (;;) console.log(await log.add(${JSON.stringify(entry)}));`;
    buildSync({
      stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      outfile: program,
    });
    const confirmed: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const child = spawn(process.execPath, [program, file], { stdio: ['ignore', 'pipe', 'inherit'] });
      let count = 0;
      for await (const id of createInterface({ input: child.stdout })) {
        confirmed.push(id);
        if ((count += 1) === 5 + round) child.kill('SIGKILL');
      }
    }
    const log = new AuditLog(file, Date.now, 4000);
    const found = new Set((await log.list({ after: 0, limit: 100_000 })).map(({ id }) => id));
    expect(confirmed.filter((id) => !found.has(id))).toEqual([]);
    expect(confirmed.length).toBeGreaterThan(40);
    await log.add(entry);
    expect((await log.verify()).problems).toEqual([]);
    await log.close();
  });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: the audit log on a full disk: needs root');

describe.skipIf(!isRoot)('a full disk', () => {
  test('prevents all changes, and the log continues intact when there is room again', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]);
    const log = new AuditLog(file, Date.now);
    const http = await startHttp({ audit: log });
    onTestFinished(async () => {
      await http.close();
      await log.close();
      execFileSync('umount', [folder]);
    });
    const sync = () => http.ask('/api/v1/sets/web/sync', { token: tokens.operate, body: { reason: 'x'.repeat(900) } });
    let refused = await sync();
    for (let at = 0; at < 100 && refused.status === 202; at += 1) refused = await sync();
    expect([refused.status, refused.text]).toEqual([
      503,
      expect.stringContaining('Nothing was changed, since the audit log cannot be written'),
    ]);
    const done = http.controller.asked.length;
    expect((await sync()).status).toBe(503);
    expect(http.controller.asked).toHaveLength(done);
    execFileSync('mount', ['-o', 'remount,size=1m', folder]);
    expect((await sync()).status).toBe(202);
    expect(await log.verify()).toMatchObject({ problems: [] });
    expect((await http.ask('/api/v1/audit/check', { token: tokens.operate })).json()).toMatchObject({ problems: [] });
    expect((await http.ask('/api/v1/audit/check', { token: tokens.view })).status).toBe(403);
  });
});

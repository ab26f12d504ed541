// Saved plans, secrets and requests of plans with files inside containers: the plan pins contents by their hash, never has secrets, and
// does not read containers without declared files.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';
import { countRequests } from '../../support/daemons/counting-proxy.ts';
import { container, stack } from '../../support/cli/imageless-stack.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const daemon = await fileDaemon();
const dir = tempFolder('gtip-');
let count = 0;

const secret = 'correct-horse-battery';
const env = { PW: secret };

/** A separate set, so that a test can be repeated. */
function declare(...lines: readonly string[]): { name: string; run: (...words: readonly string[]) => Promise<CliRun> } {
  const name = `s${(count += 1)}`;
  const path = join(dir, `${name}.yaml`);
  writeFileSync(path, stack(container(name, `${lines.join('\n')}\n`)));
  const state = join(dir, `state-${name}`);
  const run = (verb = '', ...words: readonly string[]): Promise<CliRun> => {
    const files = words.some((word) => word.endsWith('.plan')) && verb === 'apply' ? [] : ['-f', path];
    const set = files.length === 0 ? [] : ['--set', name];
    const all = [verb, ...words, ...files, ...set, '--host', `unix://${daemon.socketPath}`];
    return cli(all, { env: { ...env, XDG_STATE_HOME: state } });
  };
  return { name, run };
}

const journalOf = (name: string): string => {
  const runs = join(dir, `state-${name}`, 'gantry', 'runs', name);
  return readdirSync(runs)
    .map((file) => readFileSync(join(runs, file), 'utf8'))
    .join('');
};
const said = (run: CliRun): string => `${run.stdout}\n${run.stderr}`;

describe('a saved plan with files', () => {
  test('is stale once a local file has changed since the approval, and can be applied once the file is restored', async () => {
    const local = join(dir, `page-${count}`);
    writeFileSync(local, 'approved\n');
    const { name, run } = declare(`files: [{ path: /srv/page, source: ${local} }, { path: /etc/motd, content: hi }]`);
    const kept = join(dir, `${name}.plan`);
    const made = await run('plan', '--out', kept);
    expect(made.code, said(made)).toBe(0);
    writeFileSync(local, 'something else\n');
    const stale = await run('apply', kept);
    expect(stale.code, said(stale)).toBe(3);
    expect(stale.stderr).toContain(`container/${name} /srv/page: ${local}`);
    expect((await daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
    writeFileSync(local, 'approved\n');
    const applied = await run('apply', kept);
    expect(applied.code, said(applied)).toBe(0);
    const read = await daemon.call('GET', `/1.0/containers/${name}/files?path=/srv/page`);
    expect(read.bytes.toString()).toBe('approved\n');
    expect((await run('plan', '--detailed-exitcode')).code).toBe(0);
  });

  test('is stale when a file inside has changed since the plan in another way', async () => {
    const { name, run } = declare('files: [{ path: /etc/motd, content: one }]');
    expect((await run('apply', '--auto-approve')).code).toBe(0);
    writeFileSync(join(dir, `${name}.yaml`), stack(container(name, 'files: [{ path: /etc/motd, content: two }]\n')));
    const kept = join(dir, `${name}.plan`);
    expect((await run('plan', '--out', kept)).code).toBe(0);
    const headers = { 'x-svc-type': 'file', 'content-type': 'application/octet-stream' };
    await daemon.call('POST', `/1.0/containers/${name}/files?path=/etc/motd`, 'by hand', headers);
    const stale = await run('apply', kept);
    expect(stale.code, said(stale)).toBe(3);
    expect(stale.stderr).toContain('files["/etc/motd"].content');
  });
});

describe('secrets inside', () => {
  test('are in no plan, no saved plan, no journal, no record and no output', async () => {
    const { name, run } = declare(
      'files: [{ path: /etc/pw, content: { from_env: PW }, mode: "0600" }]',
      'exec:',
      '  - { name: login, command: "echo it is $PW and $1; exit 5", environment: { PW: { from_env: PW } }, exit_code: [5] }',
      '  - { name: words, command: [echo, { from_env: PW }] }',
    );
    const kept = join(dir, `${name}.plan`);
    const shown = [
      await run('plan'),
      await run('plan', '-o', 'json'),
      await run('plan', '-o', 'markdown'),
      await run('plan', '--out', kept),
      await run('diff'),
    ];
    expect(shown[0]?.stdout).toContain('+ files["/etc/pw"] = file (secret), mode 0600, owner 0:0');
    expect(shown[0]?.stdout).toContain('+ exec["words"]    = echo (secret)');
    const applied = await run('apply', kept);
    expect(applied.code, said(applied)).toBe(0);
    expect((await run('plan', '--detailed-exitcode')).code).toBe(0);
    const read = await daemon.call('GET', `/1.0/containers/${name}/files?path=/etc/pw`);
    expect(read.bytes.toString()).toBe(secret);
    const journal = journalOf(name);
    expect(journal).toContain('it is (secret) and');
    const object = JSON.stringify(await daemon.get(`/1.0/containers/${name}`));
    const texts = [...shown.map(said), said(applied), readFileSync(kept, 'utf8'), journal, object];
    const hash = createHash('sha256').update(secret).digest('hex');
    for (const text of texts) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(hash.slice(0, 12));
    }
  });
});

describe('a plan', () => {
  test('reads files only of containers that declare some', async () => {
    const { name, run } = declare('files: [{ path: /etc/motd, content: hi }]');
    expect((await run('apply', '--auto-approve')).code).toBe(0);
    const proxy = await countRequests(daemon.socketPath);
    onTestFinished(() => proxy.close());
    const host = ['--host', proxy.host, '--set', name];
    const plan = await cli(['plan', '-f', join(dir, `${name}.yaml`), ...host, '--detailed-exitcode'], { env });
    expect(plan.code, said(plan)).toBe(0);
    const reads = proxy.requests.filter((request) => request.includes('/files'));
    expect(reads).toEqual([`GET /1.0/containers/${name}/files?path=%2Fetc%2Fmotd`]);
  });
});

// The command line as processes against a simulated gantryd: exit codes, JSON lines, terminals, credentials, sources of manifests.
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { callTls, makeClient } from '../../support/daemons/tls.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { cli } from '../../support/cli/io.ts';
import { buildPrograms, runGantry, runOnTerminal, withoutEscapes } from '../../support/cli/programs.ts';
import type { Programs, Ran, RunSetting, TerminalSetting } from '../../support/cli/programs.ts';
import { remove } from '../../support/hosts/remains.ts';
import { container, pool, profile, stack } from '../../support/cli/imageless-stack.ts';

// oxlint-disable-next-line no-control-regex
const colour = /\u001b\[\d*m/;
// oxlint-disable-next-line no-control-regex
const movement = /\u001b\[\d+A/;

let programs: Programs;
let gantryd: Gantryd;
let work: string;
beforeAll(async () => {
  programs = buildPrograms();
  work = mkdtempSync(join(realpathSync(tmpdir()), 'gtcl-'));
  gantryd = await startGantryd(programs, { runtime: 'sim', https: '127.0.0.1:0' });
});
afterAll(async () => {
  await remove(gantryd, []);
  programs.remove();
  rmSync(work, { recursive: true, force: true });
});

const env = (): Record<string, string> => ({ GANTRY_HOST: gantryd.host });
const gantry = (args: readonly string[], setting: RunSetting = {}): Promise<Ran> =>
  runGantry(programs, args, { cwd: work, ...setting, env: { ...env(), ...setting.env } });
const onTerminal = (args: readonly string[], setting: TerminalSetting = {}): Promise<Ran> =>
  runOnTerminal(programs, args, { cwd: work, ...setting, env: { ...env(), ...setting.env } });

function manifest(text: string, name = 'stack.yaml'): string {
  const path = join(work, name);
  writeFileSync(path, text);
  return path;
}

async function ok(args: readonly string[], code = 0): Promise<Ran> {
  const ran = await gantry(args);
  expect(ran.code, `${args.join(' ')}\n${ran.stdout}\n${ran.stderr}`).toBe(code);
  return ran;
}

/** Removes all objects that a test left, including protected ones. */
afterEach(async () => {
  for (const { name } of (await gantryd.get('/1.0/containers?recursion=1')) as { name: string }[]) {
    await gantryd.patch(`/1.0/containers/${name}`, { config: { 'security.protection.delete': '' } });
  }
  const names = (await gantryd.get('/1.0/containers?recursion=1')) as { name: string }[];
  const rest = names.map(({ name }) => container(name)).join('');
  const words = ['destroy', '-f', manifest(stack(rest), 'rest.yaml'), '--host', gantryd.host, '--auto-approve'];
  const { code, stdout, stderr } = await cli(words);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});

interface JsonLine {
  readonly '@level': string;
  readonly '@message': string;
  readonly '@module': string;
  readonly '@timestamp': string;
  readonly type: string;
  readonly changes?: {
    readonly add: number;
    readonly change: number;
    readonly remove: number;
    readonly operation: string;
  };
  readonly hook?: { readonly step: string };
  readonly diagnostic?: { readonly severity: string; readonly summary: string };
}

/** Checks that every line has the envelope, the version comes first, and times are in order. */
function jsonLines(ran: Ran): readonly JsonLine[] {
  const lines = ran.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonLine);
  for (const line of lines) {
    expect(Object.keys(line).slice(0, 5)).toEqual(['@level', '@message', '@module', '@timestamp', 'type']);
    expect(line['@level']).toMatch(/^(debug|info|warn|error)$/);
    expect(line['@module']).toBe('gantry.ui');
    expect(new Date(line['@timestamp']).toISOString()).toBe(line['@timestamp']);
  }
  expect(lines[0]).toMatchObject({ type: 'version', ui: expect.stringMatching(/^1\.\d+$/) as string });
  const times = lines.map((line) => line['@timestamp']);
  expect(times).toEqual(times.toSorted());
  expect(ran.stderr).toBe('');
  return lines;
}

describe('--json', () => {
  test('--json writes the lines of Terraform for a plan, an apply and a destroy', async () => {
    const file = manifest(stack(container('a'), container('b')));
    const planned = jsonLines(await ok(['plan', '-f', file, '--json', '--detailed-exitcode'], 2));
    expect(planned.map(({ type }) => type)).toEqual([
      'version',
      ...Array<string>(4).fill('planned_change'),
      'change_summary',
    ]);
    expect(planned.map((line) => line['@message'])).toContain('container/a: Plan to create and start');
    expect(planned.at(-1)?.changes).toEqual({ add: 4, change: 0, remove: 0, import: 0, operation: 'plan' });

    const applied = jsonLines(await ok(['apply', '-f', file, '--json', '--auto-approve']));
    expect(applied.at(-1)).toMatchObject({ type: 'change_summary', changes: { add: 4, operation: 'apply' } });
    const started = applied.filter(({ type }) => type === 'apply_start').map(({ hook }) => hook?.step);
    const completed = applied.filter(({ type }) => type === 'apply_complete').map(({ hook }) => hook?.step);
    expect(new Set(completed)).toEqual(new Set(started));
    expect(completed.length).toBe(started.length);
    expect(started).toContain('container/a#start');

    const destroyed = jsonLines(await ok(['destroy', '-f', file, '--json', '--auto-approve']));
    expect(destroyed.at(-1)).toMatchObject({ type: 'change_summary', changes: { remove: 4, operation: 'destroy' } });
  });

  test('--json writes errors as diagnostics, with the version before them', async () => {
    const broken = await gantry([
      'apply',
      '-f',
      manifest('kind: containr\n', 'broken.yaml'),
      '--json',
      '--auto-approve',
    ]);
    expect(broken.code).toBe(1);
    const lines = jsonLines(broken);
    expect(lines.slice(1).map(({ type }) => type)).toEqual(['diagnostic', 'diagnostic']);
    const nobody = await gantry(['plan', '-f', manifest(stack()), '--json', '--host', 'unix:///nowhere.socket']);
    expect(nobody.code).toBe(7);
    expect(jsonLines(nobody)[1]).toMatchObject({ type: 'diagnostic', diagnostic: { severity: 'error' } });
    const flag = await gantry(['plan', '-f', manifest(stack()), '--json', '--timeout', 'soon']);
    expect(flag.code).toBe(64);
    expect(jsonLines(flag)[1]?.diagnostic?.summary).toContain('--timeout "soon"');
  });
});

describe('exit codes', () => {
  test('The exit code is 0 without changes, and 2 with changes when requested', async () => {
    const file = manifest(stack());
    await ok(['plan', '-f', file]);
    await ok(['plan', '-f', file, '-detailed-exitcode'], 2);
    await ok(['apply', '-f', file, '--auto-approve', '--detailed-exitcode'], 2);
    await ok(['plan', '-f', file, '--detailed-exitcode']);
    await ok(['status', '-f', file, '--detailed-exitcode']);
    await gantryd.patch('/1.0/profiles/small', { config: { 'limits.memory': '1GiB' } });
    await ok(['status', '-f', file, '--detailed-exitcode'], 2);
  });

  test('The exit code is 1 for invalid manifests, and for failed steps while others continue', async () => {
    await ok(['plan', '-f', manifest('kind: nothing\n', 'broken.yaml')], 1);
    await ok(['plan', '-f', 'absent.yaml'], 1);
    // The host lacks the directory, which only the daemon can check.
    const device = 'devices: { data: { type: disk, source: /nowhere/at/all, path: /data } }\n';
    const ran = await ok(
      ['apply', '-f', manifest(stack(container('bad', device), container('good'))), '--auto-approve'],
      1,
    );
    expect(ran.stderr).toContain('/nowhere/at/all');
    expect(ran.stdout).toContain('Apply incomplete: 4 added, 0 changed, 0 destroyed, 1 failed.');
    expect(((await gantryd.get('/1.0/containers/good')) as { status: string }).status).toBe('Running');
  });

  test('The exit code is 3 when an object changed while the plan waited for approval', async () => {
    await ok(['apply', '-f', manifest(stack()), '--auto-approve']);
    const file = manifest(stack().replace('64MiB', '32MiB'));
    const ran = await onTerminal(['apply', '-f', file], {
      answers: [['Enter a value:', 'yes\n']],
      beforeAnswer: () => gantryd.patch('/1.0/profiles/small', { config: { 'limits.memory': '1GiB' } }),
    });
    expect(ran.code, ran.stdout).toBe(3);
    expect(withoutEscapes(ran.stdout)).toContain('make a new plan, review it and apply it');
    expect(await gantryd.get('/1.0/profiles/small')).toMatchObject({ config: { 'limits.memory': '1GiB' } });
  });

  test('The exit code is 4 for protection and disruption rules', async () => {
    const calm = 'manage: { disruption: none, protect: true }\n';
    await ok(['apply', '-f', manifest(stack(container('safe', calm))), '--auto-approve']);
    const file = manifest(stack(container('safe', `config: { security.nesting: true }\n${calm}`)));
    const refused = await ok(['apply', '-f', file, '--auto-approve'], 4);
    expect(refused.stdout).toContain('Refused: container/safe would have to restart: config.security.nesting');
    await ok(['plan', '-f', file], 4);
    await ok(['apply', '-f', file, '--auto-approve', '--allow-restart']);
    const kept = await ok(['destroy', '-f', file, '--auto-approve'], 4);
    expect(kept.stdout).toContain('container/safe is protected');
    expect(await gantryd.get('/1.0/containers')).toEqual(['/1.0/containers/safe']);
  });

  test('The exit code is 6 for a container that is not ready in time, with its state', async () => {
    const wait = 'manage: { wait: [ { ipv4: eth0, timeout: 300ms } ] }\n';
    const ran = await ok(['apply', '-f', manifest(stack(container('mute', wait))), '--auto-approve'], 6);
    expect(ran.stderr).toMatch(/an IPv4 address on eth0 did not come in 0\.3 s: Running, \d+ processes, no interfaces/);
  });

  test('The exit code is 64 for an invalid command line, and for a missing approval', async () => {
    for (const args of [
      ['plam'],
      ['plan', '--frob'],
      ['apply', '--parallelism', '0'],
      ['plan', '--target', 'web'],
      [],
    ]) {
      await ok(args, 64);
    }
    const ran = await ok(['apply', '-f', manifest(stack())], 64);
    expect(ran.stderr).toContain('--auto-approve');
    expect(await gantryd.get('/1.0/storage-pools')).toEqual([]);
    await ok(['--help']);
    await ok(['apply', '--help']);
  });

  test('The exit code is 130 after one interruption to stop and after two to cancel', async () => {
    const wait = 'manage: { wait: [ { ipv4: eth0, timeout: 60s } ] }\n';
    const file = manifest(stack(container('slow', wait)));
    let sent = 0;
    const ran = await gantry(['apply', '-f', file, '--auto-approve'], {
      heard(text, child) {
        const isTime = sent === 0 ? text.includes('slow: Waiting') : text.includes('Press Ctrl-C again');
        if (!isTime || sent === 2) return;
        sent += 1;
        child.kill('SIGINT');
      },
    });
    expect(ran.code, ran.stderr).toBe(130);
    expect(ran.stderr).toContain('Cancelling the steps in progress.');
    expect(ran.stdout).toContain('Apply interrupted');
  });

  test('The exit code is 130 after an interruption at the question, and nothing changes', async () => {
    const ran = await onTerminal(['apply', '-f', manifest(stack())], { answers: [['Enter a value:', '\u0003']] });
    expect(ran.code, ran.stdout).toBe(130);
    expect(await gantryd.get('/1.0/storage-pools')).toEqual([]);
  });
});

describe('a terminal', () => {
  test('A terminal shows the question, nothing happens on no, and progress overwrites itself on yes', async () => {
    const file = manifest(stack(container('a')));
    const no = await onTerminal(['apply', '-f', file], { answers: [['Enter a value:', 'y\n']] });
    expect(no.code, no.stdout).toBe(1);
    expect(withoutEscapes(no.stdout)).toContain("Only 'yes' will be accepted to approve.");
    expect(withoutEscapes(no.stdout)).toContain('Not approved: nothing was changed');
    expect(await gantryd.get('/1.0/storage-pools')).toEqual([]);

    const yes = await onTerminal(['apply', '-f', file], { answers: [['Enter a value:', 'yes\n']] });
    expect(yes.code, yes.stdout).toBe(0);
    expect(yes.stdout).toMatch(movement);
    expect(yes.stdout).toContain('\u001b[32m');
    const text = withoutEscapes(yes.stdout);
    expect(text).toMatch(/container\/a: Started after \d+\.\ds/);
    expect(text).toMatch(/\d of 4 steps/);
    expect(text.trimEnd().split('\n').at(-1)).toBe('Apply complete! 3 added, 0 changed, 0 destroyed.');
  });

  test('NO_COLOR, --no-color, TERM=dumb and CI each turn off their part of the terminal output', async () => {
    const file = manifest(stack());
    const apply = (more: readonly string[], vars: Record<string, string>): Promise<Ran> =>
      onTerminal(['apply', '-f', file, '--auto-approve', '--replace', 'storage_pool/p1', ...more], { env: vars });
    const plain = await apply([], { NO_COLOR: '1' });
    expect(plain.stdout).not.toMatch(colour);
    expect(plain.stdout).toMatch(movement);
    expect((await apply(['--no-color'], {})).stdout).not.toMatch(colour);
    const dumb = await apply([], { TERM: 'dumb' });
    expect(dumb.stdout).not.toContain('\u001b');
    const ci = await apply([], { CI: 'true' });
    expect(ci.stdout).toMatch(colour);
    expect(ci.stdout).not.toMatch(movement);
    const piped = await gantry(['plan', '-f', file, '--destroy'], { env: { FORCE_COLOR: '1' } });
    expect(piped.stdout).toMatch(colour);
    expect((await gantry(['plan', '-f', file, '--destroy'])).stdout).not.toContain('\u001b');
  });

  test('A terminal never gets lines wider than itself', async () => {
    const file = manifest(stack(...['a', 'b', 'c'].map((name) => container(`${name}-${'long'.repeat(8)}`))));
    const ran = await onTerminal(['apply', '-f', file, '--auto-approve'], { columns: 30, env: { NO_COLOR: '1' } });
    const painted = ran.stdout.split('\n').filter((line) => line.includes('...') || line.includes(' steps'));
    expect(painted.length).toBeGreaterThan(0);
    for (const line of painted) expect(withoutEscapes(line).length).toBeLessThan(30);
  });
});

describe('the manifests of an apply', () => {
  test('Manifests come from standard input, several files, or the current directory', async () => {
    const piped = await gantry(['apply', '-f', '-', '--auto-approve'], { stdin: stack() });
    expect(piped.code, piped.stderr).toBe(0);
    expect(piped.stdout).toContain('Apply complete! 2 added');
    const split = [manifest(pool(), 'one.yaml'), manifest(profile(), 'two.yaml')];
    const both = await ok(['plan', '-f', split[0] ?? '', '-f', split[1] ?? '', '--detailed-exitcode']);
    expect(both.stdout).toContain('all 2 declared objects are as declared');
    const dir = mkdtempSync(join(work, 'dir-'));
    writeFileSync(join(dir, 'stack.yaml'), stack());
    const here = await gantry(['plan', '--detailed-exitcode'], { cwd: dir });
    expect(here.code, here.stderr).toBe(0);
    const broken = await gantry(['validate', '-'], { stdin: 'kind: pool\n' });
    expect(broken.code).toBe(1);
    expect(broken.stderr).toMatch(/(stdin|-).*:1:/);
  });

  test('--target narrows an apply to an object and its dependencies', async () => {
    const file = manifest(stack(container('a'), container('b')));
    const ran = await ok(['apply', '-f', file, '--auto-approve', '-target=container/a']);
    expect(ran.stdout).toContain('Apply complete! 3 added');
    expect(await gantryd.get('/1.0/containers')).toEqual(['/1.0/containers/a']);
    const wrong = await ok(['plan', '-f', file, '--target', 'container/aa'], 1);
    expect(wrong.stderr).toContain('did you mean');
    const gone = await ok(['destroy', '-f', file, '--auto-approve', '--target', 'profile/small']);
    expect(gone.stdout).toContain('Destroy complete! 0 added, 0 changed, 2 destroyed.');
  });

  test('An apply runs one step at a time with --parallelism 1, and several at once without', async () => {
    const file = manifest(stack(...['a', 'b', 'c', 'd'].map((name) => container(name))));
    const most = async (more: readonly string[]): Promise<number> => {
      let [now, highest] = [0, 0];
      for (const { type } of jsonLines(await ok(['apply', '-f', file, '--auto-approve', '--json', ...more]))) {
        if (type === 'apply_start') now += 1;
        if (type === 'apply_complete') now -= 1;
        highest = Math.max(highest, now);
      }
      await ok(['destroy', '-f', file, '--auto-approve']);
      return highest;
    };
    expect(await most(['--parallelism', '1'])).toBe(1);
    const usual = await most([]);
    expect(usual).toBeGreaterThan(1);
    expect(usual).toBeLessThanOrEqual(4);
  });
});

describe('a daemon over TLS', () => {
  const pem = (name: string, text: string): string => {
    const path = join(work, name);
    writeFileSync(path, text);
    return path;
  };

  test('A daemon over TLS accepts a trusted certificate, and any other is refused with an explanation', async () => {
    const https = gantryd.https ?? '';
    const client = await makeClient('me');
    const stranger = await makeClient('stranger');
    const mine = ['--client-cert', pem('me.crt', client.certPem), '--client-key', pem('me.key', client.keyPem)];
    const host = ['-f', manifest(stack()), '--host', `https://${https}`];
    const server = ['--server-cert', join(gantryd.dir, 'server.crt')];
    const refusal = async (args: readonly string[]): Promise<string> =>
      (await ok(['plan', ...host, ...args], 7)).stderr;

    expect(await refusal([...server, ...mine])).toContain('does not trust this client: add this client certificate');
    await gantryd.patch('/1.0', { config: { 'core.trust_password': 'sesame' } });
    const added = await callTls(https, 'POST', '/1.0/certificates', { type: 'client', password: 'sesame' }, { client });
    expect(added.status, added.bytes.toString()).toBeLessThan(300);
    await ok(['apply', ...host, ...server, ...mine, '--auto-approve']);
    const fingerprint = ((await gantryd.get('/1.0')) as { environment: { certificate_fingerprint: string } })
      .environment.certificate_fingerprint;
    await ok(['plan', ...host, '--server-cert', fingerprint, ...mine, '--detailed-exitcode']);

    expect(await refusal(server)).toContain('give a client certificate and key that it knows');
    expect(await refusal(mine)).toMatch(/self-signed certificate.*--server-cert/);
    const wrongPin = ['--server-cert', pem('stranger.crt', stranger.certPem), ...mine];
    expect(await refusal(wrongPin)).toMatch(/its fingerprint is [0-9a-f]{64}, expected [0-9a-f]{64}/);
    const others = [
      '--client-cert',
      pem('stranger.crt', stranger.certPem),
      '--client-key',
      pem('stranger.key', stranger.keyPem),
    ];
    expect(await refusal([...server, ...others])).toContain('does not trust this client');
    await ok(['plan', ...host, '--client-cert', join(work, 'me.crt')], 64);
    const swapped = await ok(
      ['plan', ...host, '--client-cert', join(work, 'me.crt'), '--client-key', join(work, 'me.crt')],
      64,
    );
    expect(swapped.stderr).toContain('contains no PEM private key');
    expect(readFileSync(join(gantryd.dir, 'server.crt'), 'utf8')).toContain('BEGIN CERTIFICATE');
  });

  test('An unreachable daemon exits with 7 and names what to check', async () => {
    const plan = (host: string): Promise<Ran> => ok(['plan', '-f', manifest(stack()), '--host', host], 7);
    expect((await plan('https://127.0.0.1:1')).stderr).toContain('connection refused');
    expect((await plan('https://host.invalid:8443')).stderr).toContain('cannot be resolved');
    expect((await plan('unix:///nowhere/unix.socket')).stderr).toContain('start the daemon (gantryd)');
    expect((await plan(`unix://${manifest(stack())}`)).stderr).toContain('no process listens on it');
    await ok(['plan', '-f', manifest(stack()), '--host', 'ftp://somewhere'], 64);
  });
});

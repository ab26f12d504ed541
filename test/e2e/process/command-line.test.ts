// The command line as processes against a simulated gantryd: signals, terminals, credentials, standard input. What the command line says is
// shown in test/reconciler/cli/command-lines.test.ts.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { callTls, makeClient } from '../../support/daemons/tls.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { cli } from '../../support/cli/io.ts';
import { buildPrograms, runGantry, runOnTerminal, runProcess, withoutEscapes } from '../../support/cli/programs.ts';
import type { Ran, RunSetting, TerminalSetting } from '../../support/cli/programs.ts';
import { remove } from '../../support/hosts/remains.ts';
import { container, pool, profile, stack } from '../../support/cli/imageless-stack.ts';
import { tempFolder } from '../../support/temp-folder.ts';

// oxlint-disable-next-line no-control-regex
const movement = /\u001b\[\d+A/;

const programs = buildPrograms();
let gantryd: Gantryd;
const work = tempFolder('gtcl-');
beforeAll(async () => {
  gantryd = await startGantryd(programs, { runtime: 'sim', https: '127.0.0.1:0' });
});
afterAll(() => remove(gantryd, []));

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

/** Removes all objects that a test left. */
afterEach(async () => {
  const names = (await gantryd.get('/1.0/containers?recursion=1')) as { name: string }[];
  const rest = names.map(({ name }) => container(name)).join('');
  const words = ['destroy', '-f', manifest(stack(rest), 'rest.yaml'), '--host', gantryd.host, '--auto-approve'];
  const { code, stdout, stderr } = await cli(words);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});

describe('exit codes', () => {
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
    expect(ran.stderr).toContain('Cancelling what is in progress.');
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
});

test('an argument of other bytes than UTF-8 is refused and changes nothing; the character that stands for such bytes is none', async () => {
  await ok(['apply', '-f', manifest(stack(container('c1'))), '--auto-approve']);
  const set = (bytes: string): Promise<Ran> =>
    runProcess(
      ['sh', '-c', `exec "$@" user.text="$(printf '${bytes}')"`, 'sh', process.execPath, programs.gantry, 'set', 'c1'],
      { cwd: work, env: env() },
    );
  const refused = await set(String.raw`a\377b`);
  expect([refused.code, refused.stderr]).toEqual([
    64,
    expect.stringContaining('the argument "user.text=a\uFFFDb" has bytes that are not UTF-8'),
  ]);
  const { config } = (await gantryd.get('/1.0/containers/c1')) as { config: Record<string, string> };
  expect(config).not.toHaveProperty('user.text');
  expect((await set(String.raw`\303\274 \357\277\275`)).code).toBe(0);
  expect(await gantryd.get('/1.0/containers/c1')).toMatchObject({ config: { 'user.text': 'ü \uFFFD' } });
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
    const run = async (code: number, ...args: readonly string[]): Promise<string> => {
      const ran = await cli(args);
      expect(ran.code, `${args.join(' ')}\n${ran.stdout}\n${ran.stderr}`).toBe(code);
      return ran.stderr;
    };
    const refusal = (args: readonly string[]): Promise<string> => run(7, 'plan', ...host, ...args);

    expect(await refusal([...server, ...mine])).toContain('does not trust this client: add this client certificate');
    await gantryd.patch('/1.0', { config: { 'core.trust_password': 'sesame' } });
    const added = await callTls(https, 'POST', '/1.0/certificates', { type: 'client', password: 'sesame' }, { client });
    expect(added.status, added.bytes.toString()).toBeLessThan(300);
    await run(0, 'apply', ...host, ...server, ...mine, '--auto-approve');
    const fingerprint = ((await gantryd.get('/1.0')) as { environment: { certificate_fingerprint: string } })
      .environment.certificate_fingerprint;
    await run(0, 'plan', ...host, '--server-cert', fingerprint, ...mine, '--detailed-exitcode');

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
    const own = ['--client-cert', join(work, 'me.crt')];
    await run(64, 'plan', ...host, ...own);
    const swapped = await run(64, 'plan', ...host, ...own, '--client-key', join(work, 'me.crt'));
    expect(swapped).toContain('contains no PEM private key');
    expect(readFileSync(join(gantryd.dir, 'server.crt'), 'utf8')).toContain('BEGIN CERTIFICATE');
  });
});

// The author of a change, over TLS against a real daemon: the name of the certificate with its short fingerprint, wherever gantry shows
// it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const folder = tempFolder('gantry-blame-');
const file = join(folder, 'web.yaml');
const env = { XDG_STATE_HOME: folder };
let daemon: TestDaemon;
let laptop: ClientCertificate;

beforeAll(async () => {
  daemon = await makeDaemon({ https: '127.0.0.1:0' });
  laptop = await makeClient('laptop');
  const certificate = laptop.certPem.replaceAll(/-----[^-]+-----|\s/g, '');
  const trusted = await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'laptop', certificate });
  expect(trusted.status, trusted.bytes.toString()).toBe(200);
  writeFileSync(file, 'kind: profile\nname: web\nconfig: {user.a: one}\n');
  const applied = await on('apply', '-y', file);
  expect(applied.code, applied.stderr).toBe(0);
});
afterAll(() => daemon.cleanUp());

const host = (): readonly string[] => ['--host', `unix://${daemon.socketPath}`];
const on = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, ...host()], { env });

/** Changes the profile over TLS again and again until the output has `what`, then ends the command as Ctrl-C does. */
async function watched(what: RegExp, ...argv: readonly string[]): Promise<string> {
  let text = '';
  let interrupt = (): void => {};
  const add = (more: string): void => void (text += more);
  const ended = cli([...argv, ...host()], {
    env,
    onStdout: add,
    onStderr: add,
    interrupts: (listener) => (interrupt = listener),
  });
  let turn = 0;
  await until(async () => {
    const config = { 'user.a': `turn ${(turn += 1)}` };
    const { status } = await callTls(
      daemon.daemon.httpsAddress() ?? '',
      'PATCH',
      '/1.0/profiles/web',
      { config },
      { client: laptop },
    );
    expect(status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return what.test(text);
  });
  interrupt();
  await ended;
  return text;
}

test('the name of a certificate is shown in drift --watch, in a later drift, in events and in run', async () => {
  const name = `certificate laptop \\(${laptop.fingerprint.slice(0, 12)}\\)`;
  const by = new RegExp(`profile-updated by ${name} from 127.0.0.1 at \\d{4}-`);
  expect(await watched(by, 'drift', file, '--watch')).not.toContain(laptop.fingerprint);
  const later = await on('drift', file);
  expect([later.code, later.stdout]).toEqual([2, expect.stringMatching(by)]);
  const inJson = new RegExp(`"by":"${name} from`);
  expect(await watched(inJson, 'drift', file, '--watch', '-o', 'json')).toMatch(inJson);
  const shown = await watched(new RegExp(`/1.0/profiles/web  by ${name}`), 'events');
  expect(shown).not.toContain(laptop.fingerprint);
  const raw = await watched(/profile-updated/, 'events', '--json');
  expect(raw).toContain(laptop.fingerprint);
  expect(await watched(new RegExp(`profile/web: profile-updated by ${name}`), 'run', '-y', file)).toMatch(by);
});

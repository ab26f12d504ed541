// `gantry run` with manifests that change, one object that another client keeps changing back, and a start without server or valid
// manifests.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RepairLog } from '../../../reconciler/engine/runs/repair-log.ts';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon | undefined;
let dir: string;
let stack: string;
let said = '';
let stop: (() => Promise<CliRun>) | undefined;
beforeEach(() => {
  dir = tempFolder('gke-');
  stack = join(dir, 'stack.yaml');
});
afterEach(async () => {
  await stop?.();
  await daemon?.cleanUp();
  daemon = undefined;
});

const declare = (a: string, b: string): void =>
  writeFileSync(
    stack,
    ['a', 'b']
      .map((name) => `kind: profile\nname: ${name}\nconfig: { user.x: '${name === 'a' ? a : b}' }\n`)
      .join('---\n'),
  );

function start(socketPath: string, ...more: readonly string[]): void {
  said = '';
  let interrupt = (): void => {};
  const run = cli(['run', '-f', stack, '-y', '--interval', '1s', ...more], {
    env: { GANTRY_SOCKET: socketPath },
    onStderr: (chunk) => (said += chunk),
    interrupts: (given) => (interrupt = given),
  });
  stop = () => {
    stop = undefined;
    interrupt();
    return run;
  };
}

async function valueOf(name: string): Promise<string | undefined> {
  const answer = await daemon?.call('GET', `/1.0/profiles/${name}`);
  return (answer?.metadata as { config?: Record<string, string> } | undefined)?.config?.['user.x'];
}
const becomes = (name: string, value: string): Promise<void> => until(async () => (await valueOf(name)) === value);

describe('run', () => {
  test('applies each new state of the manifests at once, regardless of how many came before', async () => {
    daemon = await makeDaemon();
    declare('0', '0');
    start(daemon.socketPath);
    for (let commit = 1; commit <= 8; commit += 1) {
      declare(String(commit), '0');
      await becomes('a', String(commit));
    }
    expect(said).not.toContain('something keeps changing');
  });

  test('pauses only for an object that another client keeps changing back; commits and other objects are applied at once', async () => {
    daemon = await makeDaemon();
    declare('0', '0');
    start(daemon.socketPath);
    await becomes('b', '0');
    const meddle = (name: string): Promise<unknown> | undefined =>
      daemon?.call('PATCH', `/1.0/profiles/${name}`, { config: { 'user.x': 'meddled' } });
    for (let round = 0; round < 3; round += 1) {
      await meddle('a');
      await becomes('a', '0');
    }
    await meddle('a');
    await until(() => said.includes('profile/a differ: something keeps changing them back'));
    expect(await valueOf('a')).toBe('meddled');
    // The other object drifts, and a commit changes it.
    await meddle('b');
    await becomes('b', '0');
    declare('0', '1');
    await becomes('b', '1');
    // A commit to the object itself is a new declaration, and no retry.
    declare('2', '1');
    await becomes('a', '2');
    expect((await stop?.())?.code).toBe(0);
  });

  test('waits for an unreachable server at the start, and reports it', async () => {
    const first = await makeDaemon();
    await first.stop();
    declare('0', '0');
    start(first.socketPath);
    await until(() => said.includes('Waiting for the server:'));
    daemon = await makeDaemon({ dir: first.dir });
    await becomes('a', '0');
    expect(said.match(/Waiting for the server/g)).toHaveLength(1);
    expect((await stop?.())?.code).toBe(0);
  });

  test('waits for broken or missing manifests at the start, and reports the errors', async () => {
    daemon = await makeDaemon();
    start(daemon.socketPath);
    await until(() => said.includes('Waiting for manifests without errors:'));
    writeFileSync(stack, 'kind: profile\nnaem: a\n');
    await until(() => said.includes('naem'));
    declare('0', '0');
    await becomes('a', '0');
    expect((await stop?.())?.code).toBe(0);
  });

  test('refuses manifests of another set, keeps its applied state, and continues with the next manifests of its own set', async () => {
    daemon = await makeDaemon();
    const declareIn = (set: string, value: string): void =>
      writeFileSync(stack, `kind: profile\nname: a\nmanage: { set: ${set} }\nconfig: { user.x: '${value}' }\n`);
    declareIn('web', '0');
    start(daemon.socketPath);
    await becomes('a', '0');
    declareIn('other', '1');
    await until(() => said.includes('the manifests name the set other now, and this run keeps web: start it again'));
    expect(await valueOf('a')).toBe('0');
    declareIn('web', '2');
    await becomes('a', '2');
    expect((await stop?.())?.code).toBe(0);
  });

  test('waits until the server trusts its certificate', async () => {
    daemon = await makeDaemon({ https: '127.0.0.1:0' });
    const { certPem, keyPem } = await makeClient('ann');
    const [cert, key, server] = ['client.crt', 'client.key', 'server.crt'].map((file) => join(dir, file)) as [
      string,
      string,
      string,
    ];
    writeFileSync(cert, certPem);
    writeFileSync(key, keyPem);
    const { environment } = await daemon.get('/1.0');
    writeFileSync(server, environment.certificate as string);
    declare('0', '0');
    const host = `https://${daemon.daemon.httpsAddress()}`;
    start('', '--host', host, '--server-cert', server, '--client-cert', cert, '--client-key', key);
    await until(() => said.includes('Waiting for the server:'));
    expect(await valueOf('a')).toBeUndefined();
    const certificate = certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    expect((await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
    await becomes('a', '0');
    expect((await stop?.())?.code).toBe(0);
  });

  test('exits with the reason when the time is up before it could begin, with 0 on request, and at once for wrong flags', async () => {
    declare('0', '0');
    start(join(dir, 'nobody.socket'), '--for', '2s');
    const over = stop;
    await until(() => said.includes('Waiting for the server:'));
    await until(() => said.includes('Error:'));
    expect((await over?.())?.code).toBe(7);
    start(join(dir, 'nobody.socket'));
    await until(() => said.includes('Waiting for the server:'));
    expect((await stop?.())?.code).toBe(0);
    start(join(dir, 'nobody.socket'), '--window', 'noon');
    expect((await stop?.())?.code).toBe(64);
  });
});

test('a repair pauses after the third time within ten minutes, unless the document changes', () => {
  const log = new RepairLog();
  const document = (value: string): Document => ({ address: 'profile/a', values: { value } }) as unknown as Document;
  const now = 1_700_000_000_000;
  log.declare([document('1')]);
  for (const atMs of [now - 3, now - 2, now - 1]) {
    expect(log.resting(['profile/a', 'profile/b'], now).size).toBe(0);
    log.note(['profile/a'], atMs);
  }
  expect([...log.resting(['profile/a', 'profile/b'], now)]).toEqual([['profile/a', 4999]]);
  log.declare([document('2')]);
  expect(log.resting(['profile/a'], now).size).toBe(0);
  log.note(['profile/a'], now);
  expect(log.resting(['profile/a'], now).size).toBe(0);
  expect(log.count('profile/a')).toBe(1);
});

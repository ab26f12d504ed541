// The in-container program of port-forward, tried in a local shell, and the notation of ports.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { carrier, parsePorts } from '../../../reconciler/cli/verbs/daily/port-forward.ts';
import { cli } from '../../support/cli/io.ts';
import { createContainer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const daemon = await seededDaemon();
beforeAll(async () => {
  await createContainer(daemon, 'own');
}, 60_000);
const folder = tempFolder('gpf-');

test('ports are written as one number, or as two with a colon', () => {
  expect(['80', '8080:80', ':80', '0:80'].map(parsePorts)).toEqual([
    { local: 80, inside: 80 },
    { local: 8080, inside: 80 },
    { local: 0, inside: 80 },
    { local: 0, inside: 80 },
  ]);
  for (const word of ['', 'http', '1:2:3', '70000', '8080:0', '-1'])
    expect(() => parsePorts(word)).toThrow('[LOCAL:]PORT');
});

test('a container that does not run is refused with exit code 6, a wrong port with 64', async () => {
  const env = { GANTRY_SOCKET: daemon.socketPath };
  const stopped = await cli(['port-forward', 'own', '8080:80'], { env });
  expect([stopped.code, stopped.stderr]).toEqual([6, expect.stringContaining('gantry start own')]);
  expect((await cli(['port-forward', 'own', 'http'], { env })).code).toBe(64);
  const missing = await cli(['port-forward', 'nothing', '80'], { env });
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('container/nothing does not exist')]);
});

/** Runs the program with only cat and these programs in its PATH, under their names in containers. */
async function carried(
  programs: Readonly<Record<string, string>>,
  port: number,
): Promise<{ code: number; out: string }> {
  const bin = join(folder, ['bin', ...Object.keys(programs)].join('-'));
  mkdirSync(bin, { recursive: true });
  for (const [name, path] of Object.entries({ cat: '/bin/cat', ...programs })) symlinkSync(path, join(bin, name));
  const child = spawn('/bin/sh', ['-c', carrier, 'sh', String(port)], {
    env: { PATH: bin },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  child.stdin.on('error', () => {});
  child.stdin.write('hello');
  const out = await text(child.stdout);
  child.stdin.end();
  return { code: await ended, out };
}

test.each([
  ['bash', '/bin/bash'],
  ['nc', '/usr/bin/busybox'],
])('bytes pass both ways with %s alone, and the end of the answer ends it', async (name, path) => {
  if (!existsSync(path)) {
    console.log(`skipped: ${path} is not installed`);
    return;
  }
  const server = createServer((socket) => socket.once('data', (data) => socket.end(`got ${data.toString()}`)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  expect((await carried({ [name]: path }, (server.address() as AddressInfo).port)).out).toBe('got hello');
});

test('a container without any of the programs causes exit code 127', async () => {
  expect((await carried({}, 9)).code).toBe(127);
});

// Values, headers and queries of a megabyte and more: accepted, or refused with a status that the client receives. By curl, by the client
// room, and on a bare socket.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../../server/client/index.ts';
import { createContainer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const MiB = 1024 * 1024;
const daemon = await seededDaemon();
const work = tempFolder('gtyw-');
beforeAll(async () => {
  await createContainer(daemon, 'c1');
  await daemon.call('POST', '/1.0/profiles', { name: 'p1' });
});

interface Curled {
  readonly code: number;
  readonly status: number;
  readonly body: string;
}

/** Arguments in a file: an argument of a command line has at most 128 KiB. */
async function curl(path: string, options: readonly string[], body?: string): Promise<Curled> {
  const file = join(work, 'config');
  const data = join(work, 'body');
  if (body !== undefined) await writeFile(data, body);
  const lines = [
    `url = "http://localhost${path}"`,
    ...options,
    ...(body === undefined ? [] : [`data-binary = "@${data}"`]),
  ];
  await writeFile(file, lines.join('\n'));
  return new Promise((resolve) => {
    const args = ['-s', '--unix-socket', daemon.socketPath, '-K', file, '-w', '\n%{http_code}', '--max-time', '30'];
    execFile('curl', args, { maxBuffer: 64 * MiB }, (error, stdout) => {
      const end = stdout.lastIndexOf('\n');
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) });
    });
  });
}

const sizes = [
  ['half a MiB', MiB / 2],
  ['1 MiB', MiB],
  ['40 MiB', 40 * MiB],
] as const;

const places = [
  ['the server', '/1.0', 'user.big'],
  ['a container', '/1.0/containers/c1', 'user.big'],
  ['a profile', '/1.0/profiles/p1', 'user.big'],
] as const;

describe.each(sizes)('a config value of %s', (_size, bytes) => {
  // How large it is does not depend on where it would go.
  test.each(bytes > MiB ? places.slice(-1) : places)(
    'the value of %s is accepted, or refused with a status',
    async (_what, path, key) => {
      const value = 'x'.repeat(bytes);
      const body = JSON.stringify({ config: { [key]: value } });
      const answer = await curl(path, ['request = "PATCH"'], body);
      expect([answer.code, answer.status], answer.body.slice(0, 300)).toEqual([0, bytes < MiB ? 200 : 400]);
      if (bytes < MiB) expect((await daemon.get(path)).config[key]).toBe(value);
      else expect(JSON.parse(answer.body)).toMatchObject({ error_code: 400, metadata: { code: 'tooLarge' } });
      if (bytes < MiB) await daemon.call('PATCH', path, { config: { [key]: '' } });
    },
  );

  test('a value sent in chunks is refused with a status, too', async () => {
    const body = JSON.stringify({ config: { 'user.big': 'x'.repeat(bytes) } });
    const answer = await curl('/1.0/profiles/p1', ['request = "PATCH"', 'header = "Transfer-Encoding: chunked"'], body);
    expect([answer.code, answer.status], answer.body.slice(0, 300)).toEqual([0, bytes < MiB ? 200 : 400]);
    await daemon.call('PATCH', '/1.0/profiles/p1', { config: { 'user.big': '' } });
  });
});

describe('the client', () => {
  test.each(sizes)('gets the same answers for %s', async (_size, bytes) => {
    const client = await connect(daemon.socketPath);
    onTestFinished(() => client.close());
    const json = { config: { 'user.big': 'x'.repeat(bytes) } };
    const sent = client.http.send({ method: 'PATCH', path: '/1.0/profiles/p1', json });
    if (bytes < MiB) await sent;
    else await expect(sent).rejects.toMatchObject({ status: 400, code: 'tooLarge' });
    // The next request has a connection.
    await client.http.send({ method: 'PATCH', path: '/1.0/profiles/p1', json: { config: { 'user.big': '' } } });
  });
});

/** The status line and the body of the answer to bytes on the local socket; curl refuses such lines. */
function raw(head: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = dial(daemon.socketPath);
    let answer = '';
    socket.on('data', (bytes: Buffer) => (answer += bytes.toString()));
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
    socket.write(head);
  });
}

describe.each([
  ['20 KiB', 20 * 1024],
  ['1 MiB', MiB],
  ['8 MiB', 8 * MiB],
])('%s', (_size, bytes) => {
  const long = 'x'.repeat(bytes);
  const end = 'Host: x\r\nConnection: close\r\n';
  test.each([
    ['a header of a file', `POST /1.0/containers/c1/files?path=/f HTTP/1.1\r\nX-SVC-mode: ${long}\r\n${end}\r\n`],
    ['a query', `GET /1.0/containers?filter=${long} HTTP/1.1\r\n${end}\r\n`],
    ['a path', `GET /1.0/containers/${long} HTTP/1.1\r\n${end}\r\n`],
  ])('of %s are refused with a status', async (_what, head) => {
    const answer = await raw(head);
    expect(answer.slice(0, 200)).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(answer).toContain('"type":"error"');
    expect((await daemon.call('GET', '/1.0')).status).toBe(200);
  });
});

// Downloads that end early or differ from what was asked for: no file appears, and the message says what was cut off.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { cli } from '../../../support/cli/io.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const home = tempFolder('gantry-cut-');
const socket = join(home, 'socket');
let folder = '';
let server: Server;
let answer: (response: ServerResponse) => void = () => {};

const fingerprint = createHash('sha256').update('metarootfs').digest('hex');
beforeAll(async () => {
  server = createServer((request, response) => {
    if (/\/export(\?|$)/.test(request.url ?? '')) return answer(response);
    response.setHeader('content-type', 'application/json');
    const metadata = { auth: 'trusted', fingerprint, target: fingerprint, name: fingerprint };
    return response.end(JSON.stringify({ type: 'sync', status_code: 200, metadata }));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
});
afterAll(() => void server.close());
beforeEach(() => void (folder = tempFolder('gantry-cut-')));

const run = (...words: string[]) => cli(words, { env: { GANTRY_HOST: `unix://${socket}` } });
const cut = (head: string, length?: number) => (response: ServerResponse) => {
  if (length !== undefined) response.setHeader('content-length', String(length));
  response.write(head, () => response.destroy());
};
const part = (name: string, text: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n${text}`;
const split = (send: (response: ServerResponse) => void) => (response: ServerResponse) => {
  response.setHeader('content-type', 'multipart/form-data; boundary=b');
  send(response);
};
const both = `${part('metadata', 'meta')}\r\n${part('rootfs', 'rootfs')}`;

test('an image of two files is written when it is whole', async () => {
  answer = split((response) => response.end(`${both}\r\n--b--\r\n`));
  expect(await run('image', 'export', fingerprint, join(folder, 'i'))).toMatchObject({ code: 0, stderr: '' });
  expect(readdirSync(folder)).toEqual(['i', 'i.root']);
});

test.each([
  ['in its only file', cut('meta', 10), 'was cut off: '],
  ['in its first file', split(cut(part('metadata', 'me'))), 'was cut off: '],
  ['in its second file', split(cut(both)), 'was cut off: '],
  ['after its first file', split((response) => response.end(`${part('metadata', 'meta')}\r\n--b--\r\n`)), 'of 1 parts'],
  ['by a server that sends another one', (response: ServerResponse) => response.end('other'), 'was damaged in transit'],
])('an image that ends %s leaves no file', async (_title, send, text) => {
  answer = send;
  const ran = await run('image', 'export', fingerprint, join(folder, 'i'));
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(new RegExp(`^Error: .*${text}.*\\n$`))]);
  expect(readdirSync(folder)).toEqual([]);
});

test('a backup that is cut off leaves no file', async () => {
  answer = cut('half', 8);
  const ran = await run('backup', 'export', 'web', 'b', join(folder, 'b'));
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/^Error: The backup web\/b was cut off: .*\n$/)]);
  expect(readdirSync(folder)).toEqual([]);
});

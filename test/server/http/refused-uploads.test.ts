// Uploads that are refused while the client still sends: the answer arrives, also at clients that read only when everything is sent.
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { createContainer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';

const daemon = await seededDaemon();
beforeAll(async () => {
  await makeProject(daemon, 'small', { 'limits.disk': '1MiB', 'features.images': 'true' });
  await createContainer(daemon, 'c');
});

/** More than the buffers of both ends of a connection hold. */
const size = 48 * 1024 ** 2;
const piece = Buffer.alloc(1024 ** 2, 'x');

/** Sends the whole before it reads anything, and returns what it then reads. */
function sendThenRead(head: string, isChunked: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: daemon.socketPath, allowHalfOpen: true });
    socket.on('error', reject).pause();
    const pieces = (function* () {
      yield Buffer.from(`${head}\r\n${isChunked ? 'transfer-encoding: chunked' : `content-length: ${size}`}\r\n\r\n`);
      for (let sent = 0; sent < size; sent += piece.length)
        yield isChunked ? Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')]) : piece;
      if (isChunked) yield Buffer.from('0\r\n\r\n');
    })();
    const next = (): void => {
      const { value, done } = pieces.next();
      if (done !== true) return void socket.write(value, next);
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.on('end', () => {
        socket.end();
        resolve(text);
      });
      socket.resume();
    };
    next();
  });
}

describe.each([
  ['with its length', false],
  ['in chunks', true],
])('an upload of 48 MiB %s', (_how, isChunked) => {
  const octets = 'host: x\r\ncontent-type: application/octet-stream';
  test.each([
    ['an image into a project with 1 MiB', 'POST /1.0/images?project=small', octets, 403, 'limits.disk'],
    [
      'a split image into a project with 1 MiB',
      'POST /1.0/images?project=small',
      'host: x\r\ncontent-type: multipart/form-data',
      400,
      'boundary',
    ],
    ['a backup into a project with 1 MiB', 'POST /1.0/containers?project=small', octets, 403, 'limits.disk'],
    ['a file into a container that is not there', 'POST /1.0/containers/none/files?path=/f', octets, 404, 'none'],
    ['a file into no path', 'POST /1.0/containers/c/files', octets, 400, 'path'],
    ['a profile', 'POST /1.0/profiles', octets, 400, 'larger than 1048576 bytes'],
    ['anything to a path that is not there', 'POST /1.0/nothing', octets, 404, 'nothing'],
  ])('that is to be %s is answered with the reason', async (_what, request, headers, status, why) => {
    const answer = await sendThenRead(`${request} HTTP/1.1\r\n${headers}`, isChunked);
    expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
    expect(answer).toContain(why);
    expect(answer.toLowerCase()).toContain('connection: close');
  });
});

test('an upload that is refused leaves the daemon to others at once', async () => {
  const sending = sendThenRead('POST /1.0/nothing HTTP/1.1\r\nhost: x', false);
  expect((await daemon.call('GET', '/1.0')).status).toBe(200);
  await sending;
});

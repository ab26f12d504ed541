// Multipart uploads that cannot be split into parts are the sender's mistake: 400 with the reason, and nothing is left behind.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await fileDaemon();

const part = '--b\r\nContent-Disposition: form-data; name="metadata"; filename="m"\r\n\r\nabc';

test.each([
  ['has no boundary', 'multipart/form-data', part],
  ['has an empty boundary', 'multipart/form-data; boundary=', part],
  ['ends in the middle of a part', 'multipart/form-data; boundary=b', part],
  ['ends before the closing boundary', 'multipart/form-data; boundary=b', `${part}\r\n--b`],
  ['has none of its boundaries', 'multipart/form-data; boundary=b', 'nothing of the kind'],
  ['is empty', 'multipart/form-data; boundary=b', ''],
])('an upload that %s is refused with 400', async (_what, type, body) => {
  const answer = await daemon.call('POST', '/1.0/images', body, { 'content-type': type });
  expect(answer.status, answer.bytes.toString()).toBe(400);
  expect(answer.body.metadata.message).toMatch(/parts.*metadata.*rootfs/);
  const left = readdirSync(join(daemon.dir, 'images'), { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
});

// A disk that is full, or whose quota is used up, while an upload is received: named with its directory.
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { uploadError } from '../../../server/http/upload-error.ts';

test.each([
  ['full disk', { errno: -constants.errno.ENOSPC, code: 'ENOSPC' }],
  ['quota, for which Node has no name', { errno: -constants.errno.EDQUOT, code: 'Unknown system error -122' }],
])('an upload to a directory with a %s says which', (_what, fields) => {
  const raw = Object.assign(new Error('write'), fields);
  expect(uploadError('image', '/var/lib/gantry/images/.uploads/1', raw)).toMatchObject({
    code: 'internal',
    message: 'Receiving the image failed: the disk of /var/lib/gantry/images/.uploads is full',
    cause: raw,
  });
});

test('any other failure of an upload stays what it is', () => {
  const raw = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  expect(uploadError('backup', '/x/1', raw)).toBe(raw);
});

// Errors of system calls on files of containers: who is at fault, and the message.
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { asFileError } from '../../../server/drivers/files/file-error.ts';
import { toAppError } from '../../../server/services/shared/translate-errors.ts';

test('a push over the quota is the fault of the caller, and says so, though Node has no name for it', () => {
  const raw = Object.assign(new Error('Unknown system error -122: write'), {
    errno: -constants.errno.EDQUOT,
    code: 'Unknown system error -122',
  });
  const published = toAppError(asFileError('cannot write /big', raw));
  expect(published.code).toBe('badRequest');
  expect((published.cause as Error).message).toContain('the quota of the disk is used up');
});

test('a full disk is reported as such, whatever was tried', () => {
  const raw = Object.assign(new Error('ENOSPC: no space left on device, mkdir /x'), { errno: -28, code: 'ENOSPC' });
  expect(toAppError(raw)).toMatchObject({ code: 'diskFull', cause: raw });
});

// The error for a store write with an unknown outcome: never that nothing was done.
import { expect, test } from 'vitest';
import { statusIn } from '../../../server/api/errors.ts';
import { toAppError } from '../../../server/services/shared/translate-errors.ts';
import { StoreError } from '../../../server/store/store.ts';

test('a write that the store may have applied has another error than one that it has not', () => {
  const codes = (['Unknown', 'Unavailable', 'Locked'] as const).map(
    (code) => toAppError(new StoreError(code, 'x')).code,
  );
  expect(codes).toEqual(['outcomeUnknown', 'unavailable', 'unavailable']);
});

test('LXD clients get no 503 for it, which makes some of them resend the request', () => {
  expect([statusIn('svc', 'outcomeUnknown'), statusIn('lxd', 'outcomeUnknown')]).toEqual([500, 500]);
});

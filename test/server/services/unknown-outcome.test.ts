// What callers hear of a write to the store whose outcome is not known: never that nothing was done.
import { expect, test } from 'vitest';
import { statusIn } from '../../../server/api/errors.ts';
import { toAppError } from '../../../server/services/shared/translate-errors.ts';
import { StoreError } from '../../../server/store/store.ts';

test('a write that the store may have applied is told apart from one that it has not', () => {
  const codes = (['Unknown', 'Unavailable', 'Locked'] as const).map(
    (code) => toAppError(new StoreError(code, 'x')).code,
  );
  expect(codes).toEqual(['outcomeUnknown', 'unavailable', 'unavailable']);
});

test('clients of LXD take no 503 for it, which some of them answer by sending the request again', () => {
  expect([statusIn('svc', 'outcomeUnknown'), statusIn('lxd', 'outcomeUnknown')]).toEqual([500, 500]);
});

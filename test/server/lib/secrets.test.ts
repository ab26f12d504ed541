// Secrets are random, and password hashes hold.
import { describe, expect, test } from 'vitest';
import { hashPassword, randomSecret, sameSecret, verifyPassword } from '../../../server/lib/secrets.ts';

describe('random secrets and comparison', () => {
  test('random secrets are 64 hexadecimal characters and never the same', () => {
    const many = new Set(Array.from({ length: 100 }, () => randomSecret()));
    expect(many.size).toBe(100);
    for (const secret of many) expect(secret).toMatch(/^[0-9a-f]{64}$/);
  });
  test('the comparison accepts texts of any length', () => {
    expect([sameSecret('a', 'a'), sameSecret('a', 'b'), sameSecret('a', 'ab'), sameSecret('', '')]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});

describe('password hashes', () => {
  test('have 32 bytes of salt and 64 of key, differ each time, and match only their password', async () => {
    const [one, two] = await Promise.all([hashPassword('pässword'), hashPassword('pässword')]);
    expect(one).toMatch(/^[0-9a-f]{192}$/);
    expect(one).not.toBe(two);
    expect(await verifyPassword('pässword', one)).toBe(true);
    expect(await verifyPassword('password', one)).toBe(false);
    expect(await verifyPassword('', one)).toBe(false);
  });
  test('a stored text that is not a hash matches no password', async () => {
    for (const stored of ['', 'pässword', '00', 'zz'.repeat(96)])
      expect(await verifyPassword('pässword', stored)).toBe(false);
  });
});

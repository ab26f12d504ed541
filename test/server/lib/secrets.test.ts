// Secrets stay hidden, password hashes hold, and guessing gets slower.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { attemptLimits, PasswordAttempts } from '../../../server/auth/password-attempts.ts';
import { hashPassword, randomSecret, sameSecret, Secret, verifyPassword } from '../../../server/lib/secrets.ts';

describe('a secret', () => {
  const secret = new Secret('hunter2');
  test('is never printed by accident', () => {
    const shown = [
      ['', secret].join(''),
      String(secret),
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 5 }),
      inspect(secret),
    ];
    for (const text of [...shown, Object.values(secret).join(''), Object.keys(secret).join('')]) {
      expect(text).not.toContain('hunter2');
    }
    expect(JSON.stringify({ secret })).toBe('{"secret":"***"}');
  });
  test('is returned only by an explicit call', () => expect(secret.reveal()).toBe('hunter2'));
  test('equals the same text, as text or secret', () => {
    expect([secret.equals('hunter2'), secret.equals(new Secret('hunter2')), secret.equals('hunter3')]).toEqual([
      true,
      true,
      false,
    ]);
  });
});

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

describe('password attempts', () => {
  const at = (start = 0) => {
    let now = start;
    return { attempts: new PasswordAttempts(() => now), pass: (ms: number) => void (now += ms) };
  };
  const waits = (attempts: PasswordAttempts, count: number, address = '10.0.0.1') =>
    Array.from({ length: count }, () => {
      const admission = attempts.admit(address);
      return 'waitMs' in admission ? admission.waitMs : -1;
    });

  test('the first three are checked at once, later ones wait longer and longer, then they are refused', () => {
    expect(waits(at().attempts, 7)).toEqual([0, 0, 0, 500, 1500, 3500, -1]);
  });
  test('a refused attempt may be repeated after its delay', () => {
    const { attempts, pass } = at();
    waits(attempts, 6);
    expect(attempts.admit('10.0.0.1')).toEqual({ refusedForMs: 7500 });
    pass(7500);
    expect(attempts.admit('10.0.0.1')).toEqual({ waitMs: 0 });
  });
  test('the delay never exceeds the limit, however many attempts there were', () => {
    const { attempts, pass } = at();
    for (let count = 0; count < 100; count += 1) {
      const admission = attempts.admit('10.0.0.1');
      if ('refusedForMs' in admission) {
        expect(admission.refusedForMs).toBeLessThanOrEqual(attemptLimits.maxDelayMs + attemptLimits.maxWaitMs);
        pass(admission.refusedForMs);
      }
    }
  });
  test('addresses do not slow down each other, but a whole IPv6 network counts as one', () => {
    const { attempts } = at();
    waits(attempts, 6);
    expect(waits(attempts, 1, '10.0.0.2')).toEqual([0]);
    waits(attempts, 6, '2001:db8::1');
    expect(waits(attempts, 1, '2001:db8:0:0:ffff::7')).toEqual([-1]);
    expect(waits(attempts, 1, '2001:db8:0:1::1')).toEqual([0]);
    expect(waits(attempts, 1, '::ffff:10.0.0.1')).toEqual([-1]);
  });
  test('success and a long pause reset the count', () => {
    const { attempts, pass } = at();
    waits(attempts, 6);
    attempts.succeeded('10.0.0.1');
    expect(waits(attempts, 6)).toEqual([0, 0, 0, 500, 1500, 3500]);
    pass(attemptLimits.forgetMs + 60_000);
    expect(waits(attempts, 1)).toEqual([0]);
  });
  test('the number of remembered addresses is bounded', () => {
    const { attempts } = at();
    for (let index = 0; index < 3000; index += 1) attempts.admit(`10.1.${index >> 8}.${index & 255}`);
    expect(attempts.size).toBe(attemptLimits.maxAddresses);
  });
});

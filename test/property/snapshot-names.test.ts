// Laws of snapshot names and expiries for any patterns, names and times.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExpiry } from '../../server/api/container/snapshot-expiry.ts';
import { patternRule } from '../../server/api/container/snapshot-pattern.ts';
import {
  configuredExpiry,
  isExpired,
  nextSnapshotName,
  sentExpiry,
} from '../../server/services/shared/snapshot-names.ts';

const zero = '0001-01-01T00:00:00Z';
const now = new Date('2026-03-04T05:06:07.890Z');
const text = fc.stringMatching(/^[a-z0-9.-]{0,8}$/);
const someTime = fc.date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });
const nameFor = (pattern: string, taken: readonly string[]): string => {
  const next = nextSnapshotName(pattern, taken, now);
  return 'name' in next ? next.name : `rule: ${next.rule}`;
};

describe('names', () => {
  test.each([
    ["{{ creation_date|date:'2006-01-02' }}", '2026-03-04'],
    ['{{creation_date|date:"06.Jan.2-Mon-3.04PM-1"}}', '26.Mar.4-Wed-5.06AM-3'],
    ['at-{{ creation_date }}', 'at-2026-03-04_05-06-07'],
    ['%d', '0'],
  ])('the pattern %s gives %s', (pattern, name) => {
    expect(nameFor(pattern, [])).toBe(name);
    expect(patternRule(pattern)).toBeUndefined();
  });

  test.each([
    ['{{ nope }}', 'has {{ nope }}, where only'],
    ['a b', 'must not contain " "'],
    ['{{ creation_date|date:"2006/01" }}', 'must not contain "/"'],
    ['%d%d', 'at most once'],
    ['é', 'must not contain "é"'],
    ['..', 'must not be . or ..'],
  ])('the pattern %s is refused in the config', (pattern, why) => {
    expect(patternRule(pattern)).toContain(why);
  });

  test('a new name is never in use, and begins and ends like the pattern', () => {
    fc.assert(
      fc.property(text, text, fc.array(fc.nat(30)), fc.array(text), (before, after, numbers, others) => {
        const taken = [...numbers.map((number) => `${before}${number}${after}`), ...others];
        const name = nameFor(`${before}%d${after}`, taken);
        expect(taken).not.toContain(name);
        expect(name.startsWith(before) && name.endsWith(after)).toBe(true);
      }),
    );
  });

  test('the number is one more than the highest, from 0', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(1000)), (numbers) => {
        const taken = numbers.map((number) => `snap${number}`);
        expect(nameFor('snap%d', taken)).toBe(`snap${numbers.length === 0 ? 0 : Math.max(...numbers) + 1}`);
      }),
    );
  });

  test('a pattern without a number is the name, and a name in use gets a number', () => {
    expect(nameFor('daily', [])).toBe('daily');
    expect(nameFor('daily', ['daily'])).toBe('daily-0');
    expect(nameFor('daily', ['daily', 'daily-7'])).toBe('daily-8');
    expect(nameFor('snap%d', ['snap007', 'snap18446744073709551616', 'snapx', 'snap'])).toBe(
      'snap18446744073709551617',
    );
  });

  test('the date is formatted by its layout, in UTC', () => {
    expect(nameFor('{{ creation_date }}', [])).toBe('2026-03-04_05-06-07');
    expect(nameFor('a-{{creation_date|date:"2006/01"}}', [])).toBe('a-2026/03');
    expect(nameFor(`{{ creation_date | date:'15h04' }}-%d`, ['05h06-3'])).toBe('05h06-4');
    expect(nameFor('{{ name }}', [])).toMatch(/^rule: .*creation_date/);
    expect(nameFor('%d-%d', [])).toMatch(/^rule: .*once/);
  });
});

describe('expiries', () => {
  const expression = fc
    .subarray(['M', 'H', 'd', 'w', 'm', 'y'], { minLength: 1 })
    .chain((units) => fc.tuple(...units.map((unit) => fc.integer({ min: 1, max: 50 }).map((n) => `${n}${unit}`))))
    .map((words) => words.join(' '));

  test('a configured expiry is in the future and has not passed before', () => {
    fc.assert(
      fc.property(expression, someTime, (words, from) => {
        expect(parseExpiry(words)).toBeDefined();
        const at = configuredExpiry(words, from);
        expect(Date.parse(at)).toBeGreaterThan(from.getTime() - 1000);
        expect(isExpired(at, new Date(Date.parse(at)))).toBe(true);
        expect(isExpired(at, new Date(Date.parse(at) - 1000))).toBe(false);
      }),
    );
  });

  test('a snapshot without a configured expiry never expires', () => {
    expect([configuredExpiry(undefined, now), configuredExpiry('', now)]).toEqual([zero, zero]);
    expect(isExpired(zero, new Date('9999-01-01'))).toBe(false);
    expect(configuredExpiry('999999y', now)).toBe(zero);
  });

  test('a sent expiry is stored to the second, in UTC; null, empty and the zero time are distinguished', () => {
    fc.assert(
      fc.property(someTime, (at) => {
        expect(sentExpiry(at.toISOString())).toBe(`${at.toISOString().slice(0, 19)}Z`);
      }),
    );
    expect([sentExpiry(undefined), sentExpiry(null)]).toEqual([undefined, undefined]);
    for (const none of ['', zero, '0001-01-01T02:00:00+02:00', '0000-06-01T00:00:00Z'])
      expect(sentExpiry(none)).toBe(zero);
    for (const bad of ['soon', '2026-13-01T00:00:00Z', '2026-01-01', '9999-12-31T23:59:59-01:00'])
      expect(() => sentExpiry(bad)).toThrow('expires_at: must be an RFC 3339 timestamp');
  });
});

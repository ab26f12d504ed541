// Snapshot schedules and expiry, bit rates, timestamps: parsing and meaning.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseBits } from '../../server/api/text/bit-rate.ts';
import { applyExpiry, parseExpiry } from '../../server/api/container/snapshot-expiry.ts';
import { isDue, isDueAtStart, parseSchedule, type Minute } from '../../server/api/container/snapshot-schedule.ts';
import { isTimestamp } from '../../server/api/text/timestamp.ts';

// 2026-11-20 is a Friday.
const friday: Minute = { minute: 30, hour: 6, dayOfMonth: 20, month: 11, dayOfWeek: 5 };
const due = (text: string, at: Partial<Minute> = {}) => {
  const schedule = parseSchedule(text);
  if (typeof schedule === 'string') throw new Error(schedule);
  return isDue(schedule, { ...friday, ...at });
};

describe('schedules', () => {
  test.each([
    ['* * * * *', {}, true],
    ['30 6 * * *', {}, true],
    ['30 7 * * *', {}, false],
    ['*/15 * * * *', {}, true],
    ['*/15 * * * *', { minute: 31 }, false],
    ['10-40/10 * * * *', {}, true],
    ['5/25 * * * *', {}, true],
    ['0,30 6-8 * nov fri', {}, true],
    ['30 6 * NOV mon-fri', {}, true],
    ['30 6 * * 7', { dayOfWeek: 0 }, true],
    ['30 6 * * 0', { dayOfWeek: 0 }, true],
    ['30 6 * * 6-7', { dayOfWeek: 0 }, true],
    // Cron: two restricted day fields mean either.
    ['30 6 1 * fri', {}, true],
    ['30 6 20 * mon', {}, true],
    ['30 6 1 * mon', {}, false],
    ['30 6 */2 * mon', {}, false],
    ['@hourly', { minute: 0 }, true],
    ['@daily', { minute: 0, hour: 0 }, true],
    ['@weekly', { minute: 0, hour: 0, dayOfWeek: 0 }, true],
    ['@weekly', { minute: 0, hour: 0, dayOfWeek: 1 }, false],
    ['@monthly', { minute: 0, hour: 0, dayOfMonth: 1 }, true],
    ['@daily, @hourly', { minute: 0 }, true],
    ['@hourly,@weekly', { minute: 1 }, false],
    ['@never', { minute: 0, hour: 0 }, false],
    ['@never, @hourly', { minute: 0 }, true],
    ['@startup', { minute: 0, hour: 0 }, false],
    ['@startup,@hourly', { minute: 0 }, true],
    ['0 5 * * *, 30 6 * * *', {}, true],
    ['0 5 * * *, 30 6 * * *', { minute: 31 }, false],
    ['@daily, 30 6 * * *', {}, true],
    ['0,30 6 * * *, @daily', { minute: 0 }, true],
    ['@yearly', { minute: 0, hour: 0, dayOfMonth: 1, month: 1 }, true],
  ] as const)('%s at %j is due: %s', (text, at, expected) => expect(due(text, at)).toBe(expected));

  test('name the wrong field in the message', () => {
    expect(parseSchedule('* 24 * * *')).toBe(
      'has "24" for the hour, which takes *, numbers from 0 to 23, ranges, lists and steps (*/5)',
    );
    expect(parseSchedule('* * * foo *')).toContain('has "foo" for the month');
    expect(parseSchedule('* *')).toContain('exactly 5 fields');
    expect(parseSchedule('constructor')).toContain('exactly 5 fields');
    for (const text of ['@daily,', '@daily, @reboot', '5 * * * *, 6', '@daily,5', ''])
      expect(parseSchedule(text)).toContain('exactly 5 fields');
    expect([isDueAtStart('@daily, @Startup'), isDueAtStart('@daily')]).toEqual([true, false]);
  });

  test('are due in one minute of the hour when one minute is named', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 59 }), (minute) => {
        const hits = Array.from({ length: 60 }, (_, at) => due(`${minute} * * * *`, { minute: at })).filter(Boolean);
        expect(hits).toHaveLength(1);
      }),
    );
  });
});

describe('expiry', () => {
  const from = new Date('2024-01-31T10:00:00Z');
  test.each([
    ['1M', '2024-01-31T10:01:00.000Z'],
    ['2H', '2024-01-31T12:00:00.000Z'],
    ['1d', '2024-02-01T10:00:00.000Z'],
    ['1w 1d', '2024-02-08T10:00:00.000Z'],
    // The 31st of February is the 2nd of March.
    ['1m', '2024-03-02T10:00:00.000Z'],
    ['1y 1H', '2025-01-31T11:00:00.000Z'],
    ['0d', '2024-01-31T10:00:00.000Z'],
  ])('%s after the last of January 2024 is %s', (text, expected) => {
    expect(applyExpiry(parseExpiry(text) ?? {}, from)?.toISOString()).toBe(expected);
  });
  test('does not modify the given time, and is undefined when it is out of range', () => {
    applyExpiry({ days: 1 }, from);
    expect(from.toISOString()).toBe('2024-01-31T10:00:00.000Z');
    expect(applyExpiry({ years: 999_999 }, from)).toBeUndefined();
  });
});

describe('bit rates and timestamps', () => {
  test.each([
    ['', 0],
    ['1000', 1000],
    ['5bit', 5],
    ['100Mbit', 100_000_000],
    ['1Kibit', 1024],
    ['100MB', undefined],
    ['1 Mbit', undefined],
    ['-1', undefined],
    ['9999999999999999999Ebit', undefined],
  ])('%j is %s bits', (text, expected) => expect(parseBits(text)).toBe(expected));

  test('every output of Date is a timestamp', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }), (date) => {
        expect(isTimestamp(date.toISOString())).toBe(true);
      }),
    );
    expect(isTimestamp('0001-01-01T00:00:00Z')).toBe(true);
    expect(isTimestamp('2024-06-31T00:00:00Z')).toBe(false);
  });
});

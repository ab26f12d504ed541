// The checks of the keys snapshots.*, which containers and custom volumes share. Pure.
import type { Check } from '../text/value-checks.ts';
import { parseExpiry } from './snapshot-expiry.ts';
import { patternRule } from './snapshot-pattern.ts';
import { isDueAtStart, parseSchedule } from './snapshot-schedule.ts';

export const schedule: Check = (value) => {
  const parsed = parseSchedule(value);
  return typeof parsed === 'string' ? parsed : undefined;
};

/** For objects that are never started. */
export const scheduleByClock: Check = (value) =>
  isDueAtStart(value) ? 'must not have @startup: a volume does not start' : schedule(value);

export const expiry: Check = (value) =>
  parseExpiry(value) === undefined
    ? 'must be numbers with a unit out of M H d w m y, each unit at most once, such as 2w 1d'
    : undefined;

export const snapshotPattern: Check = (value) => patternRule(value);

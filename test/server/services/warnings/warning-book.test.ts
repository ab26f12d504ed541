// Warnings that are being stored: counted once, even while the records show them before the store has answered.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../server/lib/log.ts';
import type { WarningDocument } from '../../../../server/records/documents.ts';
import type { Changes, Entry, Records } from '../../../../server/records/records.ts';
import { type FoundState, WarningBook } from '../../../../server/services/warnings/warning-book.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';

const full: FoundState = { type: 'diskFull', message: 'The disk is full' };

/** Records of a member that follows its store: `write` shows its changes before `answer` is called. */
function followedRecords() {
  const all = new Map<string, Entry<WarningDocument>>();
  const answers: (() => void)[] = [];
  let generation = 0;
  const warnings = {
    list: () => [...all.values()],
    has: (name: string) => all.has(name),
    get generation() {
      return generation;
    },
  };
  const retry = async (decide: (changes: Changes) => void): Promise<void> => {
    const put = (_kind: string, name: string, document: WarningDocument): void => {
      all.set(name, { name, document, modRev: (generation += 1) });
    };
    decide({ put, delete: () => {} } as unknown as Changes);
    await new Promise<void>((resolve) => answers.push(resolve));
  };
  return { records: { warnings, retry } as unknown as Records, answer: () => answers.shift()?.() };
}

test('a warning that the records show before the store has answered is counted once', async () => {
  const { records, answer } = followedRecords();
  const { clock } = testMinutes('2026-01-01T00:00:00Z').time;
  const book = new WarningBook({ records, clock, log: silentLog, canWrite: () => true });
  book.updateStates(['diskFull'], [full]);
  const written = book.write();
  await Promise.resolve();
  expect(records.warnings.list()).toHaveLength(1);
  expect(book.all().map(({ document }) => document.count)).toEqual([1]);
  book.updateStates(['diskFull'], [full]);
  answer();
  await written;
  expect(book.all().map(({ document }) => document.count)).toEqual([1]);
});

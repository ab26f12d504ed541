// Histories of sets without objects: the latest stay, older ones are dropped.
import { expect, test } from 'vitest';
import { dropOldHistories, setsWithHistory } from '../../../reconciler/core/history/revisions.ts';
import { historyKey } from '../../../reconciler/core/ownership/set-state.ts';

const index = (minute: number): string =>
  JSON.stringify({ v: 1, revisions: [{ n: 1, run: 'r', at: `2030-01-01T00:${String(minute).padStart(2, '0')}:00Z` }] });

test('The twenty latest histories of gone sets are kept, and all of sets with objects', () => {
  const config: Record<string, string> = {};
  for (let minute = 0; minute < 25; minute += 1) {
    config[historyKey(`s${minute}`)] = index(minute);
    config[`user.gantry.documents.s${minute}.abc`] = 'text';
  }
  const patch = dropOldHistories(config, (set) => set !== 's0');
  expect(setsWithHistory({ ...config, ...patch }).length).toBe(21);
  expect(Object.keys(patch).toSorted()).toEqual(
    [1, 2, 3, 4].flatMap((at) => [`user.gantry.documents.s${at}.abc`, historyKey(`s${at}`)]).toSorted(),
  );
});

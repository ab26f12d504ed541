// Commits of five teams arrive while controller, hosts and git server are killed: the newest ones win, and each change is made once.
// `npm run faults -- controller` runs 500 commits.
import { beforeAll, describe, expect, test } from 'vitest';
import { controllerSuite } from '../../faults/controller/suite.ts';
import { wrongWrites } from '../../faults/controller/write-log.ts';
import { buildPrograms, type Programs } from '../../support/cli/programs.ts';
import { seededRandom } from '../../support/random.ts';

describe('while commits arrive', () => {
  let programs: Programs;
  beforeAll(() => {
    programs = buildPrograms();
  }, 240_000);

  test('kills of controller, hosts and git server lose no commit and repeat no change', async () => {
    const random = seededRandom();
    const { signal } = new AbortController();
    const context = { rounds: 3, random, gantryd: programs.gantryd, say: () => undefined, signal };
    const figures = await controllerSuite.run(context);
    expect({ figures, seed: random.seed }).toMatchObject({ figures: [{ acknowledged: 6, lost: [], orphans: [] }] });
  }, 240_000);
});

test('the checker notices a repeated change, a step back, a second deletion and a change by another team', () => {
  const write = (profile: string, note?: number) => ({
    method: note === undefined ? 'DELETE' : 'PATCH',
    profile,
    note: note === undefined ? undefined : String(note),
  });
  expect(wrongWrites('h1', [write('a', 1), write('b', 1), write('a', 3), write('a')])).toEqual([]);
  expect(
    wrongWrites('h1', [
      { ...write('t1-a', 1), team: 't1' },
      { ...write('t2-a', 1), team: 't1' },
    ]),
  ).toEqual(['h1: t1 wrote the profile t2-a']);
  expect(
    wrongWrites('h1', [write('a', 1), write('a', 3), write('a', 1), write('a', 2), write('a'), write('a')]),
  ).toEqual([
    'h1: profile a got the note 1 twice',
    'h1: profile a went back from 3 to 1',
    'h1: profile a went back from 3 to 2',
    'h1: profile a was deleted twice',
  ]);
});

// The next state of a warning, and the warning book's writes: in memory, with a stopped clock.
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../../server/lib/log.ts';
import type { WarningDocument } from '../../../../server/records/documents.ts';
import { Records } from '../../../../server/records/records.ts';
import {
  isExpired,
  joined,
  maxWarnings,
  nextWarning,
  nowOver,
  seenAgain,
  surplus,
  type Sighting,
} from '../../../../server/services/warnings/next-warning.ts';
import { warnedVolume } from '../../../../server/services/warnings/warned-objects.ts';
import { WarningBook } from '../../../../server/services/warnings/warning-book.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { testMinutes } from '../../../support/daemons/clock.ts';
import { until } from '../../../support/until.ts';

const at = (minute: number): string => `2026-03-01T10:0${minute}:00.000000000Z`;
const entity = { kind: 'containers', name: 'c1', uuid: 'u1' } as const;
const seenAt = (minute: number, before?: Sighting): Sighting =>
  seenAgain(before, { type: 'autostart', entity, uuid: `id${minute}`, message: `try ${minute}`, at: at(minute) });
const overAt = (minute: number, before?: Sighting): Sighting =>
  nowOver(before, { type: 'autostart', entity, uuid: `id${minute}`, at: at(minute) });
const document = (changes: Partial<WarningDocument> = {}): WarningDocument => {
  const first = nextWarning(undefined, seenAt(0));
  if (first === undefined) throw new Error('it was seen');
  return { ...first, ...changes };
};

describe('the next state of a warning', () => {
  test('the first sighting makes a new warning, later ones count', () => {
    expect(document()).toEqual({
      v: 1,
      type: 'Failed to autostart instance',
      severity: 'low',
      status: 'new',
      entity,
      count: 1,
      firstSeenAt: at(0),
      lastSeenAt: at(0),
      lastMessage: 'try 0',
      updatedAt: at(0),
    });
    expect(nextWarning(document(), seenAt(2, seenAt(1)))).toMatchObject({
      count: 3,
      firstSeenAt: at(0),
      lastSeenAt: at(2),
      lastMessage: 'try 2',
    });
  });

  test('an acknowledged warning stays acknowledged until its cause was over in between', () => {
    const acknowledged = document({ status: 'acknowledged' });
    expect(nextWarning(acknowledged, seenAt(1))?.status).toBe('acknowledged');
    expect(nextWarning(acknowledged, overAt(1))?.status).toBe('resolved');
    expect(nextWarning(acknowledged, seenAt(2, overAt(1)))?.status).toBe('new');
    expect(nextWarning(document({ status: 'resolved' }), seenAt(1))).toMatchObject({ status: 'new', count: 2 });
  });

  test('the end of a cause keeps its last sighting, and without a cause makes no warning', () => {
    expect(nextWarning(document(), overAt(3))).toMatchObject({
      status: 'resolved',
      count: 1,
      lastSeenAt: at(0),
      lastMessage: 'try 0',
      updatedAt: at(3),
    });
    expect(nextWarning(undefined, overAt(1))).toBeUndefined();
    const resolved = document({ status: 'resolved' });
    expect(nextWarning(resolved, overAt(1))).toBe(resolved);
    expect(nextWarning(undefined, overAt(2, seenAt(1)))).toMatchObject({
      status: 'resolved',
      count: 1,
      lastSeenAt: at(1),
    });
  });

  test('two merged sightings equal one after the other', () => {
    const kinds = [seenAt, overAt] as const;
    for (const first of kinds)
      for (const second of kinds)
        for (const third of kinds)
          for (const status of ['new', 'acknowledged', 'resolved'] as const) {
            const stepwise = nextWarning(nextWarning(document({ status }), first(1)), third(3, second(2)));
            const once = nextWarning(document({ status }), joined(first(1), third(3, second(2))));
            expect(once?.status).toBe(stepwise?.status);
            expect(once?.count).toBe(stepwise?.count);
            expect(once?.lastMessage).toBe(stepwise?.lastMessage);
          }
  });

  test('a message is truncated, and a resolved warning expires after a day', () => {
    const long = seenAgain(undefined, { type: 'undo', uuid: 'x', message: 'm'.repeat(5_000), at: at(0) });
    expect(nextWarning(undefined, long)?.lastMessage).toHaveLength(1_000);
    const resolved = document({ status: 'resolved' });
    const day = Date.parse(at(0)) + 24 * 3_600_000;
    expect([isExpired(resolved, day - 1), isExpired(resolved, day), isExpired(document(), day)]).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('resolved, harmless and old warnings are removed first when there are too many', () => {
    const all = [
      { id: 'high', document: document({ severity: 'high' }) },
      { id: 'old', document: document({ lastSeenAt: at(1) }) },
      { id: 'resolved', document: document({ severity: 'high', status: 'resolved', lastSeenAt: at(9) }) },
      { id: 'young', document: document({ lastSeenAt: at(2) }) },
    ];
    const gone = (max: number): string[] => surplus(all, max).map(({ id }) => id);
    expect([gone(4), gone(3), gone(2), gone(1)]).toEqual([
      [],
      ['resolved'],
      ['resolved', 'old'],
      ['resolved', 'old', 'young'],
    ]);
  });
});

describe('the book of warnings', () => {
  async function makeBook(isFull = () => false) {
    const store = openMemoryStore();
    const records = await Records.open(store);
    const minutes = testMinutes(at(0));
    const book = new WarningBook({ records, clock: minutes.time.clock, log: silentLog, canWrite: () => !isFull() });
    const writes = async (): Promise<number> => (await store.status()).rev;
    return { book, records, minutes, writes };
  }
  const image = (name: string) => ({ kind: 'images', name }) as const;

  test('writes the first sighting at once, and those of the next minute together', async () => {
    const { book, records, minutes, writes } = await makeBook();
    book.seen('imageUpdate', 'no answer', image('a'));
    await until(() => records.warnings.size === 1);
    const before = await writes();
    for (let count = 0; count < 1_000; count += 1) book.seen('imageUpdate', `answer ${count}`, image('a'));
    book.over('imageUpdate', image('a'));
    await book.write();
    expect(await writes()).toBe(before);
    expect(book.all().map(({ document: { count, status } }) => [count, status])).toEqual([[1_001, 'resolved']]);
    minutes.pass(60_000);
    await book.write();
    expect(await writes()).toBe(before + 1);
    expect(records.warnings.list()[0]?.document).toMatchObject({
      count: 1_001,
      status: 'resolved',
      lastMessage: 'answer 999',
    });
  });

  test('tidying writes nothing when nothing has changed, and follows the name of the object', async () => {
    const { book, records, writes } = await makeBook();
    const volume = { v: 1, uuid: 'u1', description: '', config: {}, createdAt: at(0), lifecycle: 'ready' } as const;
    await records.commit((changes) => changes.put('volumes', 'p/v1', volume));
    book.seen('scheduledSnapshot', 'a bad block', warnedVolume(records, 'p/v1'));
    await book.tidy();
    const before = await writes();
    await book.tidy();
    expect(await writes()).toBe(before);
    await records.commit((changes) => {
      changes.delete('volumes', 'p/v1');
      changes.put('volumes', 'p/v2', volume);
    });
    await book.tidy();
    expect(records.warnings.list()[0]?.document.entity).toEqual({ kind: 'volumes', name: 'p/v2', uuid: 'u1' });
    await records.commit((changes) => changes.delete('volumes', 'p/v2'));
    await book.tidy();
    expect(records.warnings.size).toBe(0);
  });

  test('a warning is shown, and counted once, while it is written', async () => {
    const { book } = await makeBook();
    book.seen('imageUpdate', 'no answer', image('a'));
    const counts = (): readonly number[] => book.all().map(({ document: { count } }) => count);
    const written = book.write();
    await Promise.resolve();
    expect(counts()).toEqual([1]);
    book.seen('imageUpdate', 'still none', image('a'));
    expect(counts()).toEqual([2]);
    await written;
    expect(counts()).toEqual([2]);
    expect(book.isOpen('imageUpdate', image('a'))).toBe(true);
  });

  test('a cause that is over without a warning writes nothing', async () => {
    const { book, writes } = await makeBook();
    const before = await writes();
    book.over('imageUpdate', image('a'));
    await book.write(true);
    expect(await writes()).toBe(before);
  });

  test('keeps a limited number, severe ones first', async () => {
    const { book, records, minutes } = await makeBook();
    book.seen('pool', 'gone', { kind: 'pools', name: 'p' });
    for (let count = 0; count < maxWarnings + 50; count += 1) book.seen('imageUpdate', 'no answer', image(`a${count}`));
    await book.write();
    minutes.pass(60_000);
    for (let count = 0; count < 70; count += 1) book.seen('imageUpdate', 'no answer', image(`b${count}`));
    await book.write();
    expect(records.warnings.size).toBe(maxWarnings);
    const entities = records.warnings.list().map((entry) => entry.document.entity?.name ?? '');
    expect(entities).toContain('p');
    expect(entities.filter((name) => name.startsWith('b'))).toHaveLength(70);
  });

  test('a warning that the store has no room for is shown, and written when there is room', async () => {
    let isFull = true;
    const { book, records } = await makeBook(() => isFull);
    book.seen('diskFull', 'no room');
    await book.write();
    expect([records.warnings.size, book.all().length]).toEqual([0, 1]);
    isFull = false;
    book.over('diskFull');
    await book.write();
    expect(records.warnings.list()[0]?.document).toMatchObject({ status: 'resolved', count: 1 });
  });

  test('a state that stays counts once, one that is no longer found is over', async () => {
    const { book, records } = await makeBook();
    const found = { type: 'undo', message: 'still there' } as const;
    for (let count = 0; count < 5; count += 1) book.updateStates(['undo'], [found]);
    await book.write(true);
    book.updateStates(['undo'], [found]);
    expect(book.all()[0]?.document).toMatchObject({ count: 1, status: 'new' });
    book.updateStates(['undo'], [{ ...found, message: 'another one' }]);
    expect(book.all()[0]?.document).toMatchObject({ count: 2, lastMessage: 'another one' });
    book.updateStates(['imageUpdate'], []);
    expect(book.all()[0]?.document.status).toBe('new');
    book.updateStates(['undo'], []);
    await book.write(true);
    expect(records.warnings.list()[0]?.document.status).toBe('resolved');
  });
});

// The checker of histories finds each possible anomaly of a cluster, and accepts correct histories.
import { describe, expect, test } from 'vitest';
import { check } from '../../faults/cluster/check.ts';
import {
  longestStall,
  percentile,
  type Action,
  type Entry,
  type Outcome,
  type Seen,
} from '../../faults/cluster/history.ts';
import { linearize } from '../../faults/cluster/linearize.ts';
import { seededRandom } from '../../support/random.ts';

let clients = 0;
const entry = (start: number, end: number, action: Action, outcome: Outcome = 'ok'): Entry => ({
  client: (clients += 1),
  member: 'm1',
  object: 'web',
  action,
  start,
  end,
  outcome,
});
const create = (value: string, on?: string): Action => ({ type: 'create', value, ...(on === undefined ? {} : { on }) });
const update = (from: string, value: string): Action => ({ type: 'update', from, value });
const read = (value?: string, on?: string): Action => ({
  type: 'read',
  saw: value === undefined ? undefined : { value, ...(on === undefined ? {} : { on }) },
});
const remove: Action = { type: 'delete' };
const move = (on: string): Action => ({ type: 'move', on });

const findings = (entries: readonly Entry[], last?: Seen | 'not looked at') =>
  check({ entries, sightings: [] }, last === 'not looked at' ? new Map() : new Map([['web', last]])).wrong;

describe('a correct history', () => {
  test('may answer concurrent operations in any order', () => {
    const entries = [
      entry(0, 10, create('a')),
      entry(11, 30, update('a', 'b')),
      entry(12, 14, read('a')),
      entry(13, 29, read('b')),
      entry(20, 40, update('a', 'c'), 'refused'),
      entry(41, 42, remove),
      entry(43, 44, read()),
      entry(45, 46, create('d')),
    ];
    expect(findings(entries, { value: 'd' })).toEqual([]);
  });

  test('may apply or not apply a write of unknown outcome, also late', () => {
    const unknown = [entry(0, 1, create('a')), entry(2, 3, update('a', 'b'), 'unknown')];
    expect(findings([...unknown, entry(4, 5, read('a')), entry(6, 7, read('b'))], { value: 'b' })).toEqual([]);
    expect(findings([...unknown, entry(4, 5, read('a'))], { value: 'a' })).toEqual([]);
  });

  test('may show a creation of unknown outcome and then its undo, but no undo of what was changed since', () => {
    const killed = [
      entry(0, 1, create('a'), 'unknown'),
      entry(0, 1, { type: 'delete', from: 'a' }, 'unknown'),
      entry(2, 3, read('a')),
    ];
    expect(findings([...killed, entry(4, 5, read())], undefined)).toEqual([]);
    expect(findings([...killed, entry(4, 5, remove, 'refused'), entry(6, 7, create('b'))], { value: 'b' })).toEqual([]);
    expect(findings(killed, { value: 'a' })).toEqual([]);
    const changed = [...killed, entry(4, 5, update('a', 'b'))];
    expect(findings(changed, { value: 'b' })).toEqual([]);
    expect(findings(changed, undefined)).toMatchObject([expect.stringContaining('an acknowledged write is lost')]);
    expect(findings([...changed, entry(6, 7, read())], { value: 'b' })).toMatchObject([
      expect.stringContaining('read (absence) of web was answered "ok", which fits no order'),
    ]);
  });

  test('may move an object, and delete and create it again with the place left to the server', () => {
    const entries = [
      entry(0, 1, create('a')),
      entry(2, 3, read('a', 'm2')),
      entry(4, 9, move('m3')),
      entry(5, 6, read('a', 'm2')),
      entry(7, 8, read('a', 'm3')),
      entry(10, 11, move('m3'), 'refused'),
    ];
    expect(findings(entries, { value: 'a', on: 'm3' })).toEqual([]);
  });

  test('is accepted whatever the order in which random operations of a real register overlap', () => {
    const random = seededRandom();
    for (let run = 0; run < 200; run += 1) {
      expect(findings(randomHistory(random), 'not looked at'), `GANTRY_SEED=${random.seed}`).toEqual([]);
    }
  });
});

/** A register under overlapping operations: each takes effect at one moment between its call and its answer. */
function randomHistory(random: { next(): number }): readonly Entry[] {
  const moments = Array.from({ length: 60 }, (_, index) => ({ at: index * 10, spread: 1 + random.next() * 60 }));
  let state: Seen;
  let count = 0;
  return moments.map(({ at, spread }) => {
    const [start, end] = [at - spread * random.next(), at + spread * random.next()];
    const roll = random.next();
    const known = state;
    if (roll < 0.4) return entry(start, end, { type: 'read', saw: known });
    if (roll < 0.5) {
      const outcome = known === undefined ? 'refused' : 'ok';
      state = undefined;
      return entry(start, end, remove, outcome);
    }
    const value = `v${(count += 1)}`;
    if (known === undefined || roll < 0.55) {
      if (known === undefined) state = { value };
      return entry(start, end, create(value), known === undefined ? 'ok' : 'refused');
    }
    const isLost = random.next() < 0.1;
    if (!isLost || random.next() < 0.5) state = { value };
    return entry(start, end, update(known.value, value), isLost ? 'unknown' : 'ok');
  });
}

describe('a wrong history', () => {
  const created = entry(0, 1, create('a'));

  test.each<[string, RegExp, readonly Entry[], Seen]>([
    [
      'loses an acknowledged update',
      /an acknowledged write is lost: .* update from a to b of web; at rest: a$/,
      [created, entry(2, 3, update('a', 'b'))],
      { value: 'a' },
    ],
    ['loses an acknowledged create', /an acknowledged write is lost: .* create as a/, [created], undefined],
    [
      'shows a value that was replaced before the read began',
      /a stale read: .* read \(a\) of web, after .* update from a to b/,
      [created, entry(2, 3, update('a', 'b')), entry(4, 5, read('a'))],
      { value: 'b' },
    ],
    [
      'does not show what was created before the read began',
      /a stale read: .* read \(absence\) of web, after .* create as a/,
      [created, entry(2, 3, read())],
      { value: 'a' },
    ],
    [
      'shows what was deleted before the read began',
      /a stale read: .* read \(a\) of web, after .* delete of web/,
      [created, entry(2, 3, remove), entry(4, 5, read('a'))],
      undefined,
    ],
    [
      'confirms two updates with the same If-Match',
      /two writers won the same If-Match: .* update from a to b of web; .* update from a to c of web/,
      [created, entry(2, 5, update('a', 'b')), entry(3, 6, update('a', 'c'))],
      { value: 'c' },
    ],
    [
      'applies an update that it refused',
      /a refused write was applied: .* update from x to b/,
      [created, entry(2, 3, update('x', 'b'), 'refused'), entry(4, 5, read('b'))],
      { value: 'a' },
    ],
    [
      'applies an update that failed',
      /a failed write was applied: .* update from a to b/,
      [created, entry(2, 3, update('a', 'b'), 'failed')],
      { value: 'b' },
    ],
    [
      'shows what nobody wrote',
      /nobody wrote what was read: .* read \(z\)/,
      [created, entry(2, 3, read('z'))],
      { value: 'a' },
    ],
    [
      'shows a value before it was written',
      /read before it was written: .* read \(b\)/,
      [created, entry(2, 3, read('b')), entry(4, 5, update('a', 'b'))],
      { value: 'b' },
    ],
    [
      'goes back in time between two reads of an update that is not answered yet',
      /read \(a\) of web was answered "ok", which fits no order of the operations: before it the state was b$/,
      [created, entry(2, 20, update('a', 'b')), entry(3, 4, read('b')), entry(5, 6, read('a'))],
      { value: 'b' },
    ],
    [
      'lets an update through whose If-Match named older content',
      /update from a to c of web was answered "ok", which fits no order/,
      [
        created,
        entry(2, 3, update('a', 'b'), 'unknown'),
        entry(4, 5, read('b')),
        entry(6, 7, update('a', 'c')),
        entry(8, 9, read('c')),
      ],
      { value: 'c' },
    ],
    [
      'refuses an update although nobody else wrote',
      /update from a to b of web was answered "refused", which fits no order/,
      [created, entry(2, 3, update('a', 'b'), 'refused')],
      { value: 'a' },
    ],
    [
      'creates an object that exists',
      /an acknowledged write is lost: .* create as a of web; at rest: c/,
      [created, entry(2, 3, create('b')), entry(4, 5, update('b', 'c'))],
      { value: 'c' },
    ],
    [
      'shows an object on a member that it left',
      /read \(a on m1\) of web was answered "ok", which fits no order of the operations: before it the state was a on m2$/,
      [entry(0, 1, create('a', 'm1')), entry(2, 3, move('m2')), entry(4, 5, read('a', 'm1'))],
      { value: 'a', on: 'm2' },
    ],
    [
      'shows two places of an object that did not move',
      /read \(a on m2\) of web was answered "ok", which fits no order/,
      [created, entry(2, 3, read('a', 'm1')), entry(4, 5, read('a', 'm2'))],
      { value: 'a' },
    ],
    [
      'confirms two deletes of one object',
      /delete of web was answered "ok", which fits no order/,
      [created, entry(2, 3, remove), entry(4, 5, remove)],
      undefined,
    ],
  ])('that %s is found', (_, expected, entries, last) => {
    const wrong = findings(entries, last);
    expect(wrong.join('\n')).toMatch(new RegExp(expected.source, 'm'));
  });

  test('a wrong history that has a container on two members at once is found', () => {
    const sightings = [
      { at: 1, running: { m1: ['web'], m2: [] } },
      { at: 2, running: { m1: ['web'], m2: ['web', 'db'] } },
    ];
    expect(check({ entries: [], sightings }).wrong).toEqual(['web was on m1 and m2 at once, at 2.0 ms']);
  });

  test('is found also among many correct operations of other objects', () => {
    const random = seededRandom();
    const others = Array.from({ length: 20 }, (_, index) =>
      randomHistory(random).map((each) => ({ ...each, object: `other${index}` })),
    ).flat();
    const wrong = findings([...others, created, entry(2, 3, update('a', 'b')), entry(4, 5, read('a'))], { value: 'b' });
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toMatch(/^a stale read/);
  });
});

test('an object whose order cannot be decided is reported as such, not as correct', () => {
  const unknown = Array.from({ length: 12 }, (_, index): Entry[] => [
    entry(0, 1, create(`c${index}`), 'unknown'),
    entry(0, 1, remove, 'unknown'),
  ]).flat();
  expect(linearize([...unknown, entry(2, 3, read('c3')), entry(4, 5, read('c4'))], 100)).toEqual({ fits: undefined });
});

test('a stall is the longest time without an acknowledged change, reads and refusals left out', () => {
  const entries = [
    entry(0, 10, create('a')),
    entry(11, 50, read('a')),
    entry(12, 90, update('x', 'y'), 'refused'),
    entry(20, 100, update('a', 'b')),
  ];
  expect(longestStall(entries, 5, 120)).toBe(90);
  expect(longestStall([], 5, 120)).toBe(115);
});

test('a percentile is a value that was measured: the highest of a few, the middle one for a half', () => {
  expect(percentile([3, 1, 2], 0.5)).toBe(2);
  expect(percentile([3, 1, 2], 0.99)).toBe(3);
  expect(
    percentile(
      Array.from({ length: 200 }, (_, index) => index + 1),
      0.99,
    ),
  ).toBe(198);
  expect(percentile([], 0.5)).toBe(0);
});

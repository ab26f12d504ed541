// The host ids of a container: disjoint from others', stable, and a clear message if there are none.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planOwners } from '../../../../server/drivers/runtime/idmap/file-owners.ts';
import { type HostIds, toHostId } from '../../../../server/drivers/runtime/idmap/id-map.ts';
import {
  parseIdMap,
  planIdMap,
  rangesOf,
  renderIdMap,
  type IdMapPlan,
  type TakenIds,
} from '../../../../server/drivers/runtime/idmap/plan.ts';
import type { IdMapEntry } from '../../../../server/drivers/runtime/driver.ts';

const range = { start: 100_000, count: 1_000_000 };
const ids: HostIds = {
  uids: range,
  gids: range,
  allowed: { uid: [range, { start: 1000, count: 10 }], gid: [range, { start: 1000, count: 10 }] },
};
const isolated = { 'security.idmap.isolated': 'true' };
const plan = (config: Record<string, string>, taken: readonly TakenIds[] = [], kept?: number) =>
  planIdMap(ids, config, kept, () => taken);
const good = (config: Record<string, string>, taken?: readonly TakenIds[], kept?: number): IdMapPlan => {
  const made = plan(config, taken, kept);
  if ('message' in made) throw new Error(made.message);
  return made;
};
const lines = (map: readonly IdMapEntry[], kind: 'isuid' | 'isgid' = 'isuid'): number[][] =>
  map.filter((entry) => entry[kind]).map(({ nsid, hostid, maprange }) => [nsid, hostid, maprange]);

describe('the map of a container', () => {
  test('is by default the whole range of the host, and none at all for a privileged one', () => {
    expect(lines(good({}).map)).toEqual([[0, 100_000, 1_000_000]]);
    expect(good({}).reserved).toEqual([]);
    expect(good({ ...isolated, 'security.privileged': 'true' })).toEqual({ map: [], base: 0, reserved: [] });
  });

  test('is a slice of its own when isolated, beyond the ids that ordinary users of the shared map have', () => {
    const first = good(isolated);
    expect([first.base, lines(first.map), lines(first.map, 'isgid')]).toEqual([
      165_536,
      [[0, 165_536, 65_536]],
      [[0, 165_536, 65_536]],
    ]);
    const taken = first.reserved.map((one) => ({ ...one, owner: 'first' }));
    expect(good({ ...isolated, 'security.idmap.size': '100000' }, taken).base).toBe(231_072);
    expect(good(isolated, [{ owner: 'x', start: 231_072, count: 65_536, isolated: true }]).base).toBe(165_536);
  });

  test('the map keeps its place if possible, even if others before it are gone', () => {
    expect(good(isolated, [], 500_000).base).toBe(500_000);
    expect(good(isolated, [{ owner: 'x', start: 510_000, count: 65_536, isolated: true }], 500_000).base).toBe(165_536);
    expect(good({ ...isolated, 'security.idmap.size': '700000' }, [], 500_000).base).toBe(165_536);
  });

  test('takes the lines of raw.idmap in place of what they replace', () => {
    const raw = { 'raw.idmap': 'both 1000 1000\nuid 1001-1003 5-7' };
    expect(lines(good(raw).map)).toEqual([
      [0, 100_000, 5],
      [5, 1001, 3],
      [8, 100_008, 992],
      [1000, 1000, 1],
      [1001, 101_001, 998_999],
    ]);
    expect(lines(good(raw).map, 'isgid')).toEqual([
      [0, 100_000, 1000],
      [1000, 1000, 1],
      [1001, 101_001, 998_999],
    ]);
    expect(toHostId(good({ ...raw, ...isolated }).map, 'uid', 1000)).toBe(1000);
    expect(lines(good({ 'raw.idmap': 'both 1000 0' }).map)[0]).toEqual([0, 1000, 1]);
    expect(lines(good({ ...isolated, 'raw.idmap': 'both 1000 70000' }).map)).toHaveLength(2);
  });

  test.each<[string, Record<string, string>, string, RegExp]>([
    [
      'a base outside the host range',
      { ...isolated, 'security.idmap.base': '5000' },
      'security.idmap.base',
      /"5000".*5000-70535.*100000-1099999/,
    ],
    [
      'a base whose ids another one has',
      { ...isolated, 'security.idmap.base': '200000' },
      'security.idmap.base',
      /"200000".*container other has 231072-296607/,
    ],
    [
      'more ids than the host has',
      { ...isolated, 'security.idmap.size': '2000000' },
      'security.idmap.size',
      /"2000000".*1000000 ids/,
    ],
    [
      'more ids than are left in a row',
      { ...isolated, 'security.idmap.size': '900000' },
      'security.idmap.size',
      /no 900000 ids in a row.*subuid/,
    ],
    [
      'host ids that are not to give',
      { 'raw.idmap': 'both 0-1 0-1' },
      'raw.idmap',
      /"both 0-1 0-1".*root:0:2.*\/etc\/subuid/,
    ],
    ['half of them', { 'raw.idmap': 'gid 1005-1015 0-10' }, 'raw.idmap', /root:1005:11.*\/etc\/subgid/],
    [
      'one container id twice',
      { 'raw.idmap': 'both 1000 7\nuid 1001 7' },
      'raw.idmap',
      /both 1000 7.*uid 1001 7.*twice/,
    ],
    ['one host id twice', { 'raw.idmap': 'both 1000 7\nboth 1000 8' }, 'raw.idmap', /twice/],
    ['ids of an isolated container', { 'raw.idmap': 'both 240000 7' }, 'raw.idmap', /isolated container other/],
    ['ids of its own range', { 'raw.idmap': 'both 100005 7' }, 'raw.idmap', /has already/],
  ])('cannot have %s', (_what, config, key, message) => {
    const made = plan(config, [{ owner: 'other', start: 231_072, count: 65_536, isolated: true }]);
    expect(made).toMatchObject({ key, message: expect.stringMatching(message) as string });
  });

  test('the map has at most as many parts as the kernel accepts', () => {
    const text = Array.from({ length: 200 }, (_, index) => `uid ${500_000 + index} ${index * 2}`).join('\n');
    expect(planIdMap(ids, { ...isolated, 'raw.idmap': text }, undefined, () => [])).toMatchObject({
      key: 'raw.idmap',
      message: expect.stringContaining('340') as string,
    });
  });

  test('raw.idmap may name ids that others name, which are never assigned', () => {
    const named = { owner: 'other', start: 1000, count: 1, isolated: false };
    expect(lines(good({ 'raw.idmap': 'both 1000 1000' }, [named]).map)).toHaveLength(3);
    expect(good(isolated, [{ ...named, start: 170_000 }]).base).toBe(170_001);
  });

  test('the map is written in the form of LXD, and read back', () => {
    const { map } = good({ 'raw.idmap': 'both 1000 1000' });
    expect(parseIdMap(renderIdMap(map))).toEqual(map);
    expect(renderIdMap(good({}).map.slice(0, 1))).toBe(
      '[{"Isuid":true,"Isgid":false,"Hostid":100000,"Nsid":0,"Maprange":1000000}]',
    );
    for (const bad of ['', 'x', '{}', '[1]', '[{"Hostid":"1"}]']) expect(parseIdMap(bad), bad).toBeUndefined();
  });
});

interface Step {
  readonly name: string;
  readonly action: 'put' | 'delete';
  readonly size: number;
  readonly base: number | undefined;
  readonly raw: string;
}

const step: fc.Arbitrary<Step> = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
  action: fc.constantFrom('put' as const, 'put' as const, 'put' as const, 'delete' as const),
  size: fc.constantFrom(65_536, 65_536, 100_000, 200_000),
  base: fc.option(fc.integer({ min: 90_000, max: 1_050_000 }), { nil: undefined, freq: 5 }),
  raw: fc.constantFrom('', '', '', 'both 1000 1000', 'uid 300000-300010 0-10'),
});

test('slices never overlap, never move, and are freed, whatever the sequence of changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const plans = new Map<string, { readonly plan: IdMapPlan; readonly size: number }>();
      const takenBut = (name: string): readonly TakenIds[] =>
        [...plans].flatMap(([owner, one]) =>
          owner === name ? [] : rangesOf(ids, one.plan.map).map((range) => ({ ...range, owner })),
        );
      for (const { name, action, size, base, raw } of steps) {
        const before = plans.get(name);
        if (action === 'delete') {
          plans.delete(name);
          continue;
        }
        const config = {
          ...isolated,
          'security.idmap.size': `${size}`,
          'raw.idmap': raw,
          ...(base === undefined ? {} : { 'security.idmap.base': `${base}` }),
        };
        const made = planIdMap(ids, config, before?.plan.base, () => takenBut(name));
        if ('message' in made) continue;
        if (base === undefined && before?.size === size && raw === '') expect(made.base).toBe(before.plan.base);
        plans.set(name, { plan: made, size });
        const slices = [...plans.values()].map((one) => ({ start: one.plan.base, end: one.plan.base + one.size }));
        for (const [index, one] of slices.entries()) {
          expect(one.start).toBeGreaterThanOrEqual(range.start);
          expect(one.end).toBeLessThanOrEqual(range.start + range.count);
          for (const other of slices.slice(index + 1)) {
            expect(one.start < other.end && other.start < one.end).toBe(false);
          }
        }
        for (const kind of ['isuid', 'isgid'] as const) {
          for (const column of [0, 1] as const) {
            const parts = lines(made.map, kind).toSorted((a, b) => (a[column] ?? 0) - (b[column] ?? 0));
            parts.reduce((end, part) => {
              expect(part[column]).toBeGreaterThanOrEqual(end);
              return (part[column] ?? 0) + (part[2] ?? 0);
            }, 0);
          }
        }
      }
      plans.clear();
      expect(good(isolated, takenBut('fresh')).base).toBe(165_536);
    }),
    { numRuns: 300 },
  );
});

describe('files on disk', () => {
  const a = good({}).map;
  const b = good({ ...isolated, 'security.idmap.base': '300000' }).map;
  const plain = { owner: 0, maps: [[]], unrecorded: false };

  test('files are mapped at the mount if possible, and then never change', () => {
    expect(planOwners(plain, a, true)).toEqual({ takeOut: [], through: a });
    expect(planOwners({ ...plain, maps: [[], a, b] }, b, true)).toEqual({ takeOut: [], through: b });
    expect(planOwners(plain, [], true)).toEqual({ takeOut: [] });
  });

  test('files on disk that were shifted once are shifted back, unless they already match', () => {
    expect(planOwners({ owner: 100_000, maps: [a], unrecorded: false }, b, true)).toEqual({ takeOut: [a], through: b });
    expect(planOwners({ owner: 100_000, maps: [a], unrecorded: false }, a, true)).toEqual({ takeOut: [] });
    expect(planOwners({ owner: 100_000, maps: [a], unrecorded: true }, [], true)).toEqual({ takeOut: [a] });
  });

  test('files are shifted elsewhere, through the ids that the container sees', () => {
    expect(planOwners(plain, b, false)).toEqual({ takeOut: [], putIn: b });
    expect(planOwners({ owner: 100_000, maps: [a, b], unrecorded: false }, b, false)).toEqual({
      takeOut: [a],
      putIn: b,
    });
    expect(planOwners({ owner: 300_000, maps: [b], unrecorded: false }, b, false)).toEqual({ takeOut: [] });
    expect(planOwners({ owner: 300_000, maps: [b], unrecorded: false }, [], false)).toEqual({ takeOut: [b] });
    expect(planOwners(plain, [], false)).toEqual({ takeOut: [] });
  });

  test('files are corrected after a crash during the shift, even for another map', () => {
    expect(planOwners({ owner: 0, maps: [[], b, a], unrecorded: false }, a, false)).toEqual({ takeOut: [b], putIn: a });
    expect(planOwners({ owner: 300_000, maps: [a, b], unrecorded: false }, b, false)).toEqual({
      takeOut: [a],
      putIn: b,
    });
  });
});

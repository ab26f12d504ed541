// Recording clients and checker together: a correct register passes a round, and each possible fault of a cluster is found.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Shown, Target } from '../../faults/cluster/clients.ts';
import type { Answered } from '../../faults/cluster/history.ts';
import { runRound } from '../../faults/cluster/round.ts';
import { seededRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';

type Value = { readonly value: string; readonly on: string; readonly tag: string };

interface Cheats {
  /** Reads at this member are many changes old. */
  readonly staleAt?: string;
  /** One acknowledged update in twenty is lost. */
  readonly loses?: boolean;
  /** Ignores If-Match. */
  readonly ignoresTags?: boolean;
  /** A move leaves the object where it was, too. */
  readonly keepsBoth?: boolean;
}

/** Changes after which the stale member sees one. */
const staleBy = 30;
/** Answers needed for a round. It ends by their number and not by time: a busy machine gives few in a second. */
const enough = { changes: 100, cheats: 15 };

interface Registers extends Target {
  readonly done: () => { readonly changes: number; readonly cheats: number };
}

/** Three members with one map; each pauses before and after its work. */
function registers({ staleAt, loses, ignoresTags, keepsBoth }: Cheats): Registers {
  const random = seededRandom(7);
  const now = new Map<string, Value>();
  const copies = new Set<string>();
  const earlier: ReadonlyMap<string, Value>[] = [];
  let tags = 0;
  let updates = 0;
  let changes = 0;
  let cheats = 0;
  const members = ['m1', 'm2', 'm3'];
  const pause = (): Promise<void> => sleep(random.next() * 2);
  const set = (object: string, value: Value | undefined): void => {
    earlier.push(new Map(now));
    changes += 1;
    if (value === undefined) now.delete(object);
    else now.set(object, value);
  };
  const change = async (work: () => Answered['outcome']): Promise<Answered> => {
    await pause();
    const outcome = work();
    await pause();
    return { outcome };
  };
  const staleNow = (): ReadonlyMap<string, Value> => earlier.at(-staleBy) ?? now;
  return {
    members,
    done: () => ({ changes, cheats }),
    async read(member, object): Promise<Shown> {
      await pause();
      const found = (member === staleAt ? staleNow() : now).get(object);
      if (found !== now.get(object)) cheats += 1;
      await pause();
      if (found === undefined) return { outcome: 'ok', saw: undefined };
      return { outcome: 'ok', saw: { value: found.value, on: found.on }, tag: found.tag };
    },
    async list() {
      await pause();
      const other = (on: string): string => members[(members.indexOf(on) + 1) % 3]!;
      return new Map(
        [...now].map(([object, { value, on }]) => [
          object,
          copies.has(object)
            ? [
                { value, on },
                { value, on: other(on) },
              ]
            : [{ value, on }],
        ]),
      );
    },
    create: (_, object, value) =>
      change(() => {
        if (now.has(object)) return 'refused';
        set(object, { value, on: 'm1', tag: `t${(tags += 1)}` });
        return 'ok';
      }),
    update: (_, object, value, tag) =>
      change(() => {
        const found = now.get(object);
        if (found === undefined || (ignoresTags !== true && found.tag !== tag)) return 'refused';
        if (found.tag !== tag) cheats += 1;
        updates += 1;
        if (loses === true && updates % 20 === 0) {
          cheats += 1;
          return 'ok';
        }
        set(object, { ...found, value, tag: `t${(tags += 1)}` });
        return 'ok';
      }),
    delete: (_, object) =>
      change(() => {
        if (!now.has(object)) return 'refused';
        set(object, undefined);
        return 'ok';
      }),
    move: (_, object, on) =>
      change(() => {
        const found = now.get(object);
        if (found === undefined || found.on === on) return 'refused';
        if (keepsBoth === true) {
          copies.add(object);
          cheats += 1;
        }
        set(object, { ...found, on });
        return 'ok';
      }),
  };
}

function round(cheats: Cheats) {
  const target = registers(cheats);
  const isHonest = Object.keys(cheats).length === 0;
  const hasSeenEnough = (): boolean => {
    const done = target.done();
    return isHonest ? done.changes >= enough.changes : done.cheats >= enough.cheats;
  };
  return runRound({ target, random: seededRandom(3), label: 'o', fault: () => until(hasSeenEnough) });
}

test('a cluster that answers correctly passes, and its round has many requests', async () => {
  const verdict = await round({});
  expect(verdict.wrong).toEqual([]);
  expect(verdict.acknowledged).toBeGreaterThan(50);
  expect(verdict.requests).toBeGreaterThan(verdict.acknowledged * 2);
});

test.each<[string, Cheats, RegExp]>([
  ['has a member that answers from an old copy', { staleAt: 'm2' }, /stale read.*asking m2/],
  ['loses an update in twenty', { loses: true }, /stale read|two writers won|fits no order|is lost/],
  ['does not look at If-Match', { ignoresTags: true }, /two writers won the same If-Match/],
  ['leaves a copy behind when it moves an object', { keepsBoth: true }, /was on m\d and m\d at once/],
])('a cluster that %s is found out', async (_, cheats, expected) => {
  const { wrong } = await round(cheats);
  expect(wrong.join('\n')).toMatch(expected);
});

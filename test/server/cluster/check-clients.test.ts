// Recording clients and checker together: a correct register passes a round, and each way in which a cluster could cheat is found.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Shown, Target } from '../../faults/cluster/clients.ts';
import type { Answered } from '../../faults/cluster/history.ts';
import { runRound } from '../../faults/cluster/round.ts';
import { seededRandom } from '../../support/random.ts';

type Value = { readonly value: string; readonly on: string; readonly tag: string };

interface Cheats {
  /** Reads at this member show what was there that many ms ago. */
  readonly staleAt?: string;
  /** One acknowledged update in twenty is not made. */
  readonly loses?: boolean;
  /** If-Match is not looked at. */
  readonly ignoresTags?: boolean;
  /** A move leaves the object where it was, too. */
  readonly keepsBoth?: boolean;
}

/** Three members of which all see one map; each takes a moment before and after its work. */
function registers({ staleAt, loses, ignoresTags, keepsBoth }: Cheats): Target {
  const random = seededRandom(7);
  const now = new Map<string, Value>();
  const copies = new Set<string>();
  let before = new Map<string, Value>();
  let tags = 0;
  const members = ['m1', 'm2', 'm3'];
  const pause = (): Promise<void> => sleep(random.next() * 2);
  const set = (object: string, value: Value | undefined): void => {
    before = new Map(now);
    if (value === undefined) now.delete(object);
    else now.set(object, value);
  };
  const change = async (work: () => Answered['outcome']): Promise<Answered> => {
    await pause();
    const outcome = work();
    await pause();
    return { outcome };
  };
  return {
    members,
    async read(member, object): Promise<Shown> {
      await pause();
      const found = (member === staleAt ? before : now).get(object);
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
        if (loses === true && random.next() < 0.05) return 'ok';
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
        if (keepsBoth === true) copies.add(object);
        set(object, { ...found, on });
        return 'ok';
      }),
  };
}

const round = (cheats: Cheats) =>
  runRound({ target: registers(cheats), random: seededRandom(3), label: 'o', fault: () => sleep(300) });

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

// The hostile world of the page has markup in every text from outside the controller. All other texts are listed here with the reason, so
// that the test for executed markup cannot miss a new field of the API.
import { expect, test } from 'vitest';
import { hostileMarkup, hostileWorld } from '../../support/page/worlds.ts';

/** Texts that the controller makes or checks itself: their last key. */
const own = new Set(
  [
    // Words of the contract.
    'status outcome action kind mode level effect power severity',
    // Times, ids, hashes; the version of the program; the set that a record is of.
    'at since until startedAt endedAt checkedAt lastSyncAt healedAt readAt lastSeenAt id run version',
    'revision appliedRevision previousRevision plan set',
  ].flatMap((line) => line.split(' ')),
);

/** Texts that replace secrets. */
const masks = new Set(['***', '(secret)']);
/** Names of sets: lower case letters, digits, - and _ (config/check-names.ts). */
const ofSets = ['.overview.sets[].name', '.overview.sets[].dependsOn[]'];

const isHostile = (text: string): boolean =>
  [hostileMarkup, hostileMarkup.replaceAll(' ', '/')].some((markup) => text.includes(markup));

interface Leaf {
  readonly path: string;
  readonly key: string;
  readonly text: string;
}

function leaves(value: unknown, path: string, key: string): readonly Leaf[] {
  if (typeof value === 'string') return [{ path, key, text: value }];
  if (Array.isArray(value)) return value.flatMap((item) => leaves(item, `${path}[]`, key));
  if (value instanceof Map) return [...value.values()].flatMap((item) => leaves(item, `${path}{}`, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => leaves(item, `${path}.${name}`, name));
}

test('every text from outside the controller is hostile', () => {
  const world = hostileWorld();
  const [object] = world.objects.get('web') ?? [];
  if (object === undefined) throw new Error('the hostile world has no object');
  const { overview, objects, drift, history, operations, logs } = world;
  const shown = {
    overview,
    objects,
    drift,
    history,
    operations,
    logs,
    detail: world.detail(object),
    preview: world.preview('main'),
  };
  const all = leaves(shown, '', '');
  const plain = all.filter(({ key, text }) => !isHostile(text) && !own.has(key) && !masks.has(text));
  expect([...new Set(plain.map(({ path }) => path))]).toEqual(ofSets);
  expect(all.length - plain.length).toBeGreaterThan(100);
});

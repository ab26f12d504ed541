// For which requests a member catches up with the others before it routes them.
import { expect, test } from 'vitest';
import type { Members } from '../../../server/membership/members.ts';
import { Routing } from '../../../server/membership/routing.ts';
import type { Records } from '../../../server/records/records.ts';

const three = { name: 'm3', number: 3 };
const members = {
  get: (name: string) => (name === 'm3' ? three : undefined),
  byNumber: () => three,
} as unknown as Members;
const routing = new Routing({} as Records, members);
const asks = (path: string, query: Readonly<Record<string, string>> = {}): boolean =>
  routing.dependsOnOthers({ endpoint: { id: 'x', method: 'GET', path, query: ['target'] }, params: {}, query });

test('the member for a volume is decided by what all members have acknowledged, unless the request names it', () => {
  const volume = '/1.0/storage-pools/:pool/volumes/:type/:name';
  expect([asks(volume), asks(`${volume}/snapshots`), asks(volume, { target: 'm3' })]).toEqual([true, true, false]);
});

test('a target is one member, or a group that receives an object; in a part of a change it does not matter', () => {
  const to = (path: string, target: string, names?: 'part' | 'destination') =>
    routing.memberFor({
      endpoint: { id: 'x', method: 'POST', path, query: ['target'], ...(names === undefined ? {} : { target: names }) },
      params: {},
      query: { target },
    })?.number;
  expect(to('/1.0/networks/:name', 'm3')).toBe(3);
  expect(() => to('/1.0/networks/:name', '@g')).toThrow('The target @g is a group');
  expect([to('/1.0/networks', 'm3', 'part'), to('/1.0/containers', '@g', 'destination')]).toEqual([
    undefined,
    undefined,
  ]);
});

test('requests for containers and lists begin without a question to the store', () => {
  expect([asks('/1.0/containers/:name'), asks('/1.0/storage-pools/:pool/volumes')]).toEqual([false, false]);
});

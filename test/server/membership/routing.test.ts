// For which requests a member first asks what the others wrote, before it decides where they belong.
import { expect, test } from 'vitest';
import type { Members } from '../../../server/membership/members.ts';
import { Routing } from '../../../server/membership/routing.ts';
import type { Records } from '../../../server/records/records.ts';

const members = { get: (name: string) => (name === 'm3' ? { name, number: 3 } : undefined) } as unknown as Members;
const routing = new Routing({} as Records, members);
const asks = (path: string, query: Readonly<Record<string, string>> = {}): boolean =>
  routing.dependsOnOthers({ endpoint: { id: 'x', method: 'GET', path }, params: {}, query });

test('the member for a volume is decided by what all members have acknowledged, unless the request names it', () => {
  const volume = '/1.0/storage-pools/:pool/volumes/:type/:name';
  expect([asks(volume), asks(`${volume}/snapshots`), asks(volume, { target: 'm3' })]).toEqual([true, true, false]);
});

test('requests for containers and lists begin without a question to the store', () => {
  expect([asks('/1.0/containers/:name'), asks('/1.0/storage-pools/:pool/volumes')]).toEqual([false, false]);
});

// The records of a member that is removed from its cluster, deleted in transactions of limited size.
import { expect, test } from 'vitest';
import { OtherMembers } from '../../../../server/records/other-members.ts';
import { forgetMember } from '../../../../server/services/cluster/remove.ts';

test('each record goes in one transaction with the name that it reserves, however many there are', async () => {
  const others = new OtherMembers();
  const names = Array.from({ length: 250 }, (_, index) => `c${index}`);
  for (const name of names) others.put('containers', 2, name, new Uint8Array(), 1);
  for (const name of names.slice(0, 75)) others.put('snapshots', 2, name, new Uint8Array(), 1);
  for (const name of names.slice(0, 75)) others.put('volumes', 2, `p/${name}`, new Uint8Array(), 1);
  others.put('containers', 3, 'kept', new Uint8Array(), 1);
  const transactions: (readonly string[])[] = [];
  await forgetMember({ others, deleteKeys: async (keys) => void transactions.push(keys) }, 2);

  expect(transactions.every((keys) => keys.length <= 100)).toBe(true);
  const placeOf = (key: string): number => transactions.findIndex((keys) => keys.includes(key));
  const pairs = [
    ...names.map((name) => [`/member/2/containers/${name}`, `/names/containers/${name}`]),
    ...names.slice(0, 75).map((name) => [`/member/2/volumes/p/${name}`, `/names/volumes/p/${name}`]),
  ] as const;
  for (const [record = '', name = ''] of pairs) {
    expect(placeOf(record), record).toBeGreaterThanOrEqual(0);
    expect(placeOf(name), name).toBe(placeOf(record));
  }
  expect(transactions.flat().filter((key) => key.startsWith('/member/2/snapshots/'))).toHaveLength(75);
  expect(transactions.flat().filter((key) => key.includes('kept'))).toEqual([]);
});

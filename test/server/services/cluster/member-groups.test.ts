// Groups of cluster members, and the containers that were made for one.
import { expect, test } from 'vitest';
import type { ContainerDocument, Documents } from '../../../../server/records/documents.ts';
import { Records } from '../../../../server/records/records.ts';
import { MemberGroups, type MemberGroupsDeps } from '../../../../server/services/cluster/member-groups.ts';
import type { Caller } from '../../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';
import { memberRecord } from '../../../support/fakes/records.ts';

const container = (group: string): ContainerDocument =>
  ({ v: 1, uuid: group, config: { 'volatile.cluster.group': group }, pool: 'p', lifecycle: 'ready' }) as never;
const member = (number: number): Documents['members'] => memberRecord(number, { groups: ['old'] });

test('containers of all members stay in their group when it gets another name', async () => {
  const store = openMemoryStore();
  const stop = new AbortController();
  const [one, two] = [await Records.open(store, 1), await Records.open(store, 2)];
  for (const records of [one, two]) void records.follow(stop.signal, () => {});
  try {
    await one.commit((changes) => {
      changes.put('memberGroups', 'old', { v: 1, description: '' });
      for (const number of [1, 2]) changes.put('members', `m${number}`, member(number));
    });
    // More than one transaction takes.
    for (const [records, letter] of [
      [one, 'a'],
      [two, 'b'],
    ] as const)
      await records.commit((changes) => {
        for (let index = 0; index < 40; index += 1) changes.put('containers', `${letter}${index}`, container('old'));
        changes.put('containers', `${letter}-other`, container('other'));
      });
    await until(() => one.others.count('containers', 2) === 41 && one.containers.size === 41);

    const deps = { records: one, events: { lifecycle: () => {} }, cluster: { isOn: true } };
    const groups = new MemberGroups(deps as unknown as MemberGroupsDeps);
    await groups.rename({ requestor: {} } as Caller, 'old', 'new');

    expect(groups.get('new').object.members).toEqual(['m1', 'm2']);
    await until(() => two.memberGroups.has('new'));
    for (const records of [one, two]) {
      const found = records.containers.list().map(({ document }) => document.config['volatile.cluster.group']);
      expect(found.filter((group) => group === 'new')).toHaveLength(40);
      expect(found.filter((group) => group === 'other')).toHaveLength(1);
    }
  } finally {
    stop.abort();
  }
});

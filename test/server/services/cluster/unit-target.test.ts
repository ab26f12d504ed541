// Where containers of a lost member start: within the group that they were made for.
import { describe, expect, test } from 'vitest';
import type { Member } from '../../../../server/membership/members.ts';
import type { Records } from '../../../../server/records/records.ts';
import { targetOf } from '../../../../server/services/cluster/healing/unit-target.ts';

const member = (number: number, groups: readonly string[], containers = 0): Member => ({
  name: `m${number}`,
  number,
  address: `10.0.0.${number}:8443`,
  document: { v: 1, number, address: '', architecture: 'x86_64', joinedAt: '', certificate: '', groups },
  isHere: number === 1,
  isPresent: number !== 9,
  isUnknown: false,
  present: undefined,
  containers,
});
/** m9 is lost; m1 is the emptiest. */
const members = [
  member(1, ['default']),
  member(2, ['default', 'cold'], 5),
  member(3, ['cold', 'dry'], 7),
  member(9, ['cold', 'dry', 'gone']),
];

/** Each container of the lost member with its group. */
function where(groups: Readonly<Record<string, string>>): string {
  const entryOf = (name: string) => {
    const group = groups[name] ?? '';
    const config = group === '' ? {} : { 'volatile.cluster.group': group };
    return {
      name,
      member: 9,
      document: { uuid: name, pool: 'nfs', architecture: 'x86_64', config, devices: {}, profiles: [] },
    };
  };
  const records = {
    others: {
      get: (_kind: string, name: string) => entryOf(name),
      list: () => [],
      having: () => [2, 3].map((number) => ({ member: number, document: { lifecycle: 'ready' } })),
    },
    pools: { get: () => ({ document: { lifecycle: 'ready' } }) },
    snapshots: { list: () => [] },
    profiles: { get: () => undefined },
    projects: { get: () => undefined },
    networkDefinitions: { has: () => false },
  } as unknown as Records;
  const cluster = { members: { list: () => members, here: 1 } } as unknown as Parameters<typeof targetOf>[0]['cluster'];
  return targetOf({ records, cluster }, { containers: Object.keys(groups), volumes: [] }, 9, new Map()).name;
}

describe('a container of a lost member', () => {
  test('goes to the emptiest member when it was made for none in particular', () => {
    expect(where({ web: '' })).toBe('m1');
  });

  test('stays inside the group that was the target when it was made', () => {
    expect(where({ web: 'cold' })).toBe('m2');
  });

  test('goes to a member of all their groups when it shares a volume with others', () => {
    expect(where({ web: 'cold', sql: 'dry', log: '' })).toBe('m3');
  });

  test('has no place when the lost member was the only one of its group', () => {
    expect(() => where({ web: 'gone' })).toThrow('in the group gone');
  });
});

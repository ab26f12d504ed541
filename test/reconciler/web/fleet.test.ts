// The fleet in groups: their hosts, the worst first, and the sums of a group.
import { expect, test } from 'vitest';
import type { HostStatus, SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { fleetOf, groupsOf, labelKeys } from '../../../reconciler/web/views/fleet/groups.ts';
import { aSet } from '../../support/controller/fake-controller.ts';

const host = (name: string, zone: string | undefined, more: Partial<HostStatus> = {}): HostStatus => ({
  name,
  labels: zone === undefined ? {} : { zone },
  status: 'online',
  ...more,
});
const on = (host: string, status: 'synced' | 'failed'): SetStatus['hosts'][number] => ({
  host,
  status,
  objects: { total: 10, synced: 8, drifted: 1, failed: 1 },
});
const GiB = 1024 ** 3;
const capacity = { cpus: 4, memoryBytes: 8 * GiB, memoryUsedBytes: 2 * GiB };
const fleet = {
  hosts: [
    host('h10', 'b', { capacity }),
    host('h2', 'b', { capacity }),
    host('h3', 'a', { status: 'offline' }),
    host('h4', undefined),
  ],
  sets: [
    aSet('web', { hosts: [on('h2', 'synced'), on('h10', 'failed')] }),
    aSet('db', { hosts: [on('h2', 'synced')] }),
  ],
};

test('hosts are grouped by a label, unlabelled ones last, the worst of a group first, then by number', () => {
  expect(labelKeys(fleet)).toEqual(['zone']);
  const groups = groupsOf(fleetOf(fleet, ''), 'zone');
  expect(groups.map(({ value, hosts }) => [value, hosts.map((one) => [one.host.name, one.status])])).toEqual([
    ['a', [['h3', 'failed']]],
    [
      'b',
      [
        ['h10', 'failed'],
        ['h2', 'synced'],
      ],
    ],
    [undefined, [['h4', 'unknown']]],
  ]);
  expect(groups[1]?.total).toEqual({
    hosts: 2,
    offline: 0,
    objects: 30,
    cpus: 8,
    memoryBytes: 16 * GiB,
    memoryUsedBytes: 4 * GiB,
  });
});

test('every word must be in the name, the labels or the sets of a host', () => {
  const found = (words: string): readonly string[] => fleetOf(fleet, words).map((one) => one.host.name);
  expect(found('zone=b db')).toEqual(['h2']);
  expect(found('WEB')).toEqual(['h10', 'h2']);
  expect(found('none')).toEqual([]);
});

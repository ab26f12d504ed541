// The choice of containers of a lost member that start elsewhere, together or alone, and when; and the transactions that move their records.
import { describe, expect, test } from 'vitest';
import {
  fenceMarginSeconds,
  healingWaitMs,
  type LostMember,
  type LostContainer,
  planHealing,
} from '../../../../server/services/cluster/healing/plan.ts';
import { isGone, takeOver, type TakeOver } from '../../../../server/services/cluster/healing/take-over.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../../server/records/documents.ts';
import { storeLimits } from '../../../../server/store/store.ts';

const container = (name: string, more: Partial<LostContainer> = {}): LostContainer => ({
  name,
  isReady: true,
  isWaiting: false,
  pool: 'nfs',
  volumes: [],
  config: {},
  devices: { root: { type: 'disk', path: '/', pool: 'nfs' } },
  ...more,
});

const plan = (containers: readonly LostContainer[], more: Partial<LostMember> = {}) =>
  planHealing({ containers, volumes: [], sharedPools: new Set(['nfs']), changing: new Set(), ...more });

describe('the plan', () => {
  test('containers on shared pools move, each alone', () => {
    expect(plan([container('a'), container('b')])).toEqual({
      units: [
        { containers: ['a'], volumes: [] },
        { containers: ['b'], volumes: [] },
      ],
      left: [],
    });
  });

  test.each([
    ['a local root', { pool: 'local' }, 'has a disk in the pool local, which is not shared'],
    ['a local volume', { devices: { d: { type: 'disk', pool: 'local', source: 'v', path: '/v' } } }, 'pool local'],
    ['a directory of the host', { devices: { d: { type: 'disk', source: '/srv', path: '/s' } } }, 'has the device d'],
    ['a device of the host', { devices: { tty: { type: 'unix-char', path: '/dev/ttyS0' } } }, 'has the device tty'],
    [
      'a card of the host',
      { devices: { n: { type: 'nic', nictype: 'physical', parent: 'eth1' } } },
      'has the device n',
    ],
    ['cluster.evacuate', { config: { 'cluster.evacuate': 'stop' } }, 'has cluster.evacuate set to stop'],
    ['a creation', { isReady: false }, 'was being changed'],
    ['an evacuation', { isWaiting: true }, 'was stopped by an evacuation, and waits until its member is restored'],
  ] as const)('a container with %s stays, and the plan says why', (_what, more, reason) => {
    const { units, left } = plan([container('a', more)]);
    expect(units).toEqual([]);
    expect(left).toEqual([{ name: 'a', reason: expect.stringContaining(reason) as string }]);
  });

  test('a container in the middle of a change stays; other devices and networks do not matter', () => {
    expect(plan([container('a')], { changing: new Set(['a']) }).left).toHaveLength(1);
    const devices = { eth0: { type: 'nic', network: 'br' }, off: { type: 'none' }, p: { type: 'proxy' } };
    expect(plan([container('a', { devices })]).units).toHaveLength(1);
  });

  test('a volume of a container that stays also stays, and so do all containers that share one, even in a chain', () => {
    const containers = [
      container('far', { volumes: ['nfs/2'] }),
      container('near', { volumes: ['nfs/1', 'nfs/2'] }),
      container('stays', { volumes: ['nfs/1'], config: { 'cluster.evacuate': 'stop' } }),
      container('free', { volumes: ['nfs/3', 'nfs/of-another-member'] }),
    ];
    const { units, left } = plan(containers, { volumes: ['nfs/1', 'nfs/2', 'nfs/3', 'nfs/4'] });
    expect(units).toEqual([
      { containers: ['free'], volumes: ['nfs/3'] },
      { containers: [], volumes: ['nfs/4'] },
    ]);
    expect(left).toEqual([
      { name: 'stays', reason: 'has cluster.evacuate set to stop' },
      { name: 'near', reason: 'shares the storage volume nfs/1 with the container stays, which stays' },
      { name: 'far', reason: 'shares the storage volume nfs/2 with the container near, which stays' },
    ]);
  });

  test('containers with common volumes move together, even in a chain; unused volumes move alone', () => {
    const containers = [
      container('a', { volumes: ['nfs/1'] }),
      container('b', { volumes: ['nfs/2'] }),
      container('c', { volumes: ['nfs/2', 'nfs/1', 'nfs/of-another-member'] }),
      container('d', { volumes: ['nfs/3'] }),
    ];
    expect(plan(containers, { volumes: ['nfs/1', 'nfs/2', 'nfs/3', 'nfs/4'] }).units).toEqual([
      { containers: ['a', 'b', 'c'], volumes: ['nfs/1', 'nfs/2'] },
      { containers: ['d'], volumes: ['nfs/3'] },
      { containers: [], volumes: ['nfs/4'] },
    ]);
  });

  test('healing waits for longer than a member needs to end its containers, whatever the threshold', () => {
    expect(healingWaitMs(60, 20)).toBe(60_000);
    expect(healingWaitMs(1, 20)).toBe((20 + fenceMarginSeconds) * 1000);
  });
});

describe('taking over', () => {
  const document = { v: 1, config: { 'user.text': 'x'.repeat(500) } } as unknown as ContainerDocument &
    SnapshotDocument;
  const taken = (snapshots: number): readonly TakeOver[] => [
    ...Array.from({ length: snapshots }, (_, index) => {
      return { kind: 'snapshots', name: `uuid/s${index}`, document, modRev: 7 } as const;
    }),
    { kind: 'containers', name: 'web', document, modRev: 9 },
  ];
  const place = { from: 2, to: 3 };

  test('one transaction compares that the member is gone, moves the record and gives its name to the other member', () => {
    const [txn, ...more] = takeOver(taken(0), place, isGone(2, 5));
    expect(more).toEqual([]);
    expect(txn?.compares).toEqual([
      { key: '/signals/present/2', modRev: 0 },
      { key: '/signals/fence/2', modRev: 5 },
      { key: '/member/2/containers/web', modRev: 9 },
      { key: '/member/3/containers/web', modRev: 0 },
    ]);
    const keys = txn?.ops.map((op) => ('put' in op ? `put ${op.put}` : `del ${op.del}`));
    expect(keys).toEqual(['del /member/2/containers/web', 'put /member/3/containers/web', 'put /names/containers/web']);
    const name = txn?.ops.find((op) => 'put' in op && op.put === '/names/containers/web');
    expect(name !== undefined && 'put' in name && Buffer.from(name.value).toString()).toBe('3');
  });

  test('many snapshots take several transactions within the limits of the store, the container comes last, each compares', () => {
    const txns = takeOver(taken(200), place, isGone(2, 5));
    expect(txns.length).toBeGreaterThan(1);
    for (const { compares, ops } of txns) {
      expect(compares.length).toBeLessThanOrEqual(storeLimits.comparesPerTxn);
      expect(ops.length).toBeLessThanOrEqual(storeLimits.opsPerTxn);
      expect(compares[0]).toEqual({ key: '/signals/present/2', modRev: 0 });
    }
    expect(txns.flatMap(({ ops }) => ops).filter((op) => 'put' in op)).toHaveLength(202);
    expect(JSON.stringify(txns.at(-1)?.compares)).toContain('/member/2/containers/web');
  });
});

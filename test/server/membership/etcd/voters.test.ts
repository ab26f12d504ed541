// Which members run an etcd, and the order of changes towards that.
import { describe, expect, test } from 'vitest';
import {
  type EtcdCandidate,
  type EtcdMember,
  etcdVoters,
  nextEtcdChange,
} from '../../../../server/membership/etcd/voters.ts';

const candidate = (number: number, facts: Partial<EtcdCandidate> = {}): EtcdCandidate => {
  return { number, peerAddress: `h${number}:2380`, isAvailable: true, runsEtcd: false, ...facts };
};
const running = (number: number, facts: Partial<EtcdCandidate> = {}): EtcdCandidate =>
  candidate(number, { runsEtcd: true, ...facts });
const numbers = (members: readonly EtcdCandidate[]) => members.map(({ number }) => number);

describe('the members that vote', () => {
  test.each<[string, EtcdCandidate[], number[], number | undefined]>([
    ['alone', [running(1)], [1], undefined],
    ['of two, one; the other has a copy', [running(1), candidate(2)], [1], 2],
    ['of three, all', [running(1), running(2), candidate(3)], [1, 2, 3], undefined],
    [
      'the first three stay when others join',
      [1, 2, 3].map((n) => running(n)).concat(candidate(4)),
      [1, 2, 3],
      undefined,
    ],
    [
      'the next one takes the place of one that left',
      [running(2), running(3), candidate(4), candidate(5)],
      [2, 3, 4],
      undefined,
    ],
    [
      'who is not there does not take it',
      [running(2), running(3), candidate(4, { isAvailable: false }), candidate(5)],
      [2, 3, 5],
      undefined,
    ],
    [
      'who votes and is away for a while keeps it',
      [running(1, { isAvailable: false }), running(2), running(3), candidate(4)],
      [1, 2, 3],
      undefined,
    ],
    ['whoever runs one already is preferred', [candidate(1), running(5), running(6), running(7)], [5, 6, 7], undefined],
  ])('%s', (_what, members, voters, learner) => {
    const roles = etcdVoters(members);
    expect(numbers(roles.voters)).toEqual(voters);
    expect(roles.learner?.number).toBe(learner);
  });

  test('as many as wanted, an odd number, and never half of them', () => {
    const votersOf = (count: number, max: number): number[] =>
      numbers(
        etcdVoters(
          Array.from({ length: count }, (_, n) => candidate(n + 1)),
          max,
        ).voters,
      );
    expect(votersOf(7, 5)).toEqual([1, 2, 3, 4, 5]);
    expect(votersOf(4, 5)).toEqual([1, 2, 3]);
    expect(votersOf(2, 5)).toEqual([1]);
    expect(votersOf(5, 3)).toEqual([1, 2, 3]);
  });
});

describe('the next change', () => {
  const etcd = (number: number, isLearner = false): EtcdMember => {
    return { id: String(number), name: `m${number}`, peerAddress: `h${number}:2380`, clientAddresses: [], isLearner };
  };
  const next = (members: EtcdCandidate[], found: EtcdMember[], dead: number[] = []) => {
    const change = nextEtcdChange(etcdVoters(members), found, ({ id }) => !dead.includes(Number(id)));
    if (change === undefined) return 'nothing';
    return change.do === 'add' ? `add ${change.candidate.number}` : `${change.do} ${change.member.id}`;
  };

  test('the members change from one to three: a learner, its vote, the next learner, its vote', () => {
    const two = [running(1), candidate(2)];
    expect(next(two, [etcd(1)])).toBe('add 2');
    expect(next(two, [etcd(1), etcd(2, true)])).toBe('nothing');
    const three = [running(1), running(2), candidate(3)];
    expect(next(three, [etcd(1), etcd(2, true)])).toBe('promote 2');
    expect(next(three, [etcd(1), etcd(2)])).toBe('add 3');
    expect(next(three, [etcd(1), etcd(2), etcd(3, true)])).toBe('promote 3');
    expect(next(three, [etcd(1), etcd(2), etcd(3)])).toBe('nothing');
  });

  test('a dead one is removed before its successor is added', () => {
    const left = [running(2), running(3), candidate(4)];
    expect(next(left, [etcd(1), etcd(2), etcd(3)], [1])).toBe('remove 1');
    expect(next(left, [etcd(2), etcd(3)])).toBe('add 4');
  });

  test('a living one is removed after its successor votes', () => {
    const left = [running(2), running(3), candidate(4)];
    const found = [etcd(1), etcd(2), etcd(3)];
    expect(next(left, found)).toBe('add 4');
    expect(next(left, [...found, etcd(4, true)])).toBe('promote 4');
    expect(next(left, [...found, etcd(4)])).toBe('remove 1');
  });

  test('a learner that is no longer wanted makes room for another', () => {
    const members = [running(1), running(2), candidate(4)];
    expect(next(members, [etcd(1), etcd(2), etcd(3, true)])).toBe('remove 3');
  });

  test('the second of two members that are left of three loses its vote', () => {
    expect(next([running(1), running(2)], [etcd(1), etcd(2)])).toBe('remove 2');
  });

  test('one that was never started keeps its place', () => {
    const unstarted = { ...etcd(2, true), name: '' };
    expect(next([running(1), candidate(2)], [etcd(1), unstarted])).toBe('nothing');
  });
});

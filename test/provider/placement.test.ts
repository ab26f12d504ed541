// The target of an object of a cluster in the state, and problems of a planned one.
import { describe, expect, test } from 'vitest';
import type { Member } from '../../provider/connection/cluster-members.ts';
import { isAt, seenTarget, targetProblem } from '../../provider/resources/shared/placement.ts';

const member = (server_name: string, status: string, groups: readonly string[] = ['default']): Member => ({
  server_name,
  status,
  groups: [...groups],
  url: '',
  database: true,
  message: '',
  roles: [],
  failure_domain: '',
  description: '',
  config: {},
  architecture: 'x86_64',
});
const members = new Map(
  [
    member('m1', 'Online'),
    member('m2', 'Online', ['fast']),
    member('m3', 'Offline', ['slow']),
    member('m4', 'Evacuated'),
  ].map((each) => [each.server_name, each]),
);
const at = (location: string, config = {}) => ({ location, config });

describe('the target after a read', () => {
  test.each([
    ['it is there', 'm1', at('m1'), 'm1'],
    ['it is in the group', '@fast', at('m2'), '@fast'],
    ['someone moved it', 'm1', at('m2'), 'm2'],
    ['it left the group', '@fast', at('m1'), 'm1'],
    ['an evacuation moved it', 'm1', at('m2', { 'volatile.evacuate.origin': 'm1' }), 'm1'],
    ['its member is gone from the cluster', 'm9', at('m2'), 'm2'],
    ['there is no cluster', 'm1', at('none'), 'm1'],
  ])('%s', (_, target, live, seen) => {
    expect(seenTarget(target, live, members)).toEqual({ target: seen });
  });
  test.each([
    ['m3', at('m1'), 'm3 is offline'],
    ['m4', at('m1'), 'm4 is evacuated'],
    ['@slow', at('m1'), 'no member of @slow is online'],
    ['m1', at('m3'), 'm3 is offline'],
  ])('the target stays when nothing can move: %s', (target, live, stays) => {
    expect(seenTarget(target, live, members)).toEqual({ target, stays });
  });
});

test('a group of a server without a list of groups matches any member', () => {
  const { groups: _, ...old } = member('m1', 'Online');
  expect(isAt('@fast', 'm1', new Map([['m1', old as Member]]))).toBe(true);
  expect(isAt('@fast', 'm1', members)).toBe(false);
});

test('an impossible target is an error with the possible ones', () => {
  const said = (target: string): string | undefined => targetProblem(target, members)?.summary;
  expect(said('m1')).toBeUndefined();
  expect(said('@fast')).toBeUndefined();
  expect(said('m11')).toBe('The cluster has no member m11 (did you mean m1?)');
  expect(said('m3')).toBe('The member m3 is offline');
  expect(said('m4')).toBe('The member m4 is evacuated');
  expect(said('@slow')).toBe('No member of the group @slow is online');
  expect(said('@none')).toBe('The cluster has no group with members @none');
});

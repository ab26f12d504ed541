// The choice of a member for a new container, and the reasons if there is none.
import { describe, expect, test } from 'vitest';
import type { Member } from '../../../server/membership/members.ts';
import { placeContainer, placeVolume, type PlacementWish } from '../../../server/membership/placement.ts';

interface Sketch {
  readonly containers?: number;
  readonly free?: number;
  readonly isHere?: boolean;
  readonly isPresent?: boolean;
  readonly document?: Partial<Member['document']>;
}

function member(name: string, sketch: Sketch = {}): Member {
  const { containers = 0, free = 50, isHere = false, isPresent = true, document } = sketch;
  const load = { memoryTotalBytes: 100, memoryFreeBytes: free, containers };
  return {
    name,
    number: Number(name.slice(1)),
    address: '',
    isHere,
    isPresent,
    isUnknown: false,
    containers,
    present: isPresent ? { version: '1.0.0', extensions: 0, load } : undefined,
    document: { v: 1, number: 1, address: '', architecture: 'x86_64', joinedAt: '', certificate: '', ...document },
  };
}

const placed = (members: readonly Member[], wish: Partial<PlacementWish> = {}): string =>
  placeContainer(members, { target: '', objection: () => undefined, coming: () => 0, ...wish }).name;

describe('the member that takes a new container', () => {
  test('is the one with the fewest containers, counting those on their way', () => {
    const all = [member('m1', { containers: 3 }), member('m2', { containers: 1 }), member('m3', { containers: 2 })];
    expect(placed(all)).toBe('m2');
    expect(placed(all, { coming: ({ name }) => (name === 'm2' ? 2 : 0) })).toBe('m3');
  });

  test('is the one that was asked when others have as few', () => {
    expect(placed([member('m1'), member('m2', { isHere: true })])).toBe('m2');
  });

  test('has memory left, when any has', () => {
    expect(placed([member('m1', { free: 4 }), member('m2', { containers: 9 })])).toBe('m2');
    expect(placed([member('m1', { free: 4 })])).toBe('m1');
  });

  test('is online, not evacuated, and accepts containers without a target', () => {
    const evacuated = member('m2', { document: { evacuated: true } });
    const all = [
      member('m1', { isPresent: false }),
      evacuated,
      member('m3', { document: { config: { 'scheduler.instance': 'manual' } } }),
      member('m4', { document: { config: { 'scheduler.instance': 'group' }, groups: ['big'] } }),
      member('m5', { containers: 9, document: { groups: ['big'] } }),
    ];
    expect(placed(all)).toBe('m5');
    expect(placed(all, { target: 'm3' })).toBe('m3');
    expect(placed(all, { target: '@big' })).toBe('m4');
    expect(() => placed(all, { target: 'm2' })).toThrow('m2 is evacuated');
    expect(() => placed(all, { target: 'm1' })).toThrow('m1 is offline');
    expect(() => placed(all.slice(0, 4))).toThrow(
      /m1 is offline; m2 is evacuated; m3 takes .*manual\); m4 takes .*group\)/,
    );
  });

  test('runs programs of the architecture', () => {
    const all = [member('m1'), member('m2', { containers: 5, document: { architecture: 'aarch64' } })];
    expect(placed(all, { architecture: 'arm64' })).toBe('m2');
    expect(placed(all, { architecture: 'i686' })).toBe('m1');
    expect(() => placed(all, { architecture: 's390x' })).toThrow('m1 has the architecture x86_64 and not s390x');
  });

  test('has the preferred architecture, if any such member can take it', () => {
    const all = [member('m1'), member('m2', { containers: 5, document: { architecture: 'aarch64' } })];
    expect(placed(all, { preferred: 'arm64' })).toBe('m2');
    expect(placed(all, { preferred: 'arm64', target: 'm1' })).toBe('m1');
    expect(placed(all, { preferred: 'arm64', architecture: 'x86_64' })).toBe('m1');
    expect(placed(all, { preferred: 's390x' })).toBe('m1');
  });

  test('has what the container needs', () => {
    const all = [member('m1'), member('m2', { containers: 5 })];
    const objection = ({ name }: Member) => (name === 'm1' ? 'has no storage pool fast' : undefined);
    expect(placed(all, { objection })).toBe('m2');
    expect(() => placed(all, { objection, target: 'm1' })).toThrow('m1 has no storage pool fast');
  });

  test('must be a member, or in the group', () => {
    expect(() => placed([member('m1')], { target: 'm9' })).toThrow(
      expect.objectContaining({ code: 'notFound' }) as Error,
    );
    expect(() => placed([member('m1')], { target: '@none' })).toThrow('No member of the cluster is in the group none');
  });
});

describe('the member that takes a new volume of a group', () => {
  const all = [
    member('m1', { document: { groups: ['far'] }, isPresent: false }),
    member('m2', { document: { groups: ['far'], evacuated: true } }),
    member('m3', { document: { groups: ['far'] } }),
    member('m4', { document: { groups: ['far'] }, isHere: true }),
    member('m5'),
  ];
  test('is this one if it is in the group, otherwise the first present one', () => {
    expect(placeVolume(all, '@far').name).toBe('m4');
    expect(placeVolume(all.slice(0, 3), '@far').name).toBe('m3');
    expect(placeVolume(all, '@default').name).toBe('m5');
  });
  test('is none if all are away, and each is named', () => {
    expect(() => placeVolume(all.slice(0, 2), '@far')).toThrow('m1 is offline; m2 is evacuated');
    expect(() => placeVolume(all, '@fra')).toThrow('No member of the cluster is in the group fra');
  });
});

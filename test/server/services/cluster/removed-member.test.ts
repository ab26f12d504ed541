// The removal of a member without force: it loses nothing, and what a crash cut off is finished by the same request.
import { expect, test } from 'vitest';
import { errors } from '../../../../server/api/errors.ts';
import { Records } from '../../../../server/records/records.ts';
import type { ClusterUseCaseDeps } from '../../../../server/services/cluster/deps.ts';
import { stillHas } from '../../../../server/services/cluster/leave.ts';
import { removeMember } from '../../../../server/services/cluster/remove.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';
import { memberRecord } from '../../../support/fakes/records.ts';

/** Member 1 of two, which is asked to remove the other one. */
async function world() {
  const records = await Records.open(openMemoryStore(), 1);
  await records.commit((changes) => {
    for (const number of [1, 2]) changes.put('members', `m${number}`, memberRecord(number));
  });
  const other = { isPresent: true, hasOnlyCopy: false, asked: 0, answer: undefined as Error | undefined };
  const member = () => {
    const found = records.members.get('m2')?.document ?? memberRecord(2);
    return { ...found, name: 'm2', document: found, isHere: false, isPresent: other.isPresent } as never;
  };
  const deps = {
    records,
    cluster: {
      ownName: 'm1',
      members: { list: () => [{}, {}], byNumber: () => member() },
      links: {
        // It leaves, and this daemon dies before it has the answer.
        json: () => {
          other.asked += 1;
          if (other.answer !== undefined) return Promise.reject(other.answer);
          other.isPresent = false;
          return new Promise(() => {});
        },
      },
    },
    images: {
      fetchAllOf: () => (other.hasOnlyCopy ? Promise.reject(new Error('the only copy')) : Promise.resolve()),
    },
    fence: { fenceOut: () => Promise.resolve() },
    keyChange: { put: () => {}, untilAllUse: () => Promise.resolve() },
    events: { lifecycle: () => {} },
    operations: {
      start: ({ run }: { run: (handle: object, signal: AbortSignal) => Promise<void> }) =>
        run({}, new AbortController().signal),
    },
  } as unknown as ClusterUseCaseDeps;
  const remove = (): Promise<void> =>
    removeMember(deps, daemonCaller, member(), { isForced: false }) as unknown as Promise<void>;
  return { records, other, remove };
}

test('a removal that ended with its daemon when the member had left is finished without force', async () => {
  const { records, other, remove } = await world();
  void remove();
  await until(() => other.asked === 1);
  await remove();
  expect(records.members.has('m2')).toBe(false);
});

test('a member that is offline and was never asked to leave stays', async () => {
  const { records, other, remove } = await world();
  other.isPresent = false;
  expect(() => remove()).toThrow('The member m2 is offline');
  expect(records.members.has('m2')).toBe(true);
});

test('a member that was asked to leave and has the only copy of an image by now stays', async () => {
  const { records, other, remove } = await world();
  void remove();
  await until(() => other.asked === 1);
  other.hasOnlyCopy = true;
  await expect(remove()).rejects.toThrow('the only copy');
  expect(records.members.has('m2')).toBe(true);
});

test('a member that refused to leave and is offline later is removed with force only', async () => {
  const { records, other, remove } = await world();
  other.answer = errors.badRequest('The member m2 still has the container web: evacuate it first');
  await expect(remove()).rejects.toThrow('still has the container web');
  other.isPresent = false;
  expect(() => remove()).toThrow('The member m2 is offline');
  expect(records.members.has('m2')).toBe(true);
});

test('a refusal advises an evacuation only where that helps: volumes stay', () => {
  const [container, volume] = [[{ name: 'web' }], [{ name: 'local/data' }]];
  expect(stillHas('m2', [], [])).toBeUndefined();
  expect(stillHas('m2', container, [])).toBe('The member m2 still has the container web: evacuate it first');
  expect(stillHas('m2', container, volume)).toBe(
    'The member m2 still has the container web, the storage volume local/data: move or delete them first',
  );
});

test('a member whose answer was lost may have left: its removal is finished without force', async () => {
  const { records, other, remove } = await world();
  other.answer = errors.outcomeUnknown('The cluster member m2 did not answer');
  await expect(remove()).rejects.toThrow('did not answer');
  other.isPresent = false;
  await remove();
  expect(records.members.has('m2')).toBe(false);
});

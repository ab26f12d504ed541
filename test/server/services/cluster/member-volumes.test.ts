// Moving a custom volume between members when the member with the original does not delete it, or does not answer.
import { expect, test } from 'vitest';
import { errors } from '../../../../server/api/errors.ts';
import { MemberVolumes, type MemberVolumesDeps } from '../../../../server/services/cluster/member-volumes.ts';
import type { Caller } from '../../../../server/services/shared/caller.ts';

const members = [
  { name: 'a', number: 1, address: 'a:8443', isHere: true },
  { name: 'b', number: 2, address: 'b:8443', isHere: false },
  { name: 'c', number: 3, address: 'c:8443', isHere: false },
];

const success = { status_code: 200, err: '' };

/** Moves p/v from b to c. `departure`: how the operation of b ends. Returns the error, and what the members were asked to delete. */
async function moved(departure: object | Error, isDeleted: boolean): Promise<{ error: string; deletedAt: string[] }> {
  const deletedAt: string[] = [];
  let work: Promise<unknown> = Promise.resolve();
  let hasEnded = false;
  const ask = async ({ name }: { name: string }, method: string): Promise<unknown> => {
    if (method === 'POST') return { id: `of-${name}` };
    if (method === 'DELETE') deletedAt.push(name);
    if (method === 'DELETE' || name !== 'b') return success;
    hasEnded = true;
    if (departure instanceof Error) throw departure;
    return departure;
  };
  const others = { having: () => (isDeleted && hasEnded ? [] : [{ member: 2 }]) };
  const deps = {
    cluster: {
      ask,
      needCurrent: async () => {},
      members: { get: (name: string) => members.find((one) => one.name === name) },
    },
    records: { others, volumes: { has: () => false } },
    operations: {
      start: ({ run }: { run: (handle: unknown, signal: AbortSignal) => Promise<unknown> }) => {
        work = run(undefined, new AbortController().signal);
        return {};
      },
    },
    events: { lifecycle: () => {} },
    certificate: () => '',
  } as unknown as MemberVolumesDeps;
  const volume = { pool: 'p', name: 'v' };
  const caller = { project: 'default', requestor: {} } as unknown as Caller;
  await new MemberVolumes(deps).move(caller, volume, volume, { target: 'c', location: 'b' });
  const error = await work.then(
    () => '',
    (reason: unknown) => (reason as Error).message,
  );
  return { error, deletedAt };
}

test('a volume that its member has sent and deleted has moved', async () => {
  expect(await moved(success, true)).toEqual({ error: '', deletedAt: [] });
});

test('an original that its member keeps removes the copy, and answers why', async () => {
  const refused = { status_code: 400, err: 'it is in use' };
  expect(await moved(refused, false)).toEqual({ error: 'The cluster member b: it is in use', deletedAt: ['c'] });
});

test('a lost answer removes no copy: it may be the only one left', async () => {
  const lost = errors.outcomeUnknown('The cluster member b did not answer');
  expect(await moved(lost, true)).toEqual({ error: '', deletedAt: [] });
  const { error, deletedAt } = await moved(lost, false);
  expect([error, deletedAt]).toEqual([
    expect.stringMatching(/member c has the storage volume p\/v, but .* b deletes/),
    [],
  ]);
});

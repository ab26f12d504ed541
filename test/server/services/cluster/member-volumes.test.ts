// Moving a custom volume between members when the member with the original refuses to delete it, or does not answer.
import { expect, test } from 'vitest';
import { errors } from '../../../../server/api/errors.ts';
import { MemberVolumes, type MemberVolumesDeps } from '../../../../server/services/cluster/member-volumes.ts';
import type { Caller } from '../../../../server/services/shared/caller.ts';

const members = [
  { name: 'a', number: 1, address: 'a:8443', isHere: true },
  { name: 'b', number: 2, address: 'b:8443', isHere: false },
  { name: 'c', number: 3, address: 'c:8443', isHere: false },
];

/** Moves p/v from b to c. Returns the error, and the members that were asked to delete something. */
async function moved(failure: Error, isDeleted: boolean): Promise<{ error: string; deletedAt: string[] }> {
  const deletedAt: string[] = [];
  let work: Promise<unknown> = Promise.resolve();
  let isAsked = false;
  const answers: Record<string, unknown> = { GET: { status_code: 200 }, POST: { id: 'o1' } };
  const ask = async ({ name }: { name: string }, method: string, path: string): Promise<unknown> => {
    if (method === 'GET' && path.includes('/backups')) return [];
    if (method === 'GET' && path.includes('/volumes/')) return { used_by: [] };
    if (method !== 'DELETE') return answers[method];
    deletedAt.push(name);
    if (name !== 'b') return undefined;
    isAsked = true;
    throw failure;
  };
  const others = { having: () => (isDeleted && isAsked ? [] : [{ member: 2 }]) };
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

test('a refused deletion of the original removes the copy, and answers why', async () => {
  const refused = errors.badRequest('it is in use');
  expect(await moved(refused, false)).toEqual({ error: 'it is in use', deletedAt: ['b', 'c'] });
});

test('a lost answer removes no copy: it may be the only one left', async () => {
  const lost = errors.outcomeUnknown('The cluster member b did not answer');
  expect(await moved(lost, true)).toEqual({ error: '', deletedAt: ['b'] });
  const { error, deletedAt } = await moved(lost, false);
  expect([error, deletedAt]).toEqual([
    expect.stringMatching(/member c has the storage volume p\/v, but .* b deletes/),
    ['b'],
  ]);
});

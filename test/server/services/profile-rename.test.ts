// Renames of profiles with too many users for one transaction, when they are undone while others change profiles.
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { type Saga, Sagas } from '../../../server/operations/saga.ts';
import type { Caller } from '../../../server/services/shared/caller.ts';
import { Profiles, type ProfilesDeps } from '../../../server/services/profiles/profiles.ts';
import type { ProfileRename } from '../../../server/services/profiles/rename.ts';
import { renameProfileSaga } from '../../../server/services/profiles/sagas/profile-rename.ts';
import { storageWorld } from '../../support/sagas/storage-proofs.ts';

/** The rename of a container's profile, which is cut off after its step; `after` is what others do then, or after the undo of the step. */
async function cutOff(
  when: 'step' | 'undo',
  after: (at: Awaited<ReturnType<typeof storageWorld>>) => Promise<unknown>,
) {
  const at = await storageWorld();
  onTestFinished(() => at.cleanUp());
  const { records } = at;
  await records.commit((changes) => {
    changes.put('profiles', 'old', { v: 1, description: '', config: {}, devices: {} });
    changes.put('containers', 'c', { ...records.containers.get('c')!.document, profiles: ['old'] });
  });
  const real = renameProfileSaga(at);
  const [step] = real.steps;
  const saga: Saga<ProfileRename> = {
    ...real,
    steps: [
      {
        name: 'containers',
        async execute(params, context) {
          await step!.execute(params, context);
          if (when === 'step') await after(at);
          throw new Error('cut off');
        },
        async undo(params) {
          await step!.undo?.(params);
          if (when === 'undo') await after(at);
        },
      },
    ],
  };
  const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: { 'profile-rename': saga } });
  await expect(sagas.run(saga, { name: 'old', to: 'new' })).rejects.toThrow('cut off');
  return {
    profiles: records.profiles.list().map(({ name }) => name),
    used: records.containers.get('c')?.document.profiles,
  };
}

test('A rename is not undone towards a name that was deleted meanwhile', async () => {
  const after = await cutOff('step', ({ records }) => records.commit((changes) => changes.delete('profiles', 'old')));
  expect(after).toEqual({ profiles: expect.arrayContaining(['new']), used: ['new'] });
});

test('A rename that is undone leaves no container with the new name', async () => {
  const after = await cutOff('undo', ({ records }) =>
    records.commit((changes) =>
      changes.put('containers', 'c', { ...records.containers.get('c')!.document, profiles: ['new'] }),
    ),
  );
  expect(after).toEqual({ profiles: expect.not.arrayContaining(['new']), used: ['old'] });
});

test('The old name cannot be deleted while its rename has not ended', async () => {
  const refusals: unknown[] = [];
  const after = await cutOff('step', async (at) => {
    const profiles = new Profiles(at as unknown as ProfilesDeps);
    const caller = { class: 'trusted', project: 'default', requestor: {} } as unknown as Caller;
    const refuse = (work: Promise<void>) => work.catch((error: Error) => refusals.push(error.message));
    await refuse(profiles.delete(caller, 'old'));
    await refuse(profiles.rename(caller, 'old', 'third'));
  });
  const refusal = 'The profile old is being renamed: try again when that has ended';
  expect(refusals).toEqual([refusal, refusal]);
  expect(after).toEqual({ profiles: expect.arrayContaining(['old']), used: ['old'] });
});

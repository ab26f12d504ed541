// Deletions of containers that are protected when the deletion begins, though they were not, or nobody looked, when it was asked for.
import { expect, test } from 'vitest';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { deleteContainer, type RemoveDeps } from '../../../../server/services/containers/remove/remove.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';
import { lockOf } from '../../../../server/services/shared/find-container.ts';

function world({ isUndoing }: { readonly isUndoing: boolean }) {
  const locks = new KeyedMutex();
  const config: Record<string, string> = {};
  const entry = { name: 'web', document: { lifecycle: 'ready', uuid: 'u', pool: 'p' } };
  let ended: Promise<unknown> = Promise.resolve();
  const deps = {
    locks,
    records: { containers: { get: () => entry, has: () => true } },
    view: { expanded: () => ({ config, devices: {} }) },
    runtime: { probe: () => ({ status: 'stopped' }) },
    sagas: {
      isUndoing: () => isUndoing,
      finishUndo: () => Promise.resolve(),
      run: () => Promise.reject(new Error('it is deleted')),
    },
    operations: {
      start: ({ run }: { readonly run: (handle: undefined, signal: AbortSignal) => Promise<unknown> }) => {
        ended = run(undefined, new AbortController().signal);
      },
    },
  } as unknown as RemoveDeps;
  const remove = (): Promise<unknown> => {
    deleteContainer(deps, daemonCaller, 'web');
    return ended;
  };
  return { locks, config, remove };
}

test('a container that is protected while its deletion waits stays', async () => {
  const { locks, config, remove } = world({ isUndoing: false });
  let removed: Promise<unknown> = Promise.resolve();
  await locks.run(lockOf('web'), async () => {
    removed = remove();
    config['security.protection.delete'] = 'true';
  });
  await expect(removed).rejects.toThrow('The container web is protected');
});

test('a protected container whose last change is still being undone stays', async () => {
  const { config, remove } = world({ isUndoing: true });
  config['security.protection.delete'] = 'true';
  await expect(remove()).rejects.toThrow('The container web is protected');
});

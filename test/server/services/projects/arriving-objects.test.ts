// Changes of a project while objects are on their way into it.
import { expect, test } from 'vitest';
import type { Saga } from '../../../../server/operations/saga.ts';
import { Records } from '../../../../server/records/records.ts';
import { Projects, type ProjectsDeps } from '../../../../server/services/projects/projects.ts';
import { renameProject, type RenameProjectDeps } from '../../../../server/services/projects/rename.ts';
import type { Caller } from '../../../../server/services/shared/caller.ts';
import { requireProject } from '../../../../server/services/shared/project-scope.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';

const caller = { class: 'trusted', project: 'default', requestor: {} } as unknown as Caller;
const volume = { v: 1, uuid: 'u', description: '', config: {}, createdAt: '', lifecycle: 'ready' } as const;

async function scene() {
  const records = await Records.open(openMemoryStore());
  const deps = { records, events: { lifecycle: () => {} }, running: { applyAll: () => Promise.resolve() } };
  const projects = new Projects(deps as unknown as ProjectsDeps);
  await projects.create(caller, { name: 'p' });
  const off = (): Promise<void> =>
    projects.patch(caller, 'p', { config: { 'features.storage.volumes': 'false' } }, undefined);
  const add = (): Promise<void> =>
    records.commit((changes) => {
      requireProject(records, changes, 'p%v', 'features.storage.volumes');
      changes.put('volumes', 'pool/p%v', volume);
    });
  return { records, projects, off, add };
}

test('a feature cannot be switched off while an object is being recorded that would be lost with it', async () => {
  const { projects, off, add } = await scene();
  const adding = add();
  await expect(off()).rejects.toThrow(/only while the project is empty: it has the volume v/);
  await adding;
  expect(projects.get('p').object.used_by).toContain('/1.0/storage-pools/pool/volumes/custom/v?project=p');
});

test('a project is not renamed while an object is being recorded in it, which nobody has locked', async () => {
  const { records, add } = await scene();
  const run = (_key: unknown, work: () => unknown): unknown => work();
  let renaming: unknown;
  const deps = {
    records,
    sagas: {
      isUndoing: () => false,
      run: (saga: Saga<object>, params: object) => records.retry((changes) => saga.begin(changes, params)),
    },
    locks: { runAll: run, unshared: () => undefined },
    operations: { start: (operation: { run: (handle: object) => unknown }) => (renaming = operation.run({})) },
  };
  const adding = add();
  renameProject(deps as unknown as RenameProjectDeps, caller, 'p', 'q');
  await expect(renaming).rejects.toMatchObject({ code: 'conflict' });
  await adding;
  expect(records.projects.get('p')?.document.lifecycle).toBe('ready');
});

test('an object that was named when the project had the feature is refused once it is off', async () => {
  const { records, off, add } = await scene();
  await off();
  await expect(add()).rejects.toThrow(/features\.storage\.volumes of the project p was switched off/);
  expect(records.volumes.size).toBe(0);
});

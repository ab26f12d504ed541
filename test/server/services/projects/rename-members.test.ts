// A member of a cluster renames only projects whose objects are all its own.
import { expect, test } from 'vitest';
import { Records } from '../../../../server/records/records.ts';
import { renameProject, type RenameProjectDeps } from '../../../../server/services/projects/rename.ts';
import type { VolumeDocument } from '../../../../server/records/documents.ts';
import type { Caller } from '../../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';

test('a project with a custom volume on another member is not renamed: the volume would stay under the old name', async () => {
  const store = openMemoryStore();
  const [one, two] = [await Records.open(store, 1), await Records.open(store, 2)];
  const stop = new AbortController();
  for (const records of [one, two]) void records.follow(stop.signal, () => {});
  await one.commit((changes) =>
    changes.put('projects', 'blue', { v: 1, description: '', config: {}, lifecycle: 'ready' }),
  );
  await two.commit((changes) => {
    const volume = { v: 1, description: '', config: {}, uuid: 'u', lifecycle: 'ready' } as unknown as VolumeDocument;
    changes.put('volumes', 'default/blue%data', volume);
  });
  await until(() => one.others.having('volumes', 'default/blue%data').length === 1);
  const deps = {
    records: one,
    operations: { start: () => ({ id: 'o' }) },
  } as unknown as RenameProjectDeps;
  const rename = () => renameProject(deps, { project: 'default' } as Caller, 'blue', 'green');
  expect(rename).toThrow('The project blue has data on another member of the cluster');
  stop.abort();
  await store.close();
});

// Resources of the operation of a copy: clients that look for work on the original find it, as on LXD.
import { expect, test } from 'vitest';
import { createContainer } from '../../../support/daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
const resourcesOf = async (source: object): Promise<unknown> =>
  (await createContainer(daemon, `c${(count += 1)}`, { source: { type: 'copy', ...source } })).resources;
let count = 0;

test('a copy names the new container first, then its original, also a snapshot and one of another project', async () => {
  const made = await createContainer(daemon, 'origin');
  expect(made.resources).toEqual({ containers: ['/1.0/containers/origin'] });
  await daemon.ok('POST', '/1.0/containers/origin/snapshots', { name: 's' });
  expect(await resourcesOf({ source: 'origin' })).toEqual({
    containers: ['/1.0/containers/c1', '/1.0/containers/origin'],
  });
  expect(await resourcesOf({ source: 'origin/s' })).toEqual({
    containers: ['/1.0/containers/c2', '/1.0/containers/origin'],
    snapshots: ['/1.0/containers/origin/snapshots/s'],
  });
  await makeProject(daemon, 'apart');
  await makeContainerIn(daemon, 'apart', 'far');
  expect(await resourcesOf({ source: 'far', project: 'apart' })).toEqual({
    containers: ['/1.0/containers/c3', '/1.0/containers/far?project=apart'],
  });
});

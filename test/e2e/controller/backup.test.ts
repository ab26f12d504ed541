// A controller restores its lost state from a backup that is older than the revisions on its hosts.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { startGitServer, type GitServer } from '../../support/git/git-server.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let repository: Repository;
let git: GitServer;
beforeEach(async () => {
  world = await openControllerWorld(1);
  await mkdir(served());
  repository = new Repository(served());
  repository.commit(files('a'));
  git = await startGitServer(served());
});
afterEach(async () => {
  await world.close();
  await git.close();
});

const served = () => join(world.folder, 'served');
const files = (note: string) => ({ 'a.yaml': profileText('web', { 'user.note': note }) });
const config = () => `hosts: { file: hosts.yaml }
sources: [{ name: site, git: { url: "${git.url}/site.git", branch: main, interval: 200ms } }]
sets: [{ name: web, source: site }]
`;
const noteOf = async (): Promise<string | undefined> => (await world.profile(1, 'web'))?.['user.note'];
const gantry = (...words: readonly string[]) => cli(['controller', ...words, '-c', join(world.folder, 'gantry.yaml')]);
const backup = () => join(world.folder, 'state.backup');
const state = () => join(world.folder, 'state');
const revision = () => world.engine.overview().sets[0]?.revision;

async function commit(note: string): Promise<void> {
  repository.commit(files(note));
  await reaches(note);
}

async function reaches(note: string): Promise<void> {
  await until(async () => (await noteOf()) === note, waitMs);
  await hasStatus(world, 'web', 'synced');
}

test('no host goes back to an earlier revision when the state of its controller is restored from an older backup', async () => {
  await world.start(config());
  await reaches('a');
  await commit('b');
  const earlier = revision();
  // The controller keeps running during the backup.
  expect(await gantry('backup', backup())).toMatchObject({ code: 0 });
  await commit('c');
  const newest = revision();
  expect((await gantry('restore', backup())).stderr).toContain(`${state()} is not empty`);
  await world.stop();
  await rm(state(), { recursive: true });
  expect(await gantry('restore', backup())).toMatchObject({ code: 0 });
  const seen = new Set<string | undefined>();
  const watched = new AbortController();
  const watching = (async () => {
    while (!watched.signal.aborted) seen.add(await noteOf());
  })();
  await world.start(config());
  await until(() => revision() === newest, waitMs);
  await hasStatus(world, 'web', 'synced');
  watched.abort();
  await watching;
  expect([...seen]).toEqual(['c']);
  // The backup contains the revisions for a rollback.
  await world.engine.rollback('web', { revision: earlier ?? '', reason: 'c is bad' }, 'ann');
  await until(async () => (await noteOf()) === 'b', waitMs);
});

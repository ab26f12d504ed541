// A preview of each pull request: a set in its own project, which is removed with the request.
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let repository: Repository;
let requests: readonly object[] = [];
let isBroken = false;
const git = createServer((_request, response) => {
  if (isBroken) response.writeHead(500);
  response.end(JSON.stringify(requests));
});

beforeAll(async () => {
  world = await openControllerWorld(1);
  const served = join(world.folder, 'served');
  mkdirSync(served);
  repository = new Repository(served);
  repository.commit({ 'web/a.yaml': profileText('web', { 'user.note': 'main' }) });
  git.listen(0, '127.0.0.1');
  await once(git, 'listening');
  writeFileSync(join(world.folder, 'token'), 'a token of the generator');
});
afterAll(async () => {
  await world.close();
  git.closeAllConnections();
  git.close();
});

const config = (): string => `hosts: { file: hosts.yaml }
sources: [{ name: shop, git: { url: "${repository.bare}", branch: main, interval: 300ms } }]
sets: [{ name: web, source: shop, path: web }]
tenants:
  - name: shop
    sources: [{ name: shop }]
    hosts: [h1]
    kinds: [profile, container, storage_volume]
    names: [web, data]
    projects: [default, preview-*]
    uses: [storage_pool/default]
generators:
  - name: previews
    pullRequests: { provider: gitea, repository: team/shop, source: shop, tokenFile: token, interval: 1s, api: "http://127.0.0.1:${(git.address() as AddressInfo).port}" }
    prune: { data: true }
    set:
      name: preview-$number
      source: shop
      path: web
      project: { name: preview-$number, config: { features.images: false } }
`;
const pull = (number: number, ref: string, sha: string) => ({
  number,
  head: { ref, sha, repo: { full_name: 'team/shop' } },
  base: { repo: { full_name: 'team/shop' } },
});
const names = (): readonly string[] => world.engine.overview().sets.map(({ name }) => name);
const client = () => world.daemons[0]?.client ?? expect.fail('there is no host');
const projects = async (): Promise<readonly string[]> =>
  (await client().list('project')).map(({ name }) => name).sort();
const note = async (project: string): Promise<string | undefined> => {
  const found = await client()
    .inProject(project)
    .get('profile', 'web')
    .catch(() => undefined);
  return found?.metadata.config?.['user.note'];
};

test('a request gets a set in its own project, follows its branch, and leaves nothing behind', async () => {
  await client().create('storage_pool', { name: 'default', driver: 'dir' });
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
  repository.git('checkout', '-q', '-b', 'more');
  const volume = 'kind: storage_volume\nname: data\npool: default\n';
  const sha = repository.commit(
    { 'web/a.yaml': profileText('web', { 'user.note': 'more' }), 'web/b.yaml': volume },
    'More',
    'more',
  );
  requests = [pull(7, 'more', sha)];
  await until(() => names().includes('preview-7'), waitMs);
  await hasStatus(world, 'preview-7', 'synced');
  expect(await projects()).toEqual(['default', 'preview-7']);
  expect(await note('preview-7')).toBe('more');
  expect((await world.profile(1, 'web'))?.['user.note']).toBe('main');
  const next = repository.commit({ 'web/a.yaml': profileText('web', { 'user.note': 'yet more' }) }, 'Yet more', 'more');
  requests = [pull(7, 'more', next)];
  await until(async () => (await note('preview-7')) === 'yet more', waitMs);

  // A malformed answer removes nothing.
  isBroken = true;
  await until(() => world.hub.lines().some(({ message }) => message.includes('answered 500')), waitMs);
  expect(names()).toContain('preview-7');
  isBroken = false;
  requests = [];
  repository.git('push', '-q', 'origin', '--delete', 'more');
  await until(async () => !names().includes('preview-7') && (await projects()).join() === 'default', waitMs);
  expect((await world.profile(1, 'web'))?.['user.note']).toBe('main');
  expect(world.engine.overview().sources.map(({ name }) => name)).toEqual(['shop']);
});

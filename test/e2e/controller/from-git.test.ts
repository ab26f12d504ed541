// From a commit to a host: a webhook makes the controller read a git server, it changes the host, and the commit gets its status.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import type { HttpListener } from '../../../reconciler/controller/http/listener.ts';
import { listenFor } from '../../../reconciler/controller/serve.ts';
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
const hookSecret = 'the secret of the hook';
let repository: Repository;
let git: GitServer;
let api: HttpListener | undefined;
let statuses: { readonly path: string; readonly state: string }[] = [];
const statusServer = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const { state } = JSON.parse(await text(request)) as { state: string };
    statuses.push({ path: request.url ?? '', state });
    response.writeHead(201).end('{}');
  };
  void answer();
});

beforeAll(async () => {
  world = await openControllerWorld(1);
  const served = join(world.folder, 'served');
  mkdirSync(served);
  repository = new Repository(served);
  repository.commit({ 'web/a.yaml': profileText('web', { 'user.note': 'one' }) });
  git = await startGitServer(served);
  statusServer.listen(0, '127.0.0.1');
  await once(statusServer, 'listening');
  writeFileSync(join(world.folder, 'secret'), hookSecret);
  await world.start(`controller: { listen: "127.0.0.1:0", anonymous: view }
hosts: { file: hosts.yaml }
sources:
  - name: site
    git: { url: "${git.url}/site.git", branch: main, path: web, interval: 1h }
    webhook: { provider: gitea, secretFile: secret }
sets:
  - { name: web, source: site, notify: [commits] }
notifications:
  - name: commits
    commitStatus: { provider: gitea, repository: team/site, tokenFile: secret, api: "http://127.0.0.1:${(statusServer.address() as AddressInfo).port}" }
`);
  const { config } = await readConfig(join(world.folder, 'gantry.yaml'));
  if (config === undefined) throw new Error('the config cannot be read');
  api = await listenFor(config, world.engine, world.hub, join(world.folder, 'no-page'));
  await hasStatus(world, 'web', 'synced');
});
afterAll(async () => {
  await api?.close();
  await world.close();
  await git.close();
  statusServer.closeAllConnections();
  statusServer.close();
});

let sent = 0;
const hook = async (): Promise<number> => {
  const body = JSON.stringify({ ref: 'refs/heads/main', after: repository.head(), sent: (sent += 1) });
  const signature = createHmac('sha256', hookSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-gitea-signature': signature };
  return (await fetch(`${api?.url ?? ''}/api/v1/webhooks/site`, { method: 'POST', body, headers })).status;
};

test('a signed webhook brings a commit to the host, and the commit gets its status', async () => {
  expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'one' });
  const commit = repository.commit({ 'web/a.yaml': profileText('web', { 'user.note': 'two' }) });
  expect(await hook()).toBe(202);
  await until(async () => (await world.profile(1, 'web'))?.['user.note'] === 'two', waitMs);
  await until(() => world.engine.overview().sets[0]?.revision === commit, waitMs);
  expect(world.engine.overview().sources[0]).toMatchObject({ name: 'site', kind: 'git', revision: commit });
  const has = (state: string, of: string): boolean =>
    statuses.some((one) => one.path === `/repos/team/site/statuses/${of}` && one.state === state);
  await until(() => has('success', commit), waitMs);

  const broken = repository.commit({ 'web/a.yaml': 'kind: profile\nname: [\n' });
  expect(await hook()).toBe(202);
  await until(() => has('failure', broken), waitMs);
  expect(await world.profile(1, 'web')).toMatchObject({ 'user.note': 'two' });
});

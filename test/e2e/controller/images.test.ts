// Newer images become commits: the controller pins them in gantry.lock and pushes to a git server, never for a suspended set.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parsePins } from '../../../reconciler/manifest/image-pins.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { startGitServer, type GitServer } from '../../support/git/git-server.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let repository: Repository;
let git: GitServer;
const images: string[] = [];

const other = 'f'.repeat(64);
const stack = `kind: storage_pool
name: p
driver: dir
---
kind: container
name: c1
profiles: []
devices: { root: { type: disk, path: /, pool: p } }
source: { type: image, alias: base }
manage: { image: new-only, power: ignore }
`;

/** An image whose contents depend on `serial`. */
async function upload(serial: number): Promise<string> {
  const folder = join(world.folder, `image${serial}`);
  mkdirSync(join(folder, 'rootfs/etc'), { recursive: true });
  writeFileSync(join(folder, 'metadata.yaml'), `architecture: x86_64\ncreation_date: ${1_700_000_000 + serial}\n`);
  writeFileSync(join(folder, 'rootfs/etc/hostname'), 'c\n');
  execFileSync('tar', ['-C', folder, '-czf', `${folder}.tgz`, 'metadata.yaml', 'rootfs']);
  const client = host();
  const before = new Set((await client.list('image')).map(({ fingerprint }) => fingerprint));
  await client.operations.run(() => client.uploadImage({ files: { file: `${folder}.tgz` } }));
  const made = (await client.list('image')).find(({ fingerprint }) => !before.has(fingerprint))?.fingerprint;
  if (made === undefined) throw new Error('the image was not added');
  return made;
}

const host = () => {
  const [daemon] = world.daemons;
  if (daemon === undefined) throw new Error('there is no host');
  return daemon.client;
};
const point = (at: number) => host().put('image_alias', 'base', { description: '', target: images[at] ?? '' });
/** Reads the file instead of running git, which would block the controller in this process. */
const refText = (branch: string): string | undefined => {
  const file = join(repository.bare, 'refs/heads', branch);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};
/** Waits until the branch differs from the commit `earlier`. */
const isPushed = (branch: string, earlier: string | undefined): Promise<void> =>
  until(() => refText(branch) !== earlier, waitMs);
const pinned = (branch: string): ReadonlyMap<string, string> =>
  parsePins('gantry.lock', repository.git('-C', repository.bare, 'show', `${branch}:web/gantry.lock`));
const tip = (branch: string): string => repository.git('-C', repository.bare, 'rev-parse', branch);

beforeAll(async () => {
  world = await openControllerWorld(1);
  for (const serial of [1, 2, 3]) images.push(await upload(serial));
  await host().create('image_alias', { name: 'base', description: '', target: images[0] ?? '' });
  const served = join(world.folder, 'served');
  mkdirSync(served);
  repository = new Repository(served);
  repository.commit({
    'web/a.yaml': stack,
    'web/gantry.lock': `version: 1\nimages: { base: ${images[0]}, elsewhere: ${other} }\n`,
  });
  git = await startGitServer(served);
  await world.start(configOf(''));
  await hasStatus(world, 'web', 'synced');
});
afterAll(async () => {
  await world.close();
  await git.close();
});

const configOf = (more: string): string => `hosts: { file: hosts.yaml }
sources:
  - name: site
    git: { url: "${git.url}/site.git", branch: main, path: web, interval: 1h }
sets:
  - name: web
    source: site
    images: { interval: 1s, author: { name: Robot, email: robot@example.org }${more} }
`;

test('a newer image is pinned by a commit on the branch, which is rolled out; other pins stay', async () => {
  const before = refText('main');
  await point(1);
  await isPushed('main', before);
  expect(pinned('main').get('base')).toBe(images[1]);
  expect(pinned('main').get('elsewhere')).toBe(other);
  const commit = tip('main');
  expect(repository.git('-C', repository.bare, 'log', '-1', '--format=%an <%ae> %s', commit)).toBe(
    'Robot <robot@example.org> Update image base of web',
  );
  await until(() => world.engine.overview().sets[0]?.revision === commit, waitMs);
  const lines = world.engine.logs({ set: 'web' }).filter(({ message }) => message.includes('newer images'));
  expect(lines).toHaveLength(1);
  // An unchanged pin is not pushed again.
  expect(repository.git('-C', repository.bare, 'rev-list', '--count', 'main')).toBe('2');
});

test('a suspended set pushes nothing until it is resumed', async () => {
  const before = tip('main');
  await world.engine.suspend('web', { reason: 'a freeze' }, 'ann');
  await point(2);
  // Longer than two intervals. Earlier requests may still run, so only pushes count.
  await new Promise((resolve) => setTimeout(resolve, 2_200));
  expect(tip('main')).toBe(before);
  const suspended = refText('main');
  await world.engine.resume('web', {}, 'ann');
  await isPushed('main', suspended);
  expect(pinned('main').get('base')).toBe(images[2]);
});

test('the commit goes to its branch once, and the followed branch stays', async () => {
  await world.stop();
  const before = tip('main');
  await point(0);
  await world.start(configOf(', branch: images, message: Newer images'));
  await isPushed('images', undefined);
  expect(pinned('images').get('base')).toBe(images[0]);
  const pushed = tip('images');
  expect(repository.git('-C', repository.bare, 'log', '-1', '--format=%s %P', pushed)).toBe(`Newer images ${before}`);
  const looks = git.requests.length;
  await until(() => git.requests.length >= looks + 4, waitMs);
  expect(tip('images')).toBe(pushed);
  expect(tip('main')).toBe(before);
});

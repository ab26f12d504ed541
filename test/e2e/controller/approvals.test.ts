// Plans that a second person must approve: what waits, who may approve, and attempts to bypass approvals. Two hosts, one controller.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { askedKey } from '../../../reconciler/core/ownership/set-state.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  statusOf,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
let repository: Repository;
const bob = { name: 'bob', mails: ['bob@example.org'] };
const ada = { name: 'ada', mails: ['Ada@Example.org'] };
const mallory = { name: 'mallory', mails: ['mallory@example.org'] };
const config = () => `hosts: { file: hosts.yaml }
sources:
  - { name: files, directory: { path: manifests, interval: 200ms } }
  - { name: site, git: { url: "file://${repository.bare}", branch: main, interval: 200ms } }
sets:
  - { name: web, source: files, path: web, prune: { max: 1 }, approval: { for: delete } }
  - { name: site, source: site, hosts: h1, prune: {}, approval: { for: all, expires: 1h }, rollout: { canary: 1 } }
`;

beforeAll(async () => {
  world = await openControllerWorld(2);
  repository = new Repository(world.folder);
  repository.commit({ 'a.yaml': profileText('s1', { 'user.note': 'one' }) });
  mkdirSync(join(world.folder, 'manifests/web'));
  write('p1', 'p2', 'p3', 'p4');
  await world.start(config());
  await hasStatus(world, 'web', 'synced');
});
afterAll(() => world?.close());

const write = (...names: readonly string[]): void =>
  writeFileSync(
    join(world.folder, 'manifests/web/a.yaml'),
    names.map((name) => profileText(name, { 'user.note': name })).join('---\n'),
  );
const set = (name: string): SetStatus => statusOf(world, name);
const gateOf = (name: string) => set(name).approvalGate;
const waits = (name: string, hosts = 1): Promise<void> =>
  until(() => (gateOf(name)?.hosts.length ?? 0) === hosts, waitMs);
const request = (name: string) => {
  const { plan = '', revision = '' } = gateOf(name) ?? {};
  return { plan, revision, reason: 'looked at it' };
};
const approve = (name: string, who = bob) => world.engine.approve(name, request(name), who);
const commit = (note: string, who: string, file = 'a.yaml', profile = 's1'): string => {
  const person = { GIT_AUTHOR_NAME: who, GIT_AUTHOR_EMAIL: `${who}@example.org` };
  repository.write({ [file]: profileText(profile, { 'user.note': note }) });
  repository.git('add', '-A');
  repository.gitWith(person, 'commit', '--quiet', '-m', note);
  repository.push();
  return repository.head();
};
const noteOn = async (name: string): Promise<string | undefined> => (await world.profile(1, name))?.['user.note'];

test('a plan with a deletion waits as a whole, shows that first, and is carried out after an approval', async () => {
  write('p1', 'p5');
  await waits('web', 2);
  expect(set('web')).toMatchObject({
    status: 'waiting',
    message: expect.stringContaining('It awaits an approval of:'),
  });
  expect(gateOf('web')?.hosts).toEqual(
    ['h1', 'h2'].map((host) => ({
      host,
      count: 3,
      steps: ['delete profile/p2', 'delete profile/p3', 'delete profile/p4'],
    })),
  );
  // Harmless steps of the plan wait too, and the prune limit does not need a separate approval.
  expect([await noteOn('p5'), await noteOn('p2'), set('web').pruneGate]).toEqual([undefined, 'p2', undefined]);
  await approve('web');
  await hasStatus(world, 'web', 'synced');
  expect([await noteOn('p5'), await noteOn('p2'), gateOf('web')]).toEqual(['p5', undefined, undefined]);
});

test('a plan that deletes nothing needs no approval, and drift is repaired without one', async () => {
  write('p1', 'p5', 'p6');
  await until(async () => (await noteOn('p6')) === 'p6', waitMs);
  await world.meddle(1, 'p6', { 'user.note': 'by hand' });
  await until(async () => (await noteOn('p6')) === 'p6', waitMs);
  expect(gateOf('web')).toBeUndefined();
});

test('an approval for one host lets the other wait', async () => {
  write('p1', 'p5');
  await waits('web', 2);
  await world.engine.approve('web', { ...request('web'), hosts: ['h1'] }, bob);
  await until(async () => (await noteOn('p6')) === undefined, waitMs);
  await waits('web', 1);
  expect(await world.profile(2, 'p6')).toBeDefined();
  await approve('web');
  await hasStatus(world, 'web', 'synced');
});

test('an approval of another plan, another revision or an unknown plan is refused', async () => {
  write('p1');
  await waits('web', 2);
  const old = request('web');
  write('p5');
  await until(() => gateOf('web')?.hosts[0]?.steps[0] === 'delete profile/p1', waitMs);
  await expect(world.engine.approve('web', old, bob)).rejects.toThrow('the plan of the set web is another one now');
  const now = request('web');
  await expect(world.engine.approve('web', { ...now, revision: old.revision }, bob)).rejects.toThrow(
    'is another one now',
  );
  await expect(world.engine.approve('web', { ...old, revision: now.revision }, bob)).rejects.toThrow(
    'is another one now',
  );
  expect([await noteOn('p1'), await noteOn('p5')]).toEqual(['p1', 'p5']);
});

test('an approval does not cover the same steps of a newer revision', async () => {
  await world.engine.suspend('web', { reason: 'wait' }, 'ann');
  await until(() => gateOf('web') === undefined, waitMs);
  await world.engine.resume('web', {}, 'ann');
  await waits('web', 2);
  // h2 does nothing with the approval, since its connection is slower than the next commit.
  await world.engine.approve('web', { ...request('web'), hosts: ['h1'] }, bob);
  await until(async () => (await noteOn('p1')) === undefined, waitMs);
  writeFileSync(join(world.folder, 'manifests/web/b.yaml'), profileText('p9', { 'user.note': 'p9' }));
  await until(() => gateOf('web')?.revision === set('web').revision && gateOf('web')?.hosts[0]?.host === 'h2', waitMs);
  expect(await world.profile(2, 'p1')).toBeDefined();
  await approve('web');
  await hasStatus(world, 'web', 'synced');
});

test('the author of a commit, even below a commit of another person, cannot approve it', async () => {
  await waits('site');
  await expect(approve('site', ada)).rejects.toThrow(
    'ada may not approve this plan of the set site: who wrote what comes',
  );
  await approve('site');
  await until(async () => (await noteOn('s1')) === 'one', waitMs);
  await hasStatus(world, 'site', 'synced');
  commit('bad', 'mallory');
  await waits('site');
  commit('good', 'eve', 'b.yaml', 's2');
  await until(() => gateOf('site')?.revision === repository.head(), waitMs);
  await expect(approve('site', mallory)).rejects.toThrow('who wrote what comes with');
  await expect(approve('site', { name: 'mallory', mails: [] })).rejects.toThrow(
    'name the addresses of mallory in commits',
  );
  await expect(approve('site', { name: 'x', mails: ['MALLORY@example.org'] })).rejects.toThrow('who wrote');
  expect(await noteOn('s1')).toBe('one');
});

test('a person who requested the sync cannot approve it, even after a restart', async () => {
  await world.engine.sync('site', {}, 'bob');
  await waits('site');
  await expect(approve('site')).rejects.toThrow('who asked for it does not approve it');
  await world.stop();
  await world.start(config());
  await waits('site');
  await expect(approve('site')).rejects.toThrow('who asked for it does not approve it');
  await approve('site', { name: 'carl', mails: ['carl@example.org'] });
  await until(async () => (await noteOn('s1')) === 'bad', waitMs);
  await hasStatus(world, 'site', 'synced');
});

test('an approval is used once: the same change for another reason needs another one', async () => {
  write('p5', 'p7');
  await until(async () => (await noteOn('p7')) === 'p7', waitMs);
  rmSync(join(world.folder, 'manifests/web/b.yaml'));
  await waits('web', 2);
  await approve('web');
  await hasStatus(world, 'web', 'synced');
  expect(set('web').approvals?.some(({ by }) => by === 'bob')).toBe(true);
  expect(await noteOn('p9')).toBeUndefined();
});

test('an approval of a revision ends with it: going back to the revision needs another one', async () => {
  write('p5', 'p7', 'back');
  await until(async () => (await noteOn('back')) === 'back', waitMs);
  write('p5', 'p7');
  await waits('web', 2);
  await approve('web');
  await until(async () => (await noteOn('back')) === undefined, waitMs);
  await hasStatus(world, 'web', 'synced');
  write('p5', 'p7', 'back');
  await until(async () => (await noteOn('back')) === 'back', waitMs);
  await hasStatus(world, 'web', 'synced');
  write('p5', 'p7');
  await waits('web', 2);
  expect(await noteOn('back')).toBe('back');
  await approve('web');
  await hasStatus(world, 'web', 'synced');
});

test('a suspension outlives the state directory, and an approval is stored on the hosts', async () => {
  commit('three', 'eve');
  await waits('site');
  // The set cannot continue while its object is suspended on the host.
  await world.engine.suspend('site', { address: 'profile/s2', reason: 'hold' }, 'ann');
  await waits('site');
  await world.stop();
  rmSync(join(world.folder, 'state'), { recursive: true });
  await world.start(config());
  await waits('site');
  expect(set('site').suspensions).toMatchObject([{ address: 'profile/s2', reason: 'hold', by: 'ann' }]);
  await approve('site', { name: 'carl', mails: ['carl@example.org'] });
  await until(async () => (await noteOn('s1')) === 'three', waitMs);
  const server = await world.daemons[0]?.client.server();
  expect(JSON.stringify(server?.metadata.config?.[askedKey('controller-main')])).toContain('carl');
});

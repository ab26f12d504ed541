// A renamed project keeps everything in it; refusals, restricted certificates and old names.
import { expect, test } from 'vitest';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';
import { makePair } from '../../../support/daemons/tls.ts';

const daemon = await seededDaemon();

test('containers with snapshots and backups, profiles and volumes follow the rename', async () => {
  await makeProject(daemon, 'before', { 'user.a': 'b' });
  const pool = '/1.0/storage-pools/default/volumes/custom';
  expect((await daemon.call('POST', `${pool}?project=before`, { name: 'data' })).status).toBeLessThan(300);
  await daemon.call('POST', '/1.0/profiles?project=before', { name: 'extra' });
  const data = { type: 'disk', pool: 'default', source: 'data', path: '/data' };
  await makeContainerIn(daemon, 'before', 'web', { profiles: ['default', 'extra'], devices: { data } });
  await makeContainerIn(daemon, 'default', 'web', { description: 'another' });
  await daemon.ok('POST', '/1.0/containers/web/snapshots?project=before', { name: 's' });
  await daemon.ok('POST', '/1.0/containers/web/backups?project=before', { name: 'b' });
  await daemon.ok('PUT', '/1.0/containers/web/state?project=before', { action: 'start' });
  const refused = await daemon.call('POST', '/1.0/projects/before', { name: 'after' });
  expect([refused.status, refused.metadata.message]).toEqual([
    400,
    'The project before has running containers: stop web before renaming it',
  ]);
  await daemon.ok('PUT', '/1.0/containers/web/state?project=before', { action: 'stop', force: true });

  const events = await daemon.listen('lifecycle');
  await daemon.ok('POST', '/1.0/projects/before', { name: 'after' });
  const renamed = await events.next((event) => (event.metadata as { action: string }).action === 'project-renamed');
  expect(renamed.metadata).toMatchObject({ source: '/1.0/projects/before', context: { new_name: 'after' } });
  events.close();

  const { used_by: usedBy, config } = await daemon.get('/1.0/projects/after');
  expect(config).toMatchObject({ 'user.a': 'b' });
  expect(usedBy.toSorted()).toEqual([
    '/1.0/containers/web?project=after',
    '/1.0/profiles/default?project=after',
    '/1.0/profiles/extra?project=after',
    `${pool}/data?project=after`,
  ]);
  expect((await daemon.call('GET', '/1.0/projects/before')).status).toBe(404);
  expect((await daemon.call('GET', '/1.0/containers?project=before')).status).toBe(404);
  expect(await daemon.get('/1.0/containers/web/snapshots?project=after')).toHaveLength(1);
  expect(await daemon.get('/1.0/containers/web/backups?project=after')).toHaveLength(1);
  await daemon.ok('PUT', '/1.0/containers/web/state?project=after', { action: 'start' });
  await daemon.restart();
  expect((await daemon.get('/1.0/containers/web?project=after')).status).toBe('Running');
  expect((await daemon.get('/1.0/containers/web')).description).toBe('another');
  await daemon.ok('PUT', '/1.0/containers/web/state?project=after', { action: 'stop', force: true });
});

test('certificates that are restricted to it follow', async () => {
  await makeProject(daemon, 'limited');
  const { certPem } = await makePair('laptop');
  const body = { type: 'client', certificate: certPem, restricted: true, projects: ['limited'] };
  const made = await daemon.call('POST', '/1.0/certificates', body);
  await daemon.ok('POST', '/1.0/projects/limited', { name: 'free' });
  expect((await daemon.get(String(made.headers.location))).projects).toEqual(['free']);
});

test('a taken, a bad and a missing name are refused, and the project default stays', async () => {
  await makeProject(daemon, 'one');
  await makeProject(daemon, 'two');
  const rename = async (name: string, to: string) =>
    (await daemon.call('POST', `/1.0/projects/${name}`, { name: to })).status;
  expect(await rename('one', 'two')).toBe(409);
  for (const bad of ['', 'a/b', 'a%b', '..']) expect([bad, await rename('one', bad)]).toEqual([bad, 400]);
  expect(await rename('none', 'three')).toBe(404);
  expect(await rename('default', 'three')).toBe(403);
});

test('requests during the rename are told to retry, and later find the project under its new name', async () => {
  await makeProject(daemon, 'busy');
  for (let index = 0; index < 8; index += 1) await makeContainerIn(daemon, 'busy', `c${index}`);
  const { body } = await daemon.call('POST', '/1.0/projects/busy', { name: 'idle' });
  const attempts = await Promise.all(
    ['busy', 'idle'].flatMap((project) =>
      Array.from({ length: 5 }, (_none, index) =>
        daemon.call('POST', `/1.0/containers?project=${project}`, { name: `n${index}`, source: { type: 'none' } }),
      ),
    ),
  );
  await daemon.wait(body.operation as string);
  for (const { status, metadata, body: made } of attempts) {
    expect(status === 202 || ['notFound', 'unavailable'].includes(metadata.code as string)).toBe(true);
    if (status === 202) await daemon.wait(made.operation as string);
  }
  const left = (await daemon.get('/1.0/containers?recursion=1&all-projects=true')) as { project: string }[];
  expect(left.filter(({ project }) => project === 'busy')).toEqual([]);
  expect((await daemon.get('/1.0/projects/idle')).used_by.length).toBeGreaterThanOrEqual(9);
});

// Projects over the wire: creating, changing and deleting them, and refusals with their reason.
import { describe, expect, test } from 'vitest';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';

const daemon = await seededDaemon();

const own = { 'features.images': 'true', 'features.profiles': 'true', 'features.storage.volumes': 'true' };
const project = (name: string, config: Record<string, string> = {}) => makeProject(daemon, name, config);

describe('a project', () => {
  test('is made with objects of its own and its own default profile', async () => {
    const answer = await daemon.call('POST', '/1.0/projects', { name: 'made', description: 'one' });
    expect([answer.status, answer.headers.location]).toEqual([200, '/1.0/projects/made']);
    expect(await daemon.get('/1.0/projects/made')).toEqual({
      name: 'made',
      description: 'one',
      config: own,
      used_by: ['/1.0/profiles/default?project=made'],
    });
    const profile = await daemon.get('/1.0/profiles/default?project=made');
    expect(profile).toMatchObject({ description: 'Default profile of the project made', devices: {} });
    expect(await daemon.get('/1.0/projects')).toEqual(
      expect.arrayContaining(['/1.0/projects/default', '/1.0/projects/made']),
    );
  });

  test('a project without profiles of its own has no default profile: those of the project default are seen', async () => {
    await project('shared', { 'features.profiles': 'false' });
    const [here, there] = [
      await daemon.get('/1.0/profiles/default?project=shared'),
      await daemon.get('/1.0/profiles/default'),
    ];
    expect(here.description).toEqual(there.description);
    expect((await daemon.get('/1.0/projects/shared')).used_by).toEqual([]);
  });

  test('is refused with every problem of its name and config at once', async () => {
    const config = { 'features.imags': 'true', 'features.images': 'maybe', 'features.networks': 'true' };
    const { status, metadata } = await daemon.call('POST', '/1.0/projects', { name: 'a/b', config });
    expect(status).toBe(400);
    const paths = metadata.details.map((detail: { path: string }) => detail.path);
    expect(paths.toSorted()).toEqual([
      'config.features.images',
      'config.features.imags',
      'config.features.networks',
      'name',
    ]);
    expect(metadata.message).toMatch(/all projects share the networks/);
  });

  test.each(['', '.', '..', 'a/b', 'a b', 'a%b', 'a*', "a'b", 'ü', 'x'.repeat(65)])(
    'is refused by the name %j',
    async (name) => {
      expect((await daemon.call('POST', '/1.0/projects', { name })).status).toBe(400);
    },
  );

  test('is made once', async () => {
    await project('twice');
    const { status, metadata } = await daemon.call('POST', '/1.0/projects', { name: 'twice' });
    expect([status, metadata.message]).toEqual([409, 'A project named twice already exists']);
  });

  test('a project that does not exist is not found', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      expect((await daemon.call(method, '/1.0/projects/none', method === 'GET' ? undefined : {})).status).toBe(404);
    expect((await daemon.call('GET', '/1.0/profiles?project=none')).status).toBe(404);
  });

  test('a client whose project is gone lists projects and gets another one', async () => {
    expect(await daemon.get('/1.0/projects?project=none')).toContain('/1.0/projects/default');
    expect(await daemon.get('/1.0/projects/default?project=none')).toMatchObject({ name: 'default' });
  });
});

describe('a change', () => {
  test('replaces everything with PUT and merges with PATCH', async () => {
    const path = await project('changed', { 'user.a': '1' });
    await daemon.call('PATCH', path, { config: { 'user.b': '2' } });
    expect(await daemon.get(path)).toMatchObject({ config: { ...own, 'user.a': '1', 'user.b': '2' }, description: '' });
    await daemon.call('PATCH', path, { description: 'kept' });
    await daemon.call('PATCH', path, { config: { 'user.a': '' } });
    expect(await daemon.get(path)).toMatchObject({ config: { ...own, 'user.b': '2' }, description: 'kept' });
    await daemon.call('PUT', path, { config: own });
    expect(await daemon.get(path)).toMatchObject({ config: own, description: '' });
  });

  test('obeys If-Match', async () => {
    const path = await project('matched');
    const { headers } = await daemon.call('GET', path);
    const etag = String(headers.etag);
    expect((await daemon.call('PATCH', path, { description: 'x' }, { 'if-match': etag })).status).toBe(200);
    expect((await daemon.call('PATCH', path, { description: 'y' }, { 'if-match': etag })).status).toBe(412);
    expect((await daemon.get(path)).description).toBe('x');
  });

  test('a change of features makes and removes the default profile of an empty project', async () => {
    const path = await project('toggled');
    await daemon.call('PATCH', path, { config: { 'features.profiles': 'false' } });
    expect((await daemon.get(path)).used_by).toEqual([]);
    await daemon.call('PATCH', path, { config: { 'features.profiles': 'true' } });
    expect((await daemon.get(path)).used_by).toEqual(['/1.0/profiles/default?project=toggled']);
  });

  test('a change of features is refused while something is in the project, and in the project default', async () => {
    const path = await project('full');
    await makeContainerIn(daemon, 'full', 'web');
    const { status, metadata } = await daemon.call('PUT', path, { config: { ...own, 'features.images': 'false' } });
    expect([status, metadata.message]).toEqual([400, expect.stringMatching(/features\.images.*the container web/)]);
    expect((await daemon.call('PATCH', path, { config: { 'user.a': 'b' } })).status).toBe(200);
    const refused = await daemon.call('PATCH', '/1.0/projects/default', { config: { 'features.images': 'false' } });
    expect([refused.status, refused.metadata.details]).toEqual([
      400,
      [expect.objectContaining({ path: 'config.features.images' })],
    ]);
  });
});

describe('a deletion', () => {
  test('also deletes the default profile', async () => {
    const path = await project('gone');
    expect((await daemon.call('DELETE', path)).status).toBe(202);
    expect((await daemon.call('GET', path)).status).toBe(404);
    await project('gone');
    expect((await daemon.get(path)).used_by).toHaveLength(1);
  });

  test('is refused with the names of the objects in the project', async () => {
    const path = await project('held');
    await daemon.call('POST', '/1.0/profiles?project=held', { name: 'p1' });
    await makeContainerIn(daemon, 'held', 'web');
    const { status, metadata } = await daemon.call('DELETE', path);
    expect([status, metadata.message]).toEqual([
      400,
      'The project held is in use by the container web, the profile p1',
    ]);
    await daemon.ok('DELETE', '/1.0/containers/web?project=held');
    await daemon.call('DELETE', '/1.0/profiles/p1?project=held');
    expect((await daemon.call('DELETE', path)).status).toBe(202);
  });

  test('a deletion of the project default is forbidden', async () => {
    expect((await daemon.call('DELETE', '/1.0/projects/default')).status).toBe(403);
  });
});

test('creation, change and deletion are reported to listeners', async () => {
  const events = await daemon.listen('lifecycle');
  const path = await project('heard');
  await daemon.call('PATCH', path, { description: 'x' });
  await daemon.call('DELETE', path);
  for (const action of ['project-created', 'project-updated', 'project-deleted']) {
    const { metadata } = await events.next((event) => (event.metadata as { action?: string }).action === action);
    expect(metadata).toMatchObject({ source: path });
  }
  events.close();
});

// The effect of a request's project at the edge: lists, operations, events, the server object, and the words of errors.
import { beforeAll, describe, expect, test } from 'vitest';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { listenOn } from '../../../support/daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';

const daemon = await seededDaemon();
beforeAll(async () => {
  for (const name of ['a', 'b']) {
    await makeProject(daemon, name);
    await makeContainerIn(daemon, name, 'web');
  }
  await makeContainerIn(daemon, 'default', 'web');
});

describe('a list', () => {
  test('has the containers of its project, with their project and URLs that name it', async () => {
    expect(await daemon.get('/1.0/containers?project=a')).toEqual(['/1.0/containers/web?project=a']);
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/web']);
    expect(await daemon.get('/1.0/containers?recursion=1&project=a')).toMatchObject([{ name: 'web', project: 'a' }]);
  });

  test('has those of every project on request', async () => {
    const all = await daemon.get('/1.0/containers?recursion=1&all-projects=true');
    expect(all.map(({ project }: { project: string }) => project)).toEqual(['a', 'b', 'default']);
    expect(await daemon.get('/1.0/containers?all-projects=true')).toHaveLength(3);
    expect(await daemon.get('/1.0/containers?recursion=2&all-projects=true')).toHaveLength(3);
    const profiles = await daemon.get('/1.0/profiles?all-projects=true');
    expect(profiles).toEqual(expect.arrayContaining(['/1.0/profiles/default', '/1.0/profiles/default?project=a']));
  });
});

describe('operations', () => {
  test('are listed in their project, and found without one by their id alone', async () => {
    const { body } = await daemon.call('POST', '/1.0/containers/web/snapshots?project=a', { name: 'op' });
    const url = body.operation as string;
    await daemon.call('GET', `${url}/wait`);
    expect(await daemon.get('/1.0/operations?project=a')).toContain(url);
    expect(await daemon.get('/1.0/operations?project=b')).not.toContain(url);
    expect(await daemon.get('/1.0/operations?all-projects=true')).toContain(url);
    const statusOf = async (query: string) => (await daemon.call('GET', `${url}${query}`)).status;
    expect([await statusOf(''), await statusOf('?project=a'), await statusOf('?project=b')]).toEqual([200, 200, 404]);
    expect((await daemon.call('GET', `${url}/wait?project=b`)).status).toBe(404);
    expect((await daemon.call('DELETE', `${url}?project=b`)).status).toBe(404);
  });

  test('operations of networks are in every project', async () => {
    const { metadata } = await daemon.call('GET', '/1.0/operations?recursion=1&project=b');
    expect(metadata.every((one: { resources: object }) => !JSON.stringify(one.resources).includes('project=a'))).toBe(
      true,
    );
  });
});

describe('events', () => {
  const listen = (query: string) => listenOn(`ws+unix://${daemon.socketPath}:/1.0/events${query}`);

  test('events belong to the project of the listener, or to all', async () => {
    const [inA, inB, everywhere] = await Promise.all([
      listen('?project=a&type=lifecycle'),
      listen('?project=b&type=lifecycle'),
      listen('?all-projects=true&type=lifecycle'),
    ]);
    await daemon.ok('POST', '/1.0/containers/web/snapshots?project=a', { name: 'heard' });
    await daemon.ok('POST', '/1.0/containers/web/snapshots?project=b', { name: 'heard' });
    const isFrom = (project: string) => (event: { project?: string; metadata: unknown }) =>
      event.project === project && (event.metadata as { action: string }).action === 'container-snapshot-created';
    const event = await inA.next(isFrom('a'));
    expect(event.metadata).toMatchObject({
      source: '/1.0/containers/web?project=a',
      context: { snapshot_name: 'web/heard' },
    });
    await inB.next(isFrom('b'));
    await everywhere.next(isFrom('a'));
    await everywhere.next(isFrom('b'));
    expect(inA.events.some(isFrom('b'))).toBe(false);
    expect(inB.events.some(isFrom('a'))).toBe(false);
    for (const listening of [inA, inB, everywhere]) listening.close();
  });

  test('events without a project are delivered in every project', async () => {
    const inA = await listen('?project=a&type=lifecycle');
    await daemon.call('POST', '/1.0/storage-pools', { name: 'heard', driver: 'dir' });
    await inA.next((event) => (event.metadata as { source: string }).source === '/1.0/storage-pools/heard');
    inA.close();
  });

  test('events of an unknown project are refused', async () => {
    await expect(listen('?project=zzz')).rejects.toThrow(/404/);
  });
});

test('the server object echoes the project', async () => {
  expect((await daemon.get('/1.0?project=a')).environment.project).toBe('a');
  expect((await daemon.get('/1.0')).environment.project).toBe('default');
  expect((await daemon.call('GET', '/1.0?project=zzz')).status).toBe(404);
});

describe('texts', () => {
  test('texts of errors have the names that users of the project gave', async () => {
    const missing = await daemon.call('GET', '/1.0/containers/nobody?project=a');
    expect(missing.metadata.message).toBe('The container nobody was not found');
    await daemon.ok('PUT', '/1.0/containers/web/state?project=a', { action: 'start' });
    const running = await daemon.call('DELETE', '/1.0/containers/web?project=a');
    expect(running.metadata.message).toBe('The container web is running: stop it before deleting it');
    const elsewhere = await daemon.call('POST', '/1.0/containers/web?project=a', { project: 'b' });
    expect(elsewhere.metadata.message).not.toMatch(/%/);
  });

  test('texts of failed operations, too', async () => {
    const failed = await daemon.run('PUT', '/1.0/containers/web/state?project=a', { action: 'start' });
    expect(failed.err).toMatch(/web/);
    expect(failed.err).not.toMatch(/%/);
  });

  test('texts of the log name the project', async () => {
    await daemon.run('PUT', '/1.0/containers/web/state?project=a', { action: 'start' });
    const line = daemon.logged.findLast((one) => one.includes('Operation failed'));
    expect(line).toMatch(/web \(project a\)/);
    await daemon.ok('PUT', '/1.0/containers/web/state?project=a', { action: 'stop', force: true });
  });
});

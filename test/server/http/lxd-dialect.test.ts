// The dialect of LXD on separate listeners: envelopes, statuses, words and filters, where they differ from the spec's.
import type { Operation } from '../../../server/api/operation.ts';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lxdExtensions, servedExtensions } from '../../../server/api/server/extensions.ts';
import { parseFilter } from '../../../server/http/dialects/lxd-filter.ts';
import {
  type Answer,
  call,
  createContainer,
  listenOn,
  makeSeeded,
  type Sent,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';
import { makeContainerIn, makeProject } from '../../support/daemons/projects.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
const work = tempFolder('gtyd-');
let socketPath = '';
beforeAll(async () => {
  socketPath = join(work, 'made', 'unix.socket');
  daemon = await makeSeeded({ lxd: { socket: socketPath } });
  for (const name of ['one', 'two']) await createContainer(daemon, name, { config: { 'user.kind': name } });
  await daemon.ok('PUT', '/1.0/containers/one/state', { action: 'start' });
});
afterAll(async () => {
  await daemon.cleanUp();
  expect(existsSync(socketPath)).toBe(false);
});
const lxd = (method: string, path: string, body?: Sent, headers = {}): Promise<Answer> =>
  call({ socketPath }, method, path, body, headers);

const volumes = '/1.0/storage-pools/default/volumes';
const members = ['error', 'error_code', 'metadata', 'operation', 'status', 'status_code', 'type'];

test('the socket is for its group only, and the spec’s own socket is not affected', async () => {
  expect(statSync(socketPath).mode & 0o777).toBe(0o660);
  expect((await daemon.call('GET', '/1.0/containers/none')).body).toMatchObject({ type: 'error', error: 'Failure' });
});

test('both APIs refuse a block volume, and none is created as a file system', async () => {
  const volumes = '/1.0/storage-pools/default/volumes/custom';
  const blocks = { name: 'blocks', type: 'custom', content_type: 'block' };
  const own: typeof lxd = (method, path, body) => daemon.call(method, path, body);
  for (const send of [lxd, own]) {
    const moved = { ...blocks, source: { type: 'migration', mode: 'push' } };
    for (const body of [blocks, moved]) {
      const { status, body: answer } = await send('POST', volumes, body);
      expect([status, answer.error, JSON.stringify(answer)]).toEqual([
        400,
        expect.any(String),
        expect.stringMatching(/content_type.*must be filesystem/),
      ]);
    }
    expect((await lxd('GET', `${volumes}/blocks`)).status).toBe(404);
    const files = await send('POST', volumes, { name: 'files', type: 'custom', content_type: 'filesystem' });
    expect(files.status).toBe(200);
    await lxd('POST', `${volumes}/files/snapshots`, { name: 's' }).then(({ body }) =>
      lxd('GET', `${String(body.operation)}/wait`),
    );
    expect((await lxd('GET', `${volumes}/files/snapshots/s`)).metadata.content_type).toBe('filesystem');
    expect((await lxd('DELETE', `${volumes}/files`)).status).toBe(200);
  }
});

describe('answers', () => {
  test('have all seven members, and the reason as error', async () => {
    const refused = await lxd('GET', '/1.0/containers/none');
    expect(refused.status).toBe(404);
    expect(Object.keys(refused.body).toSorted()).toEqual(members);
    expect(refused.body).toMatchObject({ error: 'The container none was not found', error_code: 404, metadata: null });
    const read = await lxd('GET', '/1.0/containers/one');
    expect(Object.keys(read.body).toSorted()).toEqual(members);
    expect(read.metadata).toMatchObject({ name: 'one', type: 'container' });
  });

  test('are never 204: created and renamed 201, deleted 200, background 202 as Operation created', async () => {
    const made = await lxd('POST', '/1.0/profiles', { name: 'p' });
    expect([made.status, made.headers.location]).toEqual([201, '/1.0/profiles/p']);
    const renamed = await lxd('POST', '/1.0/profiles/p', { name: 'q' });
    expect([renamed.status, renamed.headers.location]).toEqual([201, '/1.0/profiles/q']);
    const gone = await lxd('DELETE', '/1.0/profiles/q');
    expect([gone.status, gone.metadata]).toEqual([200, {}]);
    const exec = await lxd('POST', '/1.0/containers/one/exec', { command: ['true'] });
    expect(exec.body).toMatchObject({ status: 'Operation created', status_code: 100 });
    expect((await lxd('GET', `${exec.body.operation}/wait`)).metadata.status).toBe('Success');
  });

  test('say why a command did not run to clients of release 5, and the exit code alone to others', async () => {
    const ended = async (headers: Readonly<Record<string, string>>, file: string): Promise<Operation> => {
      const { body } = await lxd('POST', '/1.0/containers/one/exec', { command: [file] }, headers);
      const waited = (await lxd('GET', `${body.operation}/wait`, undefined, headers)).metadata as Operation;
      expect((await lxd('GET', body.operation, undefined, headers)).metadata).toEqual(waited);
      return waited;
    };
    const agent = { 'user-agent': 'LXD 5.0.2 (Linux; x86_64)' };
    expect(await ended(agent, 'no-such-program')).toMatchObject({
      status: 'Failure',
      status_code: 400,
      err: 'Command not found',
      metadata: { return: 127 },
    });
    await lxd('POST', '/1.0/containers/one/files?path=/plain', Buffer.from('x'), { 'x-lxd-mode': '0644' });
    expect(await ended(agent, '/plain')).toMatchObject({ err: 'Command not executable', metadata: { return: 126 } });
    expect(await ended(agent, 'true')).toMatchObject({ status: 'Success', err: '', metadata: { return: 0 } });
    for (const other of [{}, { 'user-agent': 'LXD 3.12' }, { 'user-agent': 'python-requests/2' }])
      expect(await ended(other, 'no-such-program')).toMatchObject({ status: 'Success', metadata: { return: 127 } });
  });

  test('mark files by headers of LXD, and demand trust by its own header', async () => {
    await lxd('POST', '/1.0/containers/one/files?path=/f', Buffer.from('x'), {
      'x-lxd-mode': '0640',
      'x-lxd-uid': '0',
    });
    const file = await lxd('GET', '/1.0/containers/one/files?path=/f');
    expect([file.headers['x-lxd-mode'], file.headers['x-lxd-type']]).toEqual(['0640', 'file']);
    expect(Object.keys(file.headers).filter((name) => name.startsWith('x-svc'))).toEqual([]);
  });

  test('name a backup of another project without the project, which clients add themselves', async () => {
    const config = { 'features.images': 'false', 'features.profiles': 'false' };
    await lxd('POST', '/1.0/projects', { name: 'p', config });
    await lxd('POST', '/1.0/containers?project=p', { name: 'two', source: { type: 'none' } });
    const created = await lxd('GET', '/1.0/operations?recursion=1&project=p');
    for (const { id } of created.metadata?.running ?? []) await lxd('GET', `/1.0/operations/${id}/wait`);
    const { body } = await lxd('POST', '/1.0/containers/two/backups?project=p', { compression_algorithm: 'none' });
    const wait = await lxd('GET', `${body.operation}/wait`);
    expect(wait.metadata.resources.backups).toEqual(['/1.0/backups/backup0']);
  });

  test('answers of a backup name it where clients of LXD look, also in events', async () => {
    const events = await listenOn(`ws+unix://${socketPath}:/1.0/events?type=operation`);
    const { body } = await lxd('POST', '/1.0/containers/two/backups', { compression_algorithm: 'none' });
    expect(body.metadata.resources.backups).toEqual(['/1.0/backups/backup0']);
    const wait = await lxd('GET', `${body.operation}/wait`);
    expect(wait.metadata.resources.backups).toEqual(['/1.0/backups/backup0']);
    const listed = Object.values(
      (await lxd('GET', '/1.0/operations?recursion=1')).metadata as Record<string, Operation[]>,
    ).flat();
    const shown = listed.find(({ id }) => id === wait.metadata.id);
    expect(shown?.resources?.['backups']).toEqual(['/1.0/backups/backup0']);
    const found = await events.next((event) => JSON.stringify(event).includes('/1.0/backups/backup0'), 20_000);
    expect(found.type).toBe('operation');
    events.close();
    const plain = await daemon.ok('DELETE', '/1.0/containers/two/backups/backup0');
    expect(plain.resources?.['backups']).toEqual(['/1.0/containers/two/backups/backup0']);
  });
});

test('POST replaces an existing template, as lxc config template edit sends it', async () => {
  const at = '/1.0/containers/two/metadata/templates?path=a.tpl';
  for (const text of ['first', 'second']) expect((await lxd('POST', at, Buffer.from(text))).status).toBe(200);
  expect((await lxd('GET', at)).bytes.toString()).toBe('second');
  expect((await daemon.call('POST', at, Buffer.from('third'))).status).toBe(409);
});

test('lists of volumes have the snapshots of volumes, of containers too', async () => {
  await daemon.ok('POST', '/1.0/containers/two/snapshots', { name: 's' });
  await daemon.call('POST', `${volumes}/custom`, { name: 'kept', type: 'custom' });
  await daemon.ok('POST', `${volumes}/custom/kept/snapshots`, { name: 's' });
  const { metadata: objects } = await lxd('GET', `${volumes}?recursion=1`);
  const named = objects.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`);
  expect(named).toEqual(expect.arrayContaining(['container two', 'container two/s', 'custom kept', 'custom kept/s']));
  const both = [`${volumes}/container/two/snapshots/s`, `${volumes}/custom/kept/snapshots/s`];
  expect((await lxd('GET', volumes)).metadata).toEqual(expect.arrayContaining(both));
  const filter = encodeURIComponent('type eq container');
  expect((await lxd('GET', `${volumes}?filter=${filter}`)).metadata).toContain(both[0]);
  expect((await lxd('GET', `${volumes}?filter=${filter}`)).metadata).not.toContain(both[1]);
});

test('the server reports itself as LXD, and advertises only served features', async () => {
  const { metadata } = await lxd('GET', '/1.0');
  expect(metadata).toMatchObject({
    auth: 'trusted',
    auth_methods: ['tls'],
    environment: { server: 'lxd', kernel_features: { idmapped_mounts: expect.stringMatching(/^(true|false)$/) } },
  });
  expect(metadata.api_extensions).toEqual(lxdExtensions);
  expect(lxdExtensions).toEqual(expect.arrayContaining(['resource_limits', 'unix_priv_drop', 'api_filtering']));
  // Without `instances` clients use the endpoints of containers.
  for (const name of ['instances', 'instance_types']) expect(lxdExtensions).not.toContain(name);
  const own = await daemon.get('/1.0');
  expect([own.environment.server, own.api_extensions]).toEqual(['gantry', [...servedExtensions]]);
});

test('processors are listed by core and thread', async () => {
  const { metadata } = await lxd('GET', '/1.0/resources');
  const threads = metadata.cpu.sockets.flatMap((socket: { cores: { threads: { id: number }[] }[] }) =>
    socket.cores.flatMap((core) => core.threads.map(({ id }) => id)),
  );
  expect(new Set(threads).size).toBe(threads.length);
  expect(threads.length).toBeGreaterThan(0);
});

test('operations are listed by status', async () => {
  const { body } = await lxd('POST', '/1.0/containers/one/exec', { command: ['true'] });
  await lxd('GET', `${body.operation}/wait`);
  expect((await lxd('GET', '/1.0/operations')).metadata.success).toContain(body.operation);
  const [first] = (await lxd('GET', '/1.0/operations?recursion=1')).metadata.success;
  expect(first.status).toBe('Success');
});

/** A project with a container, an image and a volume of its own; once. */
async function fillAway(): Promise<void> {
  if (((await daemon.get('/1.0/projects')) as string[]).includes('/1.0/projects/away')) return;
  const at = (path: string): string => `${path}?project=away`;
  await makeProject(daemon, 'away');
  await makeContainerIn(daemon, 'away', 'far');
  const image = tarOf({ name: 'metadata.yaml', content: goodMetadata, mode: 0o644 }, rootfsDirectory);
  await daemon.ok('POST', at('/1.0/images'), image, { 'x-svc-filename': 'far.tar' });
  expect((await daemon.call('POST', at(`${volumes}/custom`), { name: 'far' })).status).toBe(200);
}

describe('filters', () => {
  const names = async (filter: string, recursion = 1): Promise<unknown> => {
    const { metadata } = await lxd(
      'GET',
      `/1.0/containers?recursion=${recursion}&filter=${encodeURIComponent(filter)}`,
    );
    return recursion === 0 ? metadata : metadata.map(({ name }: { name: string }) => name);
  };
  test.each([
    ['', ['one', 'two']],
    ['status eq running', ['one']],
    ['not status eq running', ['two']],
    ['status ne Running and type eq container', ['two']],
    ['config.user.kind eq two or name eq "one"', ['one', 'two']],
    ['expanded_config.user.kind eq TWO', ['two']],
    ['no.such.thing eq x', []],
    ['ephemeral eq false and name eq one', ['one']],
  ])('%j', async (filter, expected) => {
    expect(await names(filter)).toEqual(expected);
  });

  test('filters of URLs and of images', async () => {
    expect(await names('name eq one', 0)).toEqual(['/1.0/containers/one']);
    expect((await lxd('GET', '/1.0/images?filter=public+eq+true')).metadata).toEqual([]);
  });

  test.each([
    ['/1.0/containers', 'type eq container and name eq far', '/1.0/containers/far?project=away'],
    ['/1.0/images', 'filename eq far.tar', /^\/1\.0\/images\/[0-9a-f]{64}\?project=away$/],
    [volumes, 'name eq far and type eq custom', `${volumes}/custom/far?project=away`],
    [volumes, 'name eq far and type eq container', `${volumes}/container/far?project=away`],
    [`${volumes}/custom`, 'name eq far', `${volumes}/custom/far?project=away`],
  ])('of %s of all projects name objects with their projects', async (list, filter, expected) => {
    await fillAway();
    for (const all of ['all-projects=true', 'all-projects=1', 'project=away']) {
      const { metadata } = await lxd('GET', `${list}?${all}&filter=${encodeURIComponent(filter)}`);
      expect(metadata, all).toEqual([typeof expected === 'string' ? expected : expect.stringMatching(expected)]);
      expect((await lxd('GET', `${list}?${all}`)).metadata, all).toContain(metadata[0]);
      expect((await lxd('GET', metadata[0] as string)).metadata).toMatchObject({ project: 'away' });
    }
  });

  test.each(['status', 'status eq', 'status like x', 'a eq b c eq d', 'not', 'a eq b and', 'eq eq', '"'.repeat(3)])(
    '%j is refused with its place',
    async (filter) => {
      const answer = await lxd('GET', `/1.0/containers?recursion=1&filter=${encodeURIComponent(filter)}`);
      expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(/filter/)]);
    },
  );

  test('endless filters are refused', () => {
    expect(() => parseFilter(Array.from({ length: 500 }, () => 'a eq b').join(' or '))).toThrow(/more than 100 terms/);
  });
});

test('null means an absent member', async () => {
  const body = { name: 'nulls', description: null, config: null, devices: null, source: { type: 'none', alias: null } };
  const { body: answer } = await lxd('POST', '/1.0/containers', body);
  expect((await lxd('GET', `${answer.operation}/wait`)).metadata.err).toBe('');
  const wrong = await lxd('POST', '/1.0/containers', { name: 'wrong', source: null });
  expect([wrong.status, wrong.body.error]).toEqual([400, expect.stringMatching(/source/)]);
});

test('a virtual machine is refused, and no container is made instead', async () => {
  for (const type of ['virtual-machine', 'wat', 5]) {
    const refused = await lxd('POST', '/1.0/containers', { name: 'vm', type, source: { type: 'none' } });
    expect([refused.status, refused.body.error]).toEqual([400, expect.stringMatching(/type: must be container/)]);
  }
  expect((await lxd('GET', '/1.0/containers/vm')).status).toBe(404);
  const made = await lxd('POST', '/1.0/containers', { name: 'typed', type: 'container', source: { type: 'none' } });
  expect(made.status).toBe(202);
});

describe('names of containers that real servers refuse', () => {
  const bad = ['abc-', '-abc', '1abc', 'a.b', 'a_b', '12', 'x'.repeat(64)];
  const empty = { type: 'none' };

  test.each(bad)('as %j are refused in creations and renames by clients of LXD', async (name) => {
    const made = await lxd('POST', '/1.0/containers', { name, source: empty });
    expect([made.status, made.body.error]).toEqual([400, expect.stringMatching(/^Invalid container name .*must /)]);
    expect((await lxd('POST', '/1.0/containers/two', { name })).status).toBe(400);
  });

  test('are taken from other clients, and such a container can be used by clients of LXD', async () => {
    await createContainer(daemon, 'odd.name');
    const patched = await lxd('PATCH', '/1.0/containers/odd.name', { config: { 'user.a': 'b' } });
    expect(patched.status).toBe(200);
    const copied = await lxd('POST', '/1.0/containers', { name: 'even', source: { type: 'copy', source: 'odd.name' } });
    expect((await lxd('GET', `${copied.body.operation}/wait`)).metadata.status).toBe('Success');
    await makeProject(daemon, 'elsewhere');
    const moved = await lxd('POST', '/1.0/containers/odd.name', { name: 'odd.name', project: 'elsewhere' });
    expect((await lxd('GET', `${moved.body.operation}/wait`)).metadata).toMatchObject({ status: 'Success', err: '' });
    const renamed = await lxd('POST', '/1.0/containers/odd.name?project=elsewhere', { name: 'plain' });
    expect((await lxd('GET', `${renamed.body.operation}/wait`)).metadata.status).toBe('Success');
  });

  test('are those that are no host names: the longest one is taken', async () => {
    for (const name of ['y'.repeat(63), 'A-b0']) {
      const made = await lxd('POST', '/1.0/containers', { name, source: empty });
      expect([name, made.status]).toEqual([name, 202]);
      await lxd('GET', `${made.body.operation}/wait`);
    }
  });
});

test('PUT of a snapshot of a custom volume replaces it: without an end it has none any more', async () => {
  await lxd('POST', volumes, { name: 'ends', type: 'custom' });
  const path = `${volumes}/custom/ends/snapshots`;
  const made = await lxd('POST', path, { name: 's', expires_at: '2030-01-01T00:00:00Z' });
  expect((await lxd('GET', `${made.body.operation}/wait`)).metadata.err).toBe('');
  const put = async (body: object): Promise<void> => expect((await lxd('PUT', `${path}/s`, body)).status).toBe(200);
  await put({ description: 'x', expires_at: '2031-01-01T00:00:00Z' });
  expect((await lxd('GET', `${path}/s`)).metadata).toMatchObject({
    description: 'x',
    expires_at: '2031-01-01T00:00:00Z',
  });
  await put({ expires_at: null });
  expect((await lxd('GET', `${path}/s`)).metadata).toMatchObject({
    description: '',
    expires_at: '0001-01-01T00:00:00Z',
  });
});

test('the default profiles are described in the words of LXD until somebody describes them', async () => {
  await lxd('POST', '/1.0/projects', { name: 'worded' });
  const of = async (query: string): Promise<unknown> => (await lxd('GET', `/1.0/profiles${query}`)).metadata;
  expect(await of('/default?project=worded')).toMatchObject({ description: 'Default LXD profile for project worded' });
  expect(await of('?recursion=1&project=worded')).toMatchObject([
    { description: 'Default LXD profile for project worded' },
  ]);
  await lxd('PATCH', '/1.0/profiles/default?project=worded', { description: 'mine' });
  expect(await of('/default?project=worded')).toMatchObject({ description: 'mine' });
  // As a daemon makes it at its first start.
  await daemon.call('PATCH', '/1.0/profiles/default', { description: 'Default profile' });
  expect((await daemon.get('/1.0/profiles/default')).description).toBe('Default profile');
  expect(await of('/default')).toMatchObject({ description: 'Default LXD profile' });
});

test('an unknown architecture is refused for a container without an image, and ignored where an image says it', async () => {
  const made = await lxd('POST', '/1.0/containers', { name: 'odd', architecture: '2', source: { type: 'none' } });
  expect([made.status, made.body.error]).toEqual([400, expect.stringMatching(/architecture: "2" is not a known/)]);
  const source = { type: 'copy', source: 'two' };
  const copied = await lxd('POST', '/1.0/containers', { name: 'copied', architecture: '2', source });
  expect((await lxd('GET', `${copied.body.operation}/wait`)).metadata.status).toBe('Success');
});

test('null unsets a key of a config, as on LXD', async () => {
  const keys = { 'user.gone': '1', 'user.stays': '2' };
  expect((await lxd('PATCH', '/1.0/containers/two', { config: keys })).status).toBe(200);
  expect((await lxd('PATCH', '/1.0/containers/two', { config: { 'user.gone': null } })).status).toBe(200);
  const { config } = (await lxd('GET', '/1.0/containers/two')).metadata;
  expect([config['user.gone'], config['user.stays']]).toEqual([undefined, '2']);
});

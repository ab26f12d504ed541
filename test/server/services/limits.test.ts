// Limits and restrictions of projects over the wire: every way into a project obeys them, even two at once, and nothing is left behind.
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { emptySource, type Answer } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { goodMetadata, metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { fakeServer, serveDirect } from '../../support/images/remotes.ts';
import { btrfsMissing } from '../../../server/drivers/storage/btrfs/btrfs.ts';
import { makeContainerIn, makeProject } from '../../support/daemons/projects.ts';

const noBtrfs = (await btrfsMissing()) ?? (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (noBtrfs !== undefined) console.log(`skipped: limits of published images: ${noBtrfs}`);

const daemon = await seededDaemon();
beforeAll(() => daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' }));

const limited = (name: string, config: Record<string, string>): Promise<string> => makeProject(daemon, name, config);
const create = (project: string, name: string, more: object = {}): Promise<Answer> =>
  daemon.call('POST', `/1.0/containers?project=${project}`, { name, source: emptySource, ...more });
const at = (project: string, name: string): string => `/1.0/containers/${name}?project=${project}`;
const usage = async (project: string): Promise<Record<string, { Limit: number; Usage: number }>> =>
  (await daemon.get(`/1.0/projects/${project}/state`)).resources;

/** The operation, or the refusal, ends with 403 and this text. */
async function refused(answer: Promise<Answer>, text: string | RegExp): Promise<void> {
  const { status, body, bytes } = await answer;
  expect([status, bytes.toString()]).toEqual([403, expect.stringMatching(text)]);
  expect(body.error_code).toBe(403);
}

describe('the number of containers', () => {
  test('is a limit of creation, and of the project itself', async () => {
    await limited('count', { 'limits.containers': '1' });
    await makeContainerIn(daemon, 'count', 'a');
    await refused(create('count', 'b'), /limits\.containers would be 2, and the project count has at most 1/);
    const put = await daemon.call('PATCH', '/1.0/projects/count', { config: { 'limits.containers': '0' } });
    expect([put.status, put.bytes.toString()]).toEqual([400, expect.stringContaining('would be 1')]);
    await daemon.ok('DELETE', at('count', 'a'));
    await makeContainerIn(daemon, 'count', 'b');
  });

  test('holds when many ask for the last place at once', async () => {
    await limited('race', { 'limits.containers': '3' });
    const asked = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const answer = await create('race', `c${index}`);
        return answer.status === 202 ? (await daemon.wait(answer.body.operation)).status : 'refused';
      }),
    );
    expect(asked.filter((status) => status === 'Success')).toHaveLength(3);
    expect(await daemon.get('/1.0/containers?project=race')).toHaveLength(3);
  });
});

describe('a container from elsewhere', () => {
  test('is refused by the limits of the project it is copied or moved to, before anything is done', async () => {
    await limited('full', { 'limits.containers': '1' });
    await limited('from', {});
    await makeContainerIn(daemon, 'full', 'a');
    await makeContainerIn(daemon, 'from', 'b');
    const copied = create('full', 'b', { source: { type: 'copy', source: 'b', project: 'from' } });
    await refused(copied, 'limits.containers would be 2');
    const moved = await daemon.call('POST', at('from', 'b'), { name: 'b', migration: true, project: 'full' });
    const published = moved.status === 202 ? (await daemon.wait(moved.body.operation)).err : moved.bytes.toString();
    expect(published).toContain('limits.containers would be 2, and the project full has at most 1');
    expect(await daemon.get('/1.0/containers?project=full')).toHaveLength(1);
    expect((await daemon.get(at('from', 'b'))).status).toBe('Stopped');
  });

  test('counts once when it is renamed', async () => {
    await limited('renamed', { 'limits.instances': '1' });
    await makeContainerIn(daemon, 'renamed', 'a');
    await daemon.ok('POST', at('renamed', 'a'), { name: 'c' });
    expect((await usage('renamed'))['instances']).toEqual({ Limit: 1, Usage: 1 });
  });
});

test('custom volumes count, and need a size', async () => {
  await limited('volumes', { 'limits.disk.pool.other': '2GiB' });
  const path = '/1.0/storage-pools/other/volumes/custom?project=volumes';
  await refused(daemon.call('POST', path, { name: 'v' }), 'config.size is required');
  expect(await daemon.get(path)).toEqual([]);
});

test('copies and moves of volumes into a full project are refused before they start', async () => {
  await limited('roomy', {});
  await limited('tight', { 'limits.disk.pool.other': '1GiB' });
  const volumes = (pool: string): string => `/1.0/storage-pools/${pool}/volumes/custom`;
  await daemon.call('POST', `${volumes('other')}?project=roomy`, { name: 'v' });
  const source = { type: 'copy', pool: 'other', name: 'v', project: 'roomy' };
  const copied = daemon.call('POST', `${volumes('other')}?project=tight`, { name: 'c', source });
  await refused(copied, 'config.size is required');
  const moved = { name: 'v', pool: 'other', project: 'tight' };
  await refused(daemon.call('POST', `${volumes('other')}/v?project=roomy`, moved), 'config.size is required');
  expect(await daemon.get(`${volumes('other')}?project=tight`)).toEqual([]);
  expect(await daemon.get(`${volumes('other')}?project=roomy`)).toHaveLength(1);
});

describe('an image larger than the remaining disk limit', () => {
  const left = 4 * 1024 ** 2;
  const files = (): string[] => readdirSync(join(daemon.dir, 'images/.uploads'));
  beforeAll(() => limited('images', { 'limits.disk': '4MiB' }));

  /** How much the daemon reads of an endless upload. */
  const pour = async (headers: Record<string, string>, head: string): Promise<{ answer: Answer; sent: number }> => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const source = Readable.from(
      (async function* () {
        yield Buffer.from(head);
        for (; sent < 100 * left; sent += chunk.length) yield chunk;
      })(),
    );
    return { answer: await daemon.call('POST', '/1.0/images?project=images', source, headers), sent };
  };

  test.each([
    ['in one', { 'content-type': 'application/octet-stream' }, ''],
    [
      'in two parts',
      { 'content-type': 'multipart/form-data; boundary=b' },
      '--b\r\ncontent-disposition: form-data; name="metadata"; filename="m"\r\n\r\n',
    ],
  ])('is refused while it comes, and leaves nothing (%s)', async (_how, headers, head) => {
    const { answer, sent } = await pour(headers, head);
    await refused(Promise.resolve(answer), /the image is larger than the 4.*MiB that are left of 4.*MiB/);
    expect(sent).toBeLessThan(100 * left);
    expect(files()).toEqual([]);
    expect(await daemon.get('/1.0/images?project=images')).toEqual([]);
  });

  test('is refused in advance if it announces its length', async () => {
    const answer = daemon.call('POST', '/1.0/images?project=images', Buffer.alloc(left + 1), {
      'content-type': 'application/octet-stream',
    });
    await refused(answer, /larger than/);
  });

  test('an image that fits is accepted', async () => {
    const image = tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory);
    await daemon.ok('POST', '/1.0/images?project=images', image, { 'content-type': 'application/octet-stream' });
    expect((await usage('images'))['disk']).toEqual({ Limit: left, Usage: image.length });
  });
});

describe('an upload larger than the 4 MiB left in a project', () => {
  const tooLarge = tarOf({ ...metadataFile, content: goodMetadata }, rootfsDirectory, {
    name: 'rootfs/noise',
    content: randomBytes(6 * 1024 ** 2),
    mode: 0o644,
  });
  const uploads = (): string[] =>
    ['images', 'backups'].flatMap((dir) => {
      const path = join(daemon.dir, dir, '.uploads');
      return existsSync(path) ? readdirSync(path) : [];
    });
  const fails = async (answer: Answer): Promise<void> => {
    expect([answer.status, answer.bytes.toString()]).toEqual([202, expect.anything()]);
    const { status, err } = await daemon.wait(answer.body.operation);
    expect([status, err]).toEqual([
      'Failure',
      expect.stringMatching(/the image is larger than the 4.*MiB that are left/),
    ]);
  };
  const upload = (bytes: Buffer | Readable, path: string): Promise<Answer> =>
    daemon.call('POST', path, bytes, { 'content-type': 'application/octet-stream' });
  beforeAll(() => limited('narrow', { 'limits.disk': '4MiB' }));

  test('an image of another server is aborted, and leaves nothing', async () => {
    const server = await fakeServer('http', serveDirect(tooLarge, { location: '/files/image.tar' }));
    try {
      const source = { type: 'url', url: `${server.url}/image` };
      await fails(await daemon.call('POST', '/1.0/images?project=narrow', { source }));
    } finally {
      await server.close();
    }
    expect(await daemon.get('/1.0/images?project=narrow')).toEqual([]);
    expect(uploads()).toEqual([]);
  });

  test('a backup is refused in advance if it announces its length, otherwise during the upload', async () => {
    const path = '/1.0/containers?project=narrow';
    await refused(upload(tooLarge, path), /the backup is larger than the 4.*MiB that are left of 4.*MiB/);
    const inPieces = Readable.from([tooLarge.subarray(0, 1024), tooLarge.subarray(1024)]);
    await refused(upload(inPieces, path), /the backup is larger than/);
    expect(uploads()).toEqual([]);
  });

  test.skipIf(noBtrfs !== undefined).each(['none', 'gzip'])(
    'an image that is published (%s) breaks off, and leaves nothing',
    async (compression_algorithm) => {
      await daemon.call('POST', '/1.0/storage-pools', { name: 'sized', driver: 'btrfs', config: { size: '256MiB' } });
      const devices = { root: { type: 'disk', path: '/', pool: 'sized', size: '60MiB' } };
      const [wide, tight] = [`wide-${compression_algorithm}`, `tight-${compression_algorithm}`];
      await limited(wide, {});
      const added = await upload(tooLarge, `/1.0/images?project=${wide}`);
      const { metadata } = await daemon.wait(added.body.operation);
      const source = { type: 'image', fingerprint: metadata?.['fingerprint'] };
      await makeContainerIn(daemon, wide, 'c', { source, devices });
      await makeProject(daemon, tight, {});
      const copy = { type: 'copy', source: 'c', project: wide };
      await makeContainerIn(daemon, tight, 'c', { source: copy, devices });
      const profile = `/1.0/profiles/default?project=${tight}`;
      expect((await daemon.call('PUT', profile, { devices })).status).toBe(200);
      const config = { 'limits.disk': '64MiB' };
      expect((await daemon.call('PATCH', `/1.0/projects/${tight}`, { config })).status).toBe(200);
      const body = { source: { type: 'container', name: 'c' }, compression_algorithm };
      await fails(await daemon.call('POST', `/1.0/images?project=${tight}`, body));
      expect(await daemon.get(`/1.0/images?project=${tight}`)).toEqual([]);
      expect(uploads()).toEqual([]);
    },
  );
});

describe('memory', () => {
  test('is required on each container, summed up, and freed again', async () => {
    await limited('memory', { 'limits.memory': '1GiB' });
    await refused(create('memory', 'a'), 'config.limits.memory is required');
    await refused(create('memory', 'a', { config: { 'limits.memory': '50%' } }), 'not a share of the host');
    await makeContainerIn(daemon, 'memory', 'a', { config: { 'limits.memory': '768MiB' } });
    await refused(create('memory', 'b', { config: { 'limits.memory': '512MiB' } }), 'would be 1.25GiB');
    await refused(daemon.call('PATCH', at('memory', 'a'), { config: { 'limits.memory': '2GiB' } }), 'would be 2GiB');
    await refused(daemon.call('PUT', at('memory', 'a'), { profiles: ['default'] }), 'is required');
    expect((await daemon.call('PATCH', at('memory', 'a'), { config: { 'limits.memory': '512MiB' } })).status).toBe(200);
    await makeContainerIn(daemon, 'memory', 'b', { config: { 'limits.memory': '512MiB' } });
    expect((await usage('memory'))['memory']).toEqual({ Limit: 1024 ** 3, Usage: 1024 ** 3 });
  });

  test('memory from a profile counts, and the profile cannot exceed the limit', async () => {
    await limited('profiled', { 'limits.memory': '1GiB' });
    const root = { type: 'disk', path: '/', pool: 'default' };
    const profile = '/1.0/profiles/default?project=profiled';
    const give = (memory: string): Promise<Answer> =>
      daemon.call('PUT', profile, { config: { 'limits.memory': memory }, devices: { root } });
    expect((await give('512MiB')).status).toBe(200);
    await makeContainerIn(daemon, 'profiled', 'a');
    await makeContainerIn(daemon, 'profiled', 'b');
    await refused(give('600MiB'), 'limits.memory would be 1.17GiB');
    await refused(daemon.call('PUT', profile, { devices: { root } }), 'container a: config.limits.memory is required');
  });

  test('memory of a snapshot counts before it is restored', async () => {
    await limited('then', { 'limits.memory': '1GiB' });
    await makeContainerIn(daemon, 'then', 'a', { config: { 'limits.memory': '1GiB' } });
    await daemon.ok('POST', '/1.0/containers/a/snapshots?project=then', { name: 's' });
    expect((await daemon.call('PATCH', at('then', 'a'), { config: { 'limits.memory': '512MiB' } })).status).toBe(200);
    await makeContainerIn(daemon, 'then', 'b', { config: { 'limits.memory': '512MiB' } });
    await refused(daemon.call('PUT', at('then', 'a'), { restore: 's' }), 'would be 1.5GiB|would be 1.50GiB');
    expect((await daemon.get(at('then', 'a'))).config['limits.memory']).toBe('512MiB');
  });
});

test('a disk limit requires the size of each root disk, in all pools or one', async () => {
  await limited('disk', { 'limits.disk': '1GiB' });
  await refused(create('disk', 'a'), 'devices.root.size is required');
  await limited('pool', { 'limits.disk.pool.other': '1GiB' });
  await makeContainerIn(daemon, 'pool', 'a');
  const root = { type: 'disk', path: '/', pool: 'other' };
  await refused(create('pool', 'b', { devices: { root } }), 'devices.root.size is required');
  expect((await usage('pool'))['disk.other']).toEqual({ Limit: 1024 ** 3, Usage: 0 });
});

describe('a restricted project', () => {
  test('refuses what reaches the host, all problems at once, on containers and profiles', async () => {
    await limited('strict', { restricted: 'true' });
    const config = {
      'raw.lxc': 'lxc.apparmor.profile=unconfined',
      'security.nesting': 'true',
      'security.privileged': 'true',
    };
    const devices = {
      path: { type: 'disk', path: '/mnt', source: '/etc' },
      proxy: { type: 'proxy', listen: 'tcp:0.0.0.0:80', connect: 'tcp:127.0.0.1:80' },
    };
    const answer = await create('strict', 'a', { config, devices });
    expect(answer.status).toBe(403);
    const text = answer.bytes.toString();
    for (const part of [
      'config.raw.lxc',
      'config.security.nesting',
      'config.security.privileged',
      'devices.path.source',
      'devices.proxy',
    ])
      expect(text).toContain(part);
    await refused(
      daemon.call('POST', '/1.0/profiles?project=strict', { name: 'p', config }),
      /config\.raw\.lxc is not allowed.*config\.security\.nesting/,
    );
    await makeContainerIn(daemon, 'strict', 'b');
    await refused(daemon.call('PATCH', at('strict', 'b'), { config }), 'config.raw.lxc is not allowed');
    await refused(daemon.call('PATCH', at('strict', 'b'), { devices }), 'devices.proxy');
  });

  test('has no snapshots and backups unless they are allowed', async () => {
    await limited('kept', { restricted: 'true' });
    await makeContainerIn(daemon, 'kept', 'a');
    const volumes = '/1.0/storage-pools/default/volumes/custom';
    await daemon.call('POST', `${volumes}?project=kept`, { name: 'v' });
    // Before their operations start: there is nothing to wait for.
    const barred = 'snapshot a/s is not allowed in the project kept (restricted.snapshots is block)';
    for (const [path, body, text] of [
      ['/1.0/containers/a/snapshots', { name: 's' }, barred.replaceAll(/[()]/g, '.')],
      ['/1.0/containers/a/snapshots', {}, 'snapshot a/snap0 is not allowed'],
      ['/1.0/containers/a/backups', { name: 'b' }, 'backup a/b is not allowed'],
      [`${volumes}/v/snapshots`, { name: 's' }, 'snapshot default/v/s is not allowed'],
      [`${volumes}/v/snapshots`, {}, 'snapshot default/v/snap0 is not allowed'],
    ] as const)
      await refused(daemon.call('POST', `${path}?project=kept`, body), new RegExp(text));
    expect(await daemon.get('/1.0/containers/a/snapshots?project=kept')).toEqual([]);
    await daemon.call('PATCH', '/1.0/projects/kept', { config: { 'restricted.snapshots': 'allow' } });
    await daemon.ok('POST', '/1.0/containers/a/snapshots?project=kept', { name: 's' });
    const back = await daemon.call('PATCH', '/1.0/projects/kept', { config: { 'restricted.snapshots': 'block' } });
    expect([back.status, back.bytes.toString()]).toEqual([400, expect.stringContaining('snapshot a/s')]);
  });

  test('cannot become restricted while its contents are not', async () => {
    await limited('loose', {});
    await makeContainerIn(daemon, 'loose', 'a', { config: { 'security.nesting': 'true' } });
    const answer = await daemon.call('PATCH', '/1.0/projects/loose', { config: { restricted: 'true' } });
    expect([answer.status, answer.bytes.toString()]).toEqual([
      400,
      expect.stringContaining('container a: config.security.nesting'),
    ]);
    expect((await daemon.get('/1.0/projects/loose')).config.restricted).toBeUndefined();
  });

  test('may show allowed paths of the host, and no link that leads out of them', async () => {
    const dir = join(daemon.dir, 'shared');
    mkdirSync(join(dir, 'inside'), { recursive: true });
    symlinkSync('/etc', join(dir, 'out'));
    await limited('paths', {
      restricted: 'true',
      'restricted.devices.disk': 'allow',
      'restricted.devices.disk.paths': dir,
    });
    const disk = (source: string) => ({ devices: { d: { type: 'disk', path: '/mnt', source } } });
    await makeContainerIn(daemon, 'paths', 'a', disk(join(dir, 'inside')));
    // A link changed later is noticed before the container gets the path.
    rmSync(join(dir, 'inside'), { recursive: true });
    symlinkSync('/etc', join(dir, 'inside'));
    const started = await daemon.run('PUT', '/1.0/containers/a/state?project=paths', { action: 'start' });
    expect(started.err).toContain('devices.d.source');
    await refused(create('paths', 'b', disk(join(dir, 'out'))), 'devices.d.source');
    await refused(create('paths', 'b', disk(`${dir}2`)), 'devices.d.source');
    await refused(create('paths', 'b', disk('/etc')), 'devices.d.source');
  });
});

test('limits hold after a restart of the daemon', async () => {
  await limited('again', { 'limits.containers': '1' });
  await makeContainerIn(daemon, 'again', 'a');
  await daemon.restart();
  await refused(create('again', 'b'), 'limits.containers');
});

test('the state of a project shows each limit with its use, and -1 where there is none', async () => {
  await limited('shown', { 'limits.cpu': '4' });
  await makeContainerIn(daemon, 'shown', 'a', { config: { 'limits.cpu': '3', 'limits.processes': '10' } });
  const none = (Usage: number) => ({ Limit: -1, Usage });
  expect(await usage('shown')).toEqual({
    containers: none(1),
    cpu: { Limit: 4, Usage: 3 },
    disk: none(0),
    instances: none(1),
    memory: none(0),
    networks: none(0),
    processes: none(10),
    'virtual-machines': none(0),
  });
  expect((await daemon.call('GET', '/1.0/projects/nowhere/state')).status).toBe(404);
});

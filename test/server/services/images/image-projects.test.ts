// Images and aliases of projects: what each sees, that files are shared and go with the last, and that no project finds another's.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Operation } from '../../../../server/api/operation.ts';
import { type Answer, type Json } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeContainerIn, makeProject } from '../../../support/daemons/projects.ts';
import { callTls } from '../../../support/daemons/tls.ts';
import { goodMetadata, rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';
import { until } from '../../../support/until.ts';

const daemon = await seededDaemon({ https: '127.0.0.1:0' });
beforeAll(async () => {
  for (const name of ['red', 'blue']) await makeProject(daemon, name);
  await makeProject(daemon, 'guestly', { 'features.images': 'false' });
});

let count = 0;
function tarball(): Buffer {
  const content = `${goodMetadata}properties: {n: "project ${(count += 1)}"}\n`;
  return tarOf({ name: 'metadata.yaml', content, mode: 0o644 }, rootfsDirectory, { name: 'rootfs/a', content: 'x' });
}
const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const at = (path: string, project: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(project)}`;
const upload = (project: string, bytes: Buffer, headers: Record<string, string> = {}): Promise<Operation> =>
  daemon.run('POST', at('/1.0/images', project), bytes, headers);
async function uploaded(project: string, bytes = tarball(), headers: Record<string, string> = {}): Promise<string> {
  const operation = await upload(project, bytes, headers);
  expect([operation.status, operation.err]).toEqual(['Success', '']);
  return sha(bytes);
}
const remove = (project: string, fingerprint: string): Promise<Operation> =>
  daemon.ok('DELETE', at(`/1.0/images/${fingerprint}`, project));
const fingerprints = async (project: string): Promise<string[]> =>
  ((await daemon.get(at('/1.0/images?recursion=1', project))) as Json[]).map((image) => image.fingerprint as string);
const file = (fingerprint: string): string => join(daemon.dir, 'images', fingerprint);
const unpacked = (fingerprint: string): boolean =>
  existsSync(join(daemon.dir, 'storage-pools/default/images', fingerprint));
const useIn = (project: string, name: string, source: object): Promise<Operation> =>
  makeContainerIn(daemon, project, name, { source: { type: 'image', ...source } });

describe('an image of two projects', () => {
  test('has two records with their own settings and aliases', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes, { 'x-svc-aliases': 'alias=mine/a', 'x-svc-filename': 'red.tar' });
    await uploaded('blue', bytes, { 'x-svc-aliases': 'alias=mine/a', 'x-svc-public': 'true' });
    const [red, blue] = [
      await daemon.get(at(`/1.0/images/${fingerprint}`, 'red')),
      await daemon.get(at(`/1.0/images/${fingerprint}`, 'blue')),
    ];
    expect(red).toMatchObject({ public: false, filename: 'red.tar', aliases: [{ name: 'mine/a' }] });
    expect(blue).toMatchObject({ public: true, filename: '', aliases: [{ name: 'mine/a' }] });
    expect(await daemon.get(at('/1.0/images', 'red'))).toContain(`/1.0/images/${fingerprint}?project=red`);
    expect(await daemon.get(at('/1.0/images/aliases', 'red'))).toEqual(['/1.0/images/aliases/mine/a?project=red']);
    await daemon.call('PATCH', at(`/1.0/images/${fingerprint}`, 'red'), { properties: { only: 'red' } });
    expect((await daemon.get(at(`/1.0/images/${fingerprint}`, 'blue'))).properties).not.toHaveProperty('only');
    expect((await daemon.get('/1.0/images')) as string[]).not.toContain(`/1.0/images/${fingerprint}`);
    const all = (await daemon.get('/1.0/images?recursion=1&all-projects=true')) as Json[];
    expect(all.filter((image) => image.fingerprint === fingerprint).map((image) => image.project as string)).toEqual([
      'blue',
      'red',
    ]);
  });

  test('is stored once; files and unpacked copies go with the last project', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes);
    await uploaded('blue', bytes);
    await useIn('red', 'first', { fingerprint });
    // The first container does not wait until the unpacked copy is on the disk.
    await until(() => unpacked(fingerprint));
    await remove('red', fingerprint);
    expect(await fingerprints('red')).not.toContain(fingerprint);
    expect([existsSync(file(fingerprint)), unpacked(fingerprint)]).toEqual([true, true]);
    await useIn('blue', 'second', { fingerprint: fingerprint.slice(0, 12) });
    expect((await daemon.get(at('/1.0/containers/second', 'blue'))).config).toMatchObject({
      'volatile.base_image': fingerprint,
    });
    await remove('blue', fingerprint);
    expect([existsSync(file(fingerprint)), unpacked(fingerprint)]).toEqual([false, false]);
  });

  test('an image that is deleted in both projects, or added in one, concurrently is complete or gone', async () => {
    for (let round = 0; round < 12; round += 1) {
      const bytes = tarball();
      const fingerprint = await uploaded('red', bytes);
      await uploaded('blue', bytes);
      const third = round % 2 === 0 ? [] : [upload('default', bytes)];
      await Promise.all([remove('red', fingerprint), remove('blue', fingerprint), ...third]);
      expect(existsSync(file(fingerprint))).toBe(third.length > 0);
      if (third.length === 0) continue;
      expect(sha((await daemon.call('GET', `/1.0/images/${fingerprint}/export`)).bytes)).toBe(fingerprint);
      await remove('default', fingerprint);
      expect(existsSync(file(fingerprint))).toBe(false);
    }
  });

  test('a damaged image of two projects is repaired for all once any project uploads it again', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes);
    await uploaded('blue', bytes);
    for (const project of ['blue', 'default']) {
      writeFileSync(file(fingerprint), 'damaged');
      expect((await daemon.call('GET', at(`/1.0/images/${fingerprint}/export`, 'red'))).status).toBe(500);
      expect((await upload(project, bytes)).status).toBe('Success');
      const exported = await daemon.call('GET', at(`/1.0/images/${fingerprint}/export`, 'red'));
      expect(sha(exported.bytes)).toBe(fingerprint);
    }
  });

  test('keeps its file over restarts, which remove the file of no image', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes);
    writeFileSync(join(daemon.dir, 'images', 'f'.repeat(64)), 'nobody has it');
    await daemon.restart();
    expect(readdirSync(join(daemon.dir, 'images'))).not.toContain('f'.repeat(64));
    expect(await readFile(file(fingerprint))).toEqual(bytes);
    expect(await fingerprints('red')).toContain(fingerprint);
  });
});

describe('an image of another project', () => {
  const missing = '0'.repeat(64);
  /** Every way to an image by its fingerprint, or a beginning of it; the body may name it, too. */
  const ways: readonly (readonly [name: string, ask: (fingerprint: string) => readonly [string, string, object?]])[] = [
    ['get', (image) => ['GET', `/1.0/images/${image}`]],
    ['prefix', (image) => ['GET', `/1.0/images/${image.slice(0, 20)}`]],
    ['export', (image) => ['GET', `/1.0/images/${image}/export`]],
    ['secret', (image) => ['POST', `/1.0/images/${image}/secret`, {}]],
    ['refresh', (image) => ['POST', `/1.0/images/${image}/refresh`, {}]],
    ['put', (image) => ['PUT', `/1.0/images/${image}`, { public: true }]],
    ['patch', (image) => ['PATCH', `/1.0/images/${image}`, { public: true }]],
    ['delete', (image) => ['DELETE', `/1.0/images/${image}`]],
    ['alias of it', (target) => ['POST', '/1.0/images/aliases', { name: 'stolen', target }]],
    ['container', (fingerprint) => ['POST', '/1.0/containers', { name: 'c', source: { type: 'image', fingerprint } }]],
    ['volume', (image) => ['GET', `/1.0/storage-pools/default/volumes/image/${image}`]],
    ['volume deleted', (image) => ['DELETE', `/1.0/storage-pools/default/volumes/image/${image}`]],
    ['qualified name', (image) => ['GET', `/1.0/images/red%25${image}`]],
    ['name qualified twice', (image) => ['GET', `/1.0/images/blue%25red%25${image}`]],
    [
      'qualified container source',
      (image) => ['POST', '/1.0/containers', { name: 'c', source: { type: 'image', fingerprint: `red%${image}` } }],
    ],
  ];

  test.each(ways)('is answered like a missing one: %s', async (_name, ask) => {
    const fingerprint = await uploaded('red', tarball(), { 'x-svc-public': 'true' });
    await useIn('red', `u${fingerprint.slice(0, 8)}`, { fingerprint });
    const answers: unknown[] = [];
    for (const image of [fingerprint, missing]) {
      const [method, path, body] = ask(image);
      const { status, bytes } = await daemon.call(method, at(path, 'blue'), body);
      answers.push([status, bytes.toString().replaceAll(image.slice(20), 'IMAGE').replaceAll(image.slice(0, 20), '')]);
    }
    expect(answers[0]).toEqual([404, expect.stringContaining('was not found')]);
    expect(answers[0]).toEqual(answers[1]);
    expect(await daemon.get(at(`/1.0/images/${fingerprint}`, 'red'))).toMatchObject({ public: true });
  });

  test('has aliases and properties that other projects do not find', async () => {
    const fingerprint = await uploaded('red', tarball(), {
      'x-svc-aliases': 'alias=secret/name',
      'x-svc-properties': 'team=red',
    });
    const alias = { alias: 'secret/name' };
    expect((await daemon.call('GET', at('/1.0/images/aliases/secret/name', 'blue'))).status).toBe(404);
    expect((await daemon.call('GET', at('/1.0/images/aliases/red%25secret/name', 'blue'))).status).toBe(404);
    const make = (source: object): Promise<Answer> =>
      daemon.call('POST', at('/1.0/containers', 'blue'), { name: 'c', source: { type: 'image', ...source } });
    expect((await make(alias)).status).toBe(404);
    expect((await make({ alias: 'red%secret/name' })).status).toBe(404);
    expect((await make({ properties: { team: 'red' } })).status).toBe(400);
    expect((await useIn('red', 'byalias', alias)).status).toBe('Success');
    expect((await useIn('red', 'byproperty', { properties: { team: 'red' } })).status).toBe('Success');
    expect(
      (await daemon.call('POST', at('/1.0/images/aliases', 'blue'), { name: 'a%b', target: fingerprint })).status,
    ).toBe(400);
  });

  test('does not make a prefix ambiguous', async () => {
    const mine = await uploaded('red');
    for (let tries = 0; tries < 40; tries += 1) await uploaded('blue');
    expect((await daemon.get(at(`/1.0/images/${mine}`, 'red'))).fingerprint).toBe(mine);
    const others = (await fingerprints('blue')).map((fingerprint) => fingerprint.slice(0, 1));
    const first = (await fingerprints('red')).filter((one) => others.includes(one.slice(0, 1)));
    const alone = first.find((one) => first.filter((other) => other.slice(0, 1) === one.slice(0, 1)).length === 1);
    if (alone !== undefined)
      expect((await daemon.get(at(`/1.0/images/${alone.slice(0, 1)}`, 'red'))).fingerprint).toBe(alone);
  });

  test('is not read with a secret of the same image elsewhere', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes);
    await uploaded('blue', bytes);
    const answer = await daemon.call('POST', at(`/1.0/images/${fingerprint}/secret`, 'blue'), {});
    const { secret } = answer.metadata.metadata as { readonly secret: string };
    const asGuest = async (project: string): Promise<number> =>
      (
        await callTls(
          daemon.daemon.httpsAddress() ?? '',
          'GET',
          at(`/1.0/images/${fingerprint}/export?secret=${secret}`, project),
        )
      ).status;
    expect(await asGuest('red')).toBe(404);
    expect(await asGuest('default')).toBe(404);
    expect(await asGuest('blue')).toBe(200);
  });

  test('is seen by guests only in its project, when it is public', async () => {
    const shown = await uploaded('red', tarball(), { 'x-svc-public': 'true', 'x-svc-aliases': 'alias=shown' });
    const hidden = await uploaded('red');
    const asGuest = (path: string): Promise<Answer> => callTls(daemon.daemon.httpsAddress() ?? '', 'GET', path);
    const listOf = async (path: string): Promise<string[]> => (await asGuest(path)).metadata as string[];
    expect(await listOf(at('/1.0/images', 'red'))).toContain(`/1.0/images/${shown}?project=red`);
    expect(await listOf(at('/1.0/images', 'red'))).not.toContain(`/1.0/images/${hidden}?project=red`);
    for (const path of ['/1.0/images', at('/1.0/images', 'blue'), '/1.0/images?all-projects=true'])
      expect((await listOf(path)).filter((url) => url.includes(shown))).toEqual([]);
    expect((await asGuest(at('/1.0/images/aliases/shown', 'red'))).status).toBe(200);
    expect((await asGuest('/1.0/images/aliases/shown')).status).toBe(404);
  });

  test('does not show in the volumes of a pool, even when both have it', async () => {
    const bytes = tarball();
    const fingerprint = await uploaded('red', bytes);
    await uploaded('blue', bytes);
    await useIn('red', 'unpacker', { fingerprint });
    const url = `/1.0/storage-pools/default/volumes/image/${fingerprint}`;
    const volumes = async (project: string): Promise<string[]> =>
      (await daemon.get(at('/1.0/storage-pools/default/volumes', project))) as string[];
    expect(await volumes('red')).toContain(`${url}?project=red`);
    expect((await volumes('blue')).filter((each) => each.includes(fingerprint))).toEqual([]);
    expect((await daemon.call('GET', at(url, 'blue'))).status).toBe(404);
    await useIn('blue', 'unpacker', { fingerprint });
    expect(await volumes('blue')).toContain(`${url}?project=blue`);
    expect((await daemon.get('/1.0/storage-pools/default')).used_by).toEqual(
      expect.arrayContaining([`/1.0/images/${fingerprint}?project=blue`, `/1.0/images/${fingerprint}?project=red`]),
    );
    expect((await daemon.call('DELETE', at(url, 'blue'))).status).toBe(200);
    expect([unpacked(fingerprint), (await volumes('blue')).includes(`${url}?project=blue`)]).toEqual([true, false]);
    expect((await daemon.call('DELETE', at(url, 'red'))).status).toBe(200);
    expect(unpacked(fingerprint)).toBe(false);
  });
});

describe('a project without images of its own', () => {
  test('uses those of the project default, and uploads into it', async () => {
    const fingerprint = await uploaded('guestly', tarball(), { 'x-svc-aliases': 'alias=common' });
    expect(await fingerprints('default')).toContain(fingerprint);
    expect(await fingerprints('guestly')).toEqual(await fingerprints('default'));
    expect(await daemon.get(at('/1.0/images/aliases', 'guestly'))).toContain('/1.0/images/aliases/common');
    expect((await useIn('guestly', 'c', { alias: 'common' })).status).toBe('Success');
    await remove('guestly', fingerprint);
    expect(await fingerprints('default')).not.toContain(fingerprint);
  });
});

describe('copying an image between projects', () => {
  const copy = (from: string, to: string, source: object, more: object = {}): Promise<Answer> =>
    daemon.call('POST', at('/1.0/images', to), { source: { type: 'image', project: from, ...source }, ...more });

  test('makes a record with its properties, and its aliases when wished', async () => {
    const fingerprint = await uploaded('red', tarball(), {
      'x-svc-aliases': 'alias=to-copy',
      'x-svc-properties': 'team=red',
    });
    const answer = await copy('red', 'blue', { alias: 'to-copy' }, { copy_aliases: true, public: true });
    expect(answer.status).toBe(202);
    expect(await daemon.wait(answer.body.operation as string)).toMatchObject({ status: 'Success', err: '' });
    expect(await daemon.get(at(`/1.0/images/${fingerprint}`, 'blue'))).toMatchObject({
      public: true,
      cached: false,
      properties: { team: 'red' },
      aliases: [{ name: 'to-copy' }],
    });
    await remove('red', fingerprint);
    const exported = await daemon.call('GET', at(`/1.0/images/${fingerprint}/export`, 'blue'));
    expect(sha(exported.bytes)).toBe(fingerprint);
  });

  test('is refused into itself, from no project, and of no image', async () => {
    const fingerprint = await uploaded('red');
    expect((await copy('red', 'red', { fingerprint })).metadata.message).toMatch(/both use those of red/);
    expect((await copy('default', 'guestly', { fingerprint })).status).toBe(400);
    expect((await copy('nowhere', 'blue', { fingerprint })).status).toBe(404);
    expect((await copy('default', 'blue', { fingerprint })).status).toBe(404);
    expect((await copy('red%blue', 'blue', { fingerprint })).status).toBe(404);
    expect((await copy('red', 'blue', { fingerprint }, { auto_update: true })).status).toBe(400);
  });
});

test('a container of a project is published into it', async () => {
  await makeContainerIn(daemon, 'red', 'published');
  await makeContainerIn(daemon, 'blue', 'foreign');
  const publish = (project: string, name: string): Promise<Answer> =>
    daemon.call('POST', at('/1.0/images', project), {
      source: { type: 'container', name },
      aliases: [{ name: 'of-mine' }],
    });
  expect((await publish('red', 'foreign')).status).toBe(404);
  expect((await publish('red', 'blue%foreign')).status).toBe(404);
  const answer = await publish('red', 'published');
  const operation = await daemon.wait(answer.body.operation as string);
  expect([operation.status, operation.err]).toEqual(['Success', '']);
  expect(operation.resources).toEqual({ containers: ['/1.0/containers/published?project=red'] });
  expect((await daemon.get(at('/1.0/images/aliases/of-mine', 'red'))).target).toBe(operation.metadata?.['fingerprint']);
  expect((await daemon.call('GET', '/1.0/images/aliases/of-mine')).status).toBe(404);
});

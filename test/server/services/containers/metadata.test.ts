// Metadata and templates of containers over the real daemon (spec 2.8, 4.6), and the files rendered from templates (real system 14.2).
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Answer, createContainer, type Json, setState } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { rootfsDirectory, tarOf } from '../../../support/images/hostile.ts';

const daemon = await seededDaemon();
let fingerprint = '';

const metadataYaml = `architecture: x86_64
creation_date: 1700000000
properties: {os: tiny, release: "1"}
templates:
  /etc/hostname:
    when: [create, copy]
    template: hostname.tpl
  /etc/started:
    when: [start]
    template: started.tpl
    properties: {greeting: hello}
  /etc/seed:
    when: [start]
    template: seed.tpl
    properties: {default: "#cloud-config of the image"}
  /etc/deep/er/once:
    when: [create, copy, start]
    create_only: true
    template: once.tpl
`;
const templates: Record<string, string> = {
  'hostname.tpl': '{{ container.name }} by {{ trigger }}\n',
  'started.tpl':
    '{{ properties.greeting }} {{ config_get("user.who", "nobody") }} {{ path }}{% for name, device in devices %} {{ name }}:{{ device.type }}{% endfor %} {{ container.privileged }}/{{ container.ephemeral }}/{{ container.architecture }}\n',
  'seed.tpl': '{{ config_get("user.user-data", properties.default) }}|{{ config_get("cloud-init.user-data", "") }}\n',
  'once.tpl': 'made by {{ trigger }}\n',
};

const file = (name: string, content: string) => ({ name, content, mode: 0o644 });
const path = (name: string, tail = ''): string => `/1.0/containers/${name}/metadata${tail}`;
const template = (name: string, of: string): string => path(name, `/templates?path=${encodeURIComponent(of)}`);
const volume = (name: string): string => join(daemon.dir, 'storage-pools/default/containers', name);
const content = (name: string, of: string): string => readFileSync(join(volume(name), 'rootfs', of), 'utf8');
const details = (answer: Answer): string[] => (answer.metadata.details as { path: string }[]).map((one) => one.path);
const why = (answer: Answer): string => answer.metadata.message as string;
const triggerOf = async (name: string): Promise<Json> =>
  (await daemon.get(`/1.0/containers/${name}`)).config['volatile.apply_template'];

beforeAll(async () => {
  const bytes = tarOf(
    file('metadata.yaml', metadataYaml),
    rootfsDirectory,
    { name: 'rootfs/etc/', flag: '5', mode: 0o755 },
    { name: 'templates/', flag: '5', mode: 0o755 },
    ...Object.entries(templates).map(([name, text]) => file(`templates/${name}`, text)),
  );
  const { metadata } = await daemon.ok('POST', '/1.0/images', bytes);
  fingerprint = String(metadata?.['fingerprint']);
  await createContainer(daemon, 'bare');
});

const make = (name: string, more: object = {}): Promise<unknown> =>
  createContainer(daemon, name, { source: { type: 'image', fingerprint }, ...more });

describe('seeds of cloud-init in templates', () => {
  test.each([
    ['neither key', {}, '#cloud-config of the image|\n'],
    ['user.user-data', { 'user.user-data': 'old' }, 'old|\n'],
    [
      'cloud-init.user-data, which counts instead',
      { 'user.user-data': 'old', 'cloud-init.user-data': 'new' },
      'new|new\n',
    ],
    ['cloud-init.user-data of an older image', { 'cloud-init.user-data': 'new' }, 'new|new\n'],
    [
      'an empty cloud-init.user-data, which counts as unset',
      { 'user.user-data': 'old', 'cloud-init.user-data': '' },
      'old|\n',
    ],
  ])('with %s', async (title, config, expected) => {
    const name = `seed-${title.length}`;
    await make(name, { config });
    expect((await setState(daemon, name, 'start')).status_code).toBe(200);
    expect(content(name, 'etc/seed')).toBe(expected);
  });
});

describe('metadata', () => {
  test('is that of the image, in the shape of the spec, with an ETag', async () => {
    await make('meta');
    const answer = await daemon.call('GET', path('meta'));
    expect(answer.metadata).toMatchObject({
      architecture: 'x86_64',
      creation_date: 1700000000,
      expiry_date: 0,
      properties: { os: 'tiny', release: '1' },
    });
    expect(answer.metadata.templates['/etc/hostname']).toEqual({
      when: ['create', 'copy'],
      create_only: false,
      template: 'hostname.tpl',
      properties: {},
    });
    expect(answer.headers.etag).toMatch(/^[0-9a-f]{64}$/);
  });

  test('metadata of a container made from nothing has the facts that are known without an image', async () => {
    const { metadata } = await daemon.call('GET', path('bare'));
    expect(metadata).toEqual({
      architecture: 'x86_64',
      creation_date: expect.any(Number) as number,
      expiry_date: 0,
      properties: {},
      templates: {},
    });
    expect(metadata.creation_date).toBeGreaterThan(1.7e9);
  });

  test('is replaced when the ETag matches, and not otherwise', async () => {
    const before = await daemon.call('GET', path('meta'));
    const body = { ...before.metadata, properties: { os: 'other' } } as object;
    const old = { 'if-match': String(before.headers.etag) };
    expect((await daemon.call('PUT', path('meta'), body, old)).status).toBe(200);
    const after = await daemon.call('GET', path('meta'));
    expect(after.metadata).toEqual(body);
    expect((await daemon.call('PUT', path('meta'), before.metadata as object, old)).status).toBe(412);
    expect((await daemon.get(path('meta'))).properties).toEqual({ os: 'other' });
    expect(
      (
        await daemon.call(
          'PUT',
          path('meta'),
          { ...before.metadata },
          { 'if-match': `"${String(after.headers.etag)}"` },
        )
      ).status,
    ).toBe(200);
  });

  test('PATCH changes the sent members, single properties and templates; null removes all', async () => {
    await make('patched');
    const patch = async (body: object, headers = {}): Promise<number> =>
      (await daemon.call('PATCH', path('patched'), body, headers)).status;
    const before = await daemon.call('GET', path('patched'));
    const old = { 'if-match': String(before.headers.etag) };
    const motd = { when: ['start'], create_only: false, template: 'motd.tpl', properties: {} };
    const body = { creation_date: 5, properties: { os: 'other', more: '1' }, templates: { '/etc/motd': motd } };
    expect(await patch(body, old)).toBe(200);
    expect(await daemon.get(path('patched'))).toEqual({
      ...before.metadata,
      creation_date: 5,
      properties: { os: 'other', release: '1', more: '1' },
      templates: { ...before.metadata.templates, '/etc/motd': motd },
    });
    expect(await patch({}, old)).toBe(412);
    expect(await patch({ architecture: 'no such' })).toBe(400);
    expect(await patch({ properties: null, templates: null })).toBe(200);
    expect(await daemon.get(path('patched'))).toMatchObject({ creation_date: 5, properties: {}, templates: {} });
  });

  test('can be set on a container without any, with nulls for absent members', async () => {
    const body = { architecture: 'aarch64', creation_date: 1, properties: null, templates: null };
    expect((await daemon.call('PUT', path('bare'), body)).status).toBe(200);
    expect(await daemon.get(path('bare'))).toEqual({
      architecture: 'aarch64',
      creation_date: 1,
      expiry_date: 0,
      properties: {},
      templates: {},
    });
    rmSync(join(volume('bare'), 'metadata.yaml'));
  });

  test('is refused with every problem at its path', async () => {
    const answer = await daemon.call('PUT', path('meta'), {
      architecture: 'abacus',
      creation_date: 0,
      expiry_date: -1,
      templates: {
        'etc/x': { when: ['sometimes'], template: '../../shadow' },
        '/a/../b': { when: ['start'], template: '' },
      },
    });
    expect(answer.status).toBe(400);
    expect(details(answer)).toEqual([
      'architecture',
      'creation_date',
      'expiry_date',
      'templates.etc/x',
      'templates.etc/x.template',
      'templates.etc/x.when.0',
      'templates./a/../b',
      'templates./a/../b.template',
    ]);
    expect((await daemon.call('PUT', path('meta'), { architecture: 5 })).status).toBe(400);
  });

  test('metadata of an unknown container answers 404', async () => {
    expect((await daemon.call('GET', path('nobody'))).status).toBe(404);
    expect((await daemon.call('PATCH', path('nobody'), {})).status).toBe(404);
  });

  test('follows a copy and a rename', async () => {
    await createContainer(daemon, 'meta2', { source: { type: 'copy', source: 'meta' } });
    expect(await daemon.get(path('meta2'))).toEqual(await daemon.get(path('meta')));
    await daemon.ok('POST', '/1.0/containers/meta2', { name: 'meta3' });
    expect(await daemon.get(path('meta3'))).toEqual(await daemon.get(path('meta')));
  });
});

describe('templates', () => {
  beforeAll(() => make('tpl'));

  test('are listed and read', async () => {
    expect(await daemon.get(path('tpl', '/templates'))).toEqual([
      'hostname.tpl',
      'once.tpl',
      'seed.tpl',
      'started.tpl',
    ]);
    expect(await daemon.get(path('bare', '/templates'))).toEqual([]);
    const answer = await daemon.call('GET', template('tpl', 'once.tpl'));
    expect([answer.bytes.toString(), answer.headers['content-type']]).toEqual([
      templates['once.tpl'],
      'application/octet-stream',
    ]);
  });

  test('are made, replaced and removed', async () => {
    expect((await daemon.call('POST', template('tpl', 'new one'), 'first')).status).toBe(200);
    expect((await daemon.call('POST', template('tpl', 'new one'), 'again')).status).toBe(409);
    expect((await daemon.call('PUT', template('tpl', 'new one'), 'second')).status).toBe(200);
    expect((await daemon.call('GET', template('tpl', 'new one'))).bytes.toString()).toBe('second');
    expect(await daemon.call('DELETE', template('tpl', 'new one'))).toMatchObject({ status: 200, metadata: {} });
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await daemon.call(method, template('tpl', 'new one'), method === 'PUT' ? 'x' : undefined);
      expect([answer.status, why(answer)]).toEqual([404, 'The template tpl/new one was not found']);
    }
  });

  test('the first one of a container without any is fine', async () => {
    expect((await daemon.call('POST', template('bare', 'x'), 'y')).status).toBe(200);
    expect(await daemon.get(path('bare', '/templates'))).toEqual(['x']);
  });

  test.each(['../../../etc/passwd', '..', '.', 'a/b', '/etc/passwd', 'a\0b', 'x'.repeat(256)])(
    'the name %j is refused by every method',
    async (name) => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
        const body = method === 'POST' || method === 'PUT' ? 'x' : undefined;
        expect((await daemon.call(method, template('tpl', name), body)).status, method).toBe(400);
      }
    },
  );

  test('links among them are neither read nor written', async () => {
    const canary = join(daemon.dir, 'canary');
    writeFileSync(canary, 'secret of the host');
    symlinkSync(canary, join(volume('tpl'), 'templates/evil'));
    expect(await daemon.get(path('tpl', '/templates'))).not.toContain('evil');
    const read = await daemon.call('GET', template('tpl', 'evil'));
    expect(read.status).not.toBe(200);
    expect(read.bytes.toString()).not.toContain('secret');
    expect((await daemon.call('PUT', template('tpl', 'evil'), 'x')).status).toBe(404);
    expect((await daemon.call('DELETE', template('tpl', 'evil'))).status).toBe(404);
    expect(readFileSync(canary, 'utf8')).toBe('secret of the host');
    rmSync(join(volume('tpl'), 'templates/evil'));
  });

  test('a template above the limit is refused', async () => {
    const answer = await daemon.call('POST', template('tpl', 'large'), Buffer.alloc(1024 * 1024 + 1));
    expect(answer.status).toBe(400);
    expect(await daemon.get(path('tpl', '/templates'))).not.toContain('large');
  });
});

describe('a start', () => {
  const start = (name: string): Promise<unknown> => setState(daemon, name, 'start');
  const stop = (name: string): Promise<unknown> => setState(daemon, name, 'stop', { force: true });

  test('applies the templates of the creation and of every start, and only the latter the next time', async () => {
    await make('run', { config: { 'user.who': 'you' } });
    expect(await triggerOf('run')).toBe('create');
    expect(existsSync(join(volume('run'), 'rootfs/etc/hostname'))).toBe(false);
    expect(await start('run')).toMatchObject({ status: 'Success' });
    expect(await triggerOf('run')).toBeUndefined();
    expect(content('run', 'etc/hostname')).toBe('run by create\n');
    expect(content('run', 'etc/started')).toBe('hello you /etc/started root:disk false/false/x86_64\n');
    expect(content('run', 'etc/deep/er/once')).toBe('made by create\n');
    await stop('run');
    for (const name of ['etc/hostname', 'etc/started'])
      writeFileSync(join(volume('run'), 'rootfs', name), 'mine, and longer than the other');
    await daemon.call('PATCH', '/1.0/containers/run', { config: { 'user.who': '' } });
    await start('run');
    expect(content('run', 'etc/hostname')).toBe('mine, and longer than the other');
    expect(content('run', 'etc/started')).toBe('hello nobody /etc/started root:disk false/false/x86_64\n');
    expect(content('run', 'etc/deep/er/once')).toBe('made by create\n');
    await stop('run');
  });

  test('a start by a reboot from inside applies the templates of every start', async () => {
    await make('again');
    await start('again');
    for (const name of ['etc/hostname', 'etc/started']) writeFileSync(join(volume('again'), 'rootfs', name), 'mine');
    await daemon.call('PATCH', '/1.0/containers/again', { config: { 'user.who': 'later' } });
    await daemon.sim.reboot('again');
    expect(content('again', 'etc/hostname')).toBe('mine');
    expect(content('again', 'etc/started')).toMatch(/^hello later /);
    await daemon.call('PUT', template('again', 'started.tpl'), '{{ broken');
    await daemon.sim.reboot('again');
    expect((await daemon.get('/1.0/containers/again')).status).toBe('Running');
    await stop('again');
  });

  test('a start of a copy applies the templates for copies', async () => {
    await createContainer(daemon, 'run2', { source: { type: 'copy', source: 'run' } });
    expect(await triggerOf('run2')).toBe('copy');
    await start('run2');
    expect(content('run2', 'etc/hostname')).toBe('run2 by copy\n');
    expect(await triggerOf('run2')).toBeUndefined();
  });

  test('fails when a template cannot be rendered, with template, file, line and reason, and can be retried', async () => {
    await make('broken');
    await daemon.call('PUT', template('broken', 'started.tpl'), 'fine\n{{ range.constructor("return process")() }}');
    expect(await start('broken')).toMatchObject({
      status: 'Failure',
      err: 'Cannot make /etc/started of container broken from template started.tpl: line 2: something is called that cannot be called',
    });
    expect(await triggerOf('broken')).toBe('create');
    await daemon.call('DELETE', template('broken', 'started.tpl'));
    expect(await start('broken')).toMatchObject({
      err: 'Cannot make /etc/started of container broken from template started.tpl: the template is missing',
    });
    await daemon.call('POST', template('broken', 'started.tpl'), 'fine');
    expect(await start('broken')).toMatchObject({ status: 'Success' });
  });

  test('writes no file outside, whatever links the container has at its place', async () => {
    await make('links');
    const outside = join(daemon.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'hostname'), 'of the host');
    rmSync(join(volume('links'), 'rootfs/etc'), { recursive: true, force: true });
    symlinkSync(outside, join(volume('links'), 'rootfs/etc'));
    expect(await start('links')).toMatchObject({ status: 'Failure' });
    expect(readFileSync(join(outside, 'hostname'), 'utf8')).toBe('of the host');
    expect(existsSync(join(outside, 'started'))).toBe(false);
  });

  test('a folder of templates that leads out of the volume has none: what is there is neither shown, changed nor deleted', async () => {
    await make('astray');
    const outside = join(daemon.dir, 'astray');
    mkdirSync(outside);
    writeFileSync(join(outside, 'passwd'), 'of the host');
    rmSync(join(volume('astray'), 'templates'), { recursive: true });
    symlinkSync(outside, join(volume('astray'), 'templates'));
    expect(await daemon.get(path('astray', '/templates'))).toEqual([]);
    for (const method of ['DELETE', 'PUT'])
      expect([method, (await daemon.call(method, template('astray', 'passwd'), 'x')).status]).toEqual([method, 404]);
    for (const method of ['GET', 'POST'])
      expect((await daemon.call(method, template('astray', 'passwd'), 'x')).status).toBeGreaterThanOrEqual(400);
    expect(readFileSync(join(outside, 'passwd'), 'utf8')).toBe('of the host');
  });

  test('a start of a container without metadata applies no templates', async () => {
    await createContainer(daemon, 'plain');
    expect(await start('plain')).toMatchObject({ status: 'Success' });
    expect(await triggerOf('plain')).toBeUndefined();
  });
});

// `gantry import compose` on the shapes of common stacks: the result validates, applies on the simulation, and plans to nothing then.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { importCompose } from '../../../reconciler/manifest/import-compose/import-compose.ts';
import type { Json, JsonObject } from '../../../reconciler/core/documents/document.ts';
import { asText, isMap, mapOf } from '../../../reconciler/core/documents/json-values.ts';
import { cli } from '../../support/cli/io.ts';
import { makeSeeded, type TestDaemon } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const stacks = join(import.meta.dirname, '../../fixtures/compose/stacks');
const names = readdirSync(stacks).map((file) => file.replace('.yaml', ''));
const imported = (name: string) => importCompose(readFileSync(join(stacks, `${name}.yaml`), 'utf8'), '/srv/stack');
const oneOf = (name: string, kind: string, called: string): JsonObject => {
  const found = imported(name).documents.find((each) => each['kind'] === kind && each['name'] === called);
  return found ?? {};
};
const lost = (name: string): readonly string[] => imported(name).notes.map(({ line, text }) => `${line}: ${text}`);

describe('common stacks', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded();
    await daemon.call('POST', '/1.0/networks', { name: 'public' });
    await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'my-grafana' });
  });
  afterAll(() => daemon?.cleanUp());

  test.each(names)('the stack %s is imported, valid, applied, and its next plan is empty', async (name) => {
    const folder = tempFolder('gics-');
    const out = join(folder, 'stack.yaml');
    const made = await cli(['import', 'compose', join(stacks, `${name}.yaml`), '-o', out]);
    expect([made.code, made.stdout]).toEqual([0, '']);
    // No image server is reached here, and paths of the host are replaced by one that exists.
    const documents = parseAllDocuments(readFileSync(out, 'utf8')).map((each) => each.toJS() as JsonObject);
    const bound = (device: Json): Json =>
      isMap(device) && asText(device['source']).startsWith('/') ? { ...device, source: folder } : device;
    const local = documents.map((each) =>
      each['kind'] === 'container'
        ? {
            ...each,
            source: { type: 'none' },
            devices: Object.fromEntries(
              Object.entries(mapOf(each['devices'])).map(([key, value]) => [key, bound(value)]),
            ),
          }
        : each,
    );
    writeFileSync(out, local.map((each) => `---\n${stringify(each)}`).join(''));
    const values = imported(name).documents.flatMap(({ vars }) => Object.entries((vars ?? {}) as JsonObject));
    const given = values.flatMap(([variable, value]) => (value === null ? ['--var', `${variable}=7`] : []));
    const run = (...words: readonly string[]) =>
      cli([...words, '-f', out, ...given], { env: { GANTRY_SOCKET: daemon.socketPath } });
    const valid = await run('validate');
    expect(valid.code, valid.stdout + valid.stderr).toBe(0);
    const applied = await run('apply', '-y', '--set', name);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const again = await run('plan', '--set', name, '--detailed-exitcode');
    expect(again.code, again.stdout + again.stderr).toBe(0);
    const gone = await run('destroy', '-y', '--set', name);
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
  });
});

test('variables become those of the manifest: with their default, or without a value, which a plan asks for', () => {
  expect(imported('blog').documents[0]).toEqual({
    kind: 'vars',
    vars: { DB_NAME: 'wordpress', DB_ROOT_PASSWORD: null },
  });
  expect(oneOf('blog', 'container', 'db')['config']).toMatchObject({
    'environment.MARIADB_ROOT_PASSWORD': '${DB_ROOT_PASSWORD}',
    'environment.MARIADB_DATABASE': '${DB_NAME}',
  });
  expect(oneOf('odd', 'container', 'a')['config']).toMatchObject({
    'environment.D': '${X}-$Y',
    'environment.F': '${W}',
    'environment.G': '${KEEP}',
    'environment.I': '100%',
  });
  expect(oneOf('odd', 'container', 'b')['source']).toMatchObject({ alias: 'debian/12' });
  expect(oneOf('search', 'container', 'kibana')['devices']).toMatchObject({
    'port-tcp-127-0-0-1-5601': { listen: 'tcp:127.0.0.1:5601' },
  });
});

test('anchors, merge keys and services that extend others of the file are joined', () => {
  const limits = {
    'limits.memory': '1073741824',
    'limits.kernel.memlock': 'unlimited:unlimited',
    'limits.kernel.nofile': '65536:65536',
  };
  expect(oneOf('search', 'container', 'es02')['config']).toMatchObject({ ...limits, 'environment.node.name': 'es02' });
  expect(oneOf('app', 'container', 'worker')).toMatchObject({
    config: { 'environment.ROLE': 'web', 'environment.NODE_ENV': 'production', 'limits.memory': '512MiB' },
    manage: { depends_on: ['container/redis'] },
  });
  expect(lost('app')).toContainEqual(
    expect.stringMatching(/^\d+: !reset has no effect: import what docker compose config/),
  );
  expect(lost('files')).toContainEqual(expect.stringMatching(/^\d+: services\.web\.extends .*another file/));
});

test('names, sizes and numbers that the server refuses become others, and two names never become one', () => {
  const called = imported('names').documents.map(({ kind, name }) => `${asText(kind)}/${asText(name)}`);
  expect(new Set(called).size).toBe(called.length);
  expect(called).toEqual(
    expect.arrayContaining([
      'container/c1st',
      'container/my-app-one',
      'container/my-app-one-2',
      'network/frontend-networ',
      'network/frontend-netw-2',
    ]),
  );
  expect(Math.max(...called.map((name) => name.length))).toBeLessThanOrEqual('container/'.length + 63);
  const long = imported('names').documents.find(({ name }) => asText(name).startsWith('a-very'));
  expect(long?.['config']).toMatchObject({
    'limits.memory': '1610612736',
    'limits.cpu': '0,1',
    'limits.cpu.allowance': '150ms/100ms',
  });
});

test('networks keep their subnet and their fixed addresses, and external ones are only named', () => {
  expect(oneOf('forge', 'network', 'gitea')['config']).toEqual({ 'ipv4.address': '172.28.0.1/16' });
  expect(oneOf('forge', 'container', 'gitea')['devices']).toMatchObject({ eth0: { 'ipv4.address': '172.28.0.10' } });
  expect(oneOf('forge', 'container', 'gitea')['config']).toMatchObject({
    'environment.GITEA__database__PASSWD': 'pa$word',
  });
  expect(oneOf('metrics', 'network', 'public')).toEqual({});
  expect(lost('metrics')).toContainEqual(expect.stringMatching(/networks\.public is external/));
  expect(lost('metrics')).toContainEqual(
    expect.stringMatching(/volumes\.grafana_data is external: make the volume my-grafana/),
  );
});

test.each([
  ['blog', /volumes\.db_data\.driver_opts does not move/],
  ['odd', /the port 0:22 does not move: ports are from 1 to 65535/],
  ['odd', /the port 70000:80 does not move/],
  ['odd', /the port 8080-8082:80-81 does not move: the two ranges differ/],
  ['odd', /the volume C:\\x:\/y does not move/],
  ['odd', /volumes\.data\.driver does not move/],
  ['mail', /the port 49100-49103:22 does not move: the two ranges differ/],
  ['names', /the port 53:5353\/tcp does not move: it is published already/],
  ['names', /include does not move/],
  ['files', /the volume ~\/conf:\/etc\/app does not move: ~ is the home/],
  ['files', /the volume tmpfs at \/cache does not move: mount it in the container/],
  ['app', /services\.worker: the port 3000:3000 does not move: it is published already/],
  ['blog', /uploads\.ini is a path of the server: it must be there/],
  ['proxy', /docker\.sock:ro does not move: there is no Docker/],
  ['proxy', /services\.whoami\.scale does not move: write a document for each/],
])('%s: what cannot be converted is named (%s)', (name, text) => {
  expect(lost(name)).toContainEqual(expect.stringMatching(text));
});

describe('an extended service', () => {
  const text = stringify({
    services: {
      base: { image: 'debian', volumes: ['old:/data', 'kept:/more'], mem_limit: '1g' },
      app: { extends: { service: 'base' }, volumes: ['new:/data'], mem_limit: 0, pids_limit: 0 },
    },
    volumes: { old: {}, new: {}, kept: {} },
  });
  const app = importCompose(text, '/srv/stack').documents.find(({ name }) => name === 'app');

  test('its own volume replaces the one at the same place', () => {
    const disks = Object.values(mapOf(app?.['devices'])).filter((each) => mapOf(each)['type'] === 'disk');
    const places = disks.map((each) => `${asText(mapOf(each)['source'])} ${asText(mapOf(each)['path'])}`);
    expect(places.toSorted()).toEqual(['kept /more', 'new /data']);
  });

  test('zero means no limit', () => {
    expect(app).not.toHaveProperty('config');
  });
});

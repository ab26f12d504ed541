// The inside of containers as separate resources or arguments: files, commands, snapshots, and settings of the provider block. Compares
// our types with the provider's schema.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { gantryProvider } from '../../../../provider/gantry.ts';
import { argumentTable, type ArgumentTable } from '../../../support/terraform/argument-table.ts';
import { loadedDocuments, loadJson } from '../../../support/terraform/terraform-json.ts';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { gantryRefused, gantryTypes } from '../../../../reconciler/manifest/terraform-json/types/gantry-types.ts';
import {
  common,
  dataSources,
  resources,
} from '../../../../reconciler/manifest/terraform-json/types/provider-schema.ts';
import { dataTypeNames } from '../../../../reconciler/manifest/terraform-json/types/schema-facts.ts';
import { pointerOf } from '../../../../reconciler/manifest/terraform-json/problem.ts';

const problems = (value: Json): readonly string[] =>
  loadJson(value).problems.map(({ code, steps }) => `${code} ${pointerOf(steps)}`);

const web = { name: 'web', source: { type: 'none' } };
const withWeb = (more: object, container: object = {}): Json => ({
  resource: { gantry_container: { w: { ...web, ...container } }, ...more },
});

describe('the inside of a container', () => {
  test('files and commands as arguments mean the same in documents as for Terraform', () => {
    const [document] = loadedDocuments(
      withWeb(
        {},
        {
          files: { '/etc/motd': { content: 'hi', uid: '5' }, '/b': { source: 'b.sh', mode: '0755' } },
          exec: {
            second: { command: ['a', 1], on: 'create', fail_on_error: 'false', timeout: '10s' },
            first: { command: ['b'], environment: { A: 1 }, cwd: '/', user: 7, group: 8, on: 'start' },
            third: { command: ['c'], on: 'change', fail_on_error: true },
          },
          stop_timeout: 3,
          timeouts: { create: '90s', delete: '2m' },
        },
      ),
    );
    expect(document?.value).toMatchObject({
      files: [
        { path: '/b', source: 'b.sh', mode: '0755' },
        { path: '/etc/motd', content: 'hi', uid: 5, mode: '0644' },
      ],
      exec: [
        { name: 'first', command: ['b'], environment: { A: '1' }, cwd: '/', user: 7, group: 8, on_start: true },
        { name: 'second', command: ['a', '1'], once: true, exit_code: 'any', timeout: '10s' },
        { name: 'third', command: ['c'] },
      ],
      manage: { timeout: '2m' },
    });
  });

  test('files, commands and snapshots as separate resources become part of the document of their container, in order', () => {
    const [document, ...others] = loadedDocuments(
      withWeb(
        {
          gantry_container_file: {
            motd: { container: '${gantry_container.w.name}', path: '/etc/motd', content: 'x' },
            dir: { container: 'web', path: '/srv/d', type: 'directory' },
            link: { container: 'web', path: '/srv/l', type: 'symlink', target: '/etc/motd' },
          },
          gantry_container_exec: {
            late: {
              for_each: { a: 1, b: 2 },
              container: 'web',
              command: ['echo', '${each.key}'],
              triggers: { v: '${each.value}' },
              depends_on: ['gantry_container_exec.early', 'gantry_container_file.motd'],
            },
            early: { container: 'web', command: ['true'], fail_on_error: false, user: 3 },
          },
          gantry_snapshot: {
            s: { container: 'web', name: 'before', expires_at: '2040-01-31T12:00:00Z', stateful: false },
          },
        },
        { files: { '/own': { content: '' } } },
      ),
    );
    expect(others).toEqual([]);
    expect(document?.value).toEqual({
      kind: 'container',
      name: 'web',
      source: { type: 'none' },
      state: 'running',
      files: [
        { path: '/own', content: '', mode: '0644' },
        { path: '/etc/motd', content: 'x', mode: '0644' },
        { path: '/srv/d', type: 'directory', mode: '0755', uid: 0, gid: 0 },
        { path: '/srv/l', type: 'symlink', target: '/etc/motd' },
      ],
      exec: [
        { name: 'early', command: ['true'], exit_code: 'any', user: 3 },
        { name: 'late-a', command: ['echo', 'a'], triggers: { v: '1' } },
        { name: 'late-b', command: ['echo', 'b'], triggers: { v: '2' } },
      ],
      snapshots: [{ name: 'before', expires_at: '2040-01-31T12:00:00Z', stateful: false }],
    });
    expect(document?.writtenBy).toMatchObject({
      'files.1': 'resource.gantry_container_file.motd',
      'snapshots.0': 'resource.gantry_snapshot.s',
    });
  });

  test('results of their runs can be referred to, and are not known before', () => {
    const { outputs, problems: found } = loadJson({
      ...(withWeb({}, { exec: { a: { command: ['x'] } }, files: { '/f': { content: '' } } }) as object),
      output: {
        out: { value: '${gantry_container.w.exec["a"].stdout}' },
        hash: { value: '${gantry_container.w.files["/f"].sha256}' },
        mode: { value: '${gantry_container.w.files["/f"].mode}' },
      },
    });
    expect(found).toEqual([]);
    expect([...outputs.values()].map(({ value }) => value)).toEqual([undefined, undefined, undefined]);
  });

  test('a sensitive variable in a file taints only that file', () => {
    const value = {
      variable: { s: { type: 'string', sensitive: true } },
      ...(withWeb({ gantry_container_file: { f: { container: 'web', path: '/s', content: '${var.s}' } } }) as object),
    };
    expect(loadedDocuments(value, { s: 'secret' })[0]?.sensitive).toEqual(['files.0']);
  });

  test.each<[string, Json, object]>([
    ['a for_each', { a: { pw: '${var.s}' } }, {}],
    ['a local of a for_each', '${local.all}', { locals: { all: { a: { pw: '${var.s}' } } } }],
  ])('a sensitive variable in %s taints each.value, and not each.key', (_what, all, more) => {
    const profile = {
      for_each: all,
      name: 'web',
      config: { 'user.pw': '${each.value.pw}' },
      description: '${each.key}',
    };
    const variable = { s: { type: 'string', sensitive: true } };
    const [made] = loadedDocuments(
      { variable, resource: { gantry_profile: { p: profile } }, ...more },
      { s: 'secret' },
    );
    expect(made?.sensitive).toEqual(['config']);
  });

  test('a call of sensitive is found with a space before its bracket', () => {
    const profile = { name: 'web', config: { 'user.pw': '${sensitive ("x")}' } };
    expect(loadedDocuments({ resource: { gantry_profile: { p: profile } } }, {})[0]?.sensitive).toEqual(['config']);
  });

  test.each<[string, Json, readonly string[]]>([
    [
      'of a container that is not declared',
      withWeb({ gantry_snapshot: { s: { container: 'wbe', name: 'x' } } }),
      ['E_PART /resource/gantry_snapshot/s/container'],
    ],
    [
      'with a command for the end',
      withWeb({ gantry_container_exec: { e: { container: 'web', command: ['a'], destroy_command: ['b'] } } }),
      ['E_ARGUMENT /resource/gantry_container_exec/e/destroy_command'],
    ],
    [
      'a write-only content',
      withWeb({
        gantry_container_file: { f: { container: 'web', path: '/t', content_wo: 'x', content_wo_version: 1 } },
      }),
      ['E_ARGUMENT /resource/gantry_container_file/f/content_wo'],
    ],
    [
      'a write-only environment',
      withWeb({ gantry_container_exec: { e: { container: 'web', command: ['a'], environment_wo: { A: 'b' } } } }),
      ['E_ARGUMENT /resource/gantry_container_exec/e/environment_wo'],
    ],
    [
      'a link with an owner',
      withWeb({ gantry_container_file: { l: { container: 'web', path: '/l', type: 'symlink', target: '/', uid: 4 } } }),
      ['E_ARGUMENT /resource/gantry_container_file/l/uid'],
    ],
    [
      'when a command runs, in another word',
      withWeb({}, { exec: { a: { command: ['a'], on: 'boot' } } }),
      ['E_ARGUMENT /resource/gantry_container/w/exec'],
    ],
    [
      'an attribute that files do not have',
      withWeb({}, { files: { '/a': { contents: 'x' } } }),
      ['E_ARGUMENT /resource/gantry_container/w/files/~1a/contents'],
    ],
    ['a value of another type', withWeb({}, { running: 'maybe' }), ['E_ARGUMENT /resource/gantry_container/w/running']],
    [
      'content that only an apply makes known',
      withWeb({
        gantry_container_file: { f: { container: 'web', path: '/f', content: '${gantry_container.w.ipv4_address}' } },
      }),
      ['E_UNKNOWN_VALUE /resource/gantry_container_file/f/content'],
    ],
    [
      'copies of volumes of other projects',
      { resource: { gantry_storage_volume: { v: { pool: 'p', name: 'v', source: { name: 'w', project: 'q' } } } } },
      ['E_ARGUMENT /resource/gantry_storage_volume/v/source'],
    ],
    [
      'passwords',
      { resource: { gantry_server_config: { c: { config: {}, trust_password: 'x' } } } },
      ['E_ARGUMENT /resource/gantry_server_config/c/trust_password'],
    ],
    [
      'containers of backups',
      withWeb({}, { source: { type: 'backup', file: 'web.backup' } }),
      ['E_ARGUMENT /resource/gantry_container/w/source'],
    ],
    [
      'copies of snapshots',
      withWeb({
        gantry_container: { w: { ...web }, c: { name: 'c', source: { type: 'copy', source: 'web', snapshot: 's' } } },
      }),
      ['E_ARGUMENT /resource/gantry_container/c/source'],
    ],
    [
      'images of containers',
      { resource: { gantry_image: { i: { source: { type: 'container', container: 'c' } } } } },
      ['E_ARGUMENT /resource/gantry_image/i/source'],
    ],
    [
      'members of clusters',
      { resource: { gantry_cluster_member: { m: { name: 'x' } } } },
      ['E_UNKNOWN_RESOURCE /resource/gantry_cluster_member/m'],
    ],
    [
      'devices of their own',
      withWeb({ gantry_container_device: { d: { container: 'web', name: 'd', type: 'none' } } }),
      ['E_UNKNOWN_RESOURCE /resource/gantry_container_device/d'],
    ],
  ])('is refused: %s', (_name, value, expected) => {
    expect(problems(value)).toEqual(
      expect.arrayContaining(
        [...expected].filter((each) => !each.startsWith('E_UNKNOWN_VALUE') || expected.length === 1),
      ),
    );
    expect(loadJson(value).documents).toEqual([]);
  });
});

describe('settings of the provider block for all resources', () => {
  const resource = { gantry_profile: { p: { name: 'p' } }, gantry_storage_pool: { q: { name: 'q', driver: 'dir' } } };

  test('project and target apply to kinds that support them', () => {
    const made = loadedDocuments({
      provider: { gantry: [{ project: '${var.team}', target: 'm1' }] },
      variable: { team: { default: 'team' } },
      resource: {
        ...resource,
        gantry_container: { w: { ...web } },
        gantry_snapshot: { s: { container: 'web', name: 's' } },
        gantry_storage_volume: { v: { pool: 'q', name: 'v' }, x: { pool: 'q', name: 'x', target: 'm2' } },
        gantry_volume_snapshot: { t: { pool: 'q', volume: 'x', name: 't', target: 'm2' } },
      },
    });
    expect(made.map(({ value }) => [value['kind'], value['project'], value['target']])).toEqual([
      ['profile', 'team', undefined],
      ['storage_pool', undefined, undefined],
      ['container', 'team', 'm1'],
      ['storage_volume', 'team', 'm1'],
      ['storage_volume', 'team', 'm2'],
    ]);
    expect(made[2]?.value['snapshots']).toEqual([{ name: 's' }]);
    expect(made[4]?.value['snapshots']).toEqual([{ name: 't' }]);
  });

  test('aliases may be other projects of one server, and not other servers', () => {
    const two = (second: object): Json => ({
      provider: { gantry: [{ address: 'https://a:8443' }, { alias: 'two', address: 'https://a:8443', ...second }] },
      resource: { gantry_profile: { p: { name: 'p' }, q: { name: 'p', provider: 'gantry.two' } } },
    });
    expect(loadedDocuments(two({ project: 'b' })).map(({ value }) => value['project'])).toEqual([undefined, 'b']);
    expect(loadJson(two({ project: 'b' })).notices).toEqual([
      'provider gantry: its address is for Terraform; gantry connects to the server of --host',
      'provider gantry.two: its address is for Terraform; gantry connects to the server of --host',
    ]);
    expect(problems(two({ address: 'https://b:8443' }))).toEqual(['E_PROVIDER /provider/gantry/1']);
    expect(problems({ resource: { gantry_profile: { p: { name: 'p', provider: 'gantry.gone' } } } })).toEqual([
      'E_REFERENCE /resource/gantry_profile/p/provider',
    ]);
  });
});

describe('our own types', () => {
  const table = argumentTable(gantryProvider({ env: {}, log: () => undefined }));

  test('accept the arguments of the schema of the provider, and show its computed values (UPDATE=1 and npm run format rewrite the table)', () => {
    if (process.env['UPDATE'] === '1') writeFileSync(tablePath, tableText(table));
    else expect({ common, resources, dataSources }).toEqual(table);
  });

  test('cover all types of the provider, evaluated or refused by name', () => {
    expect([...Object.keys(gantryTypes), ...Object.keys(gantryRefused)].sort()).toEqual(
      Object.keys(table.resources).sort(),
    );
    expect(dataTypeNames).toEqual(Object.keys(table.dataSources));
  });
});

const tablePath = fileURLToPath(
  new URL('../../../../reconciler/manifest/terraform-json/types/provider-schema.ts', import.meta.url),
);

const tableText = (table: ArgumentTable): string =>
  `// Generated from the provider's schemas; test/reconciler/manifest/terraform-json/inside.test.ts writes and compares it. The types of the
// provider: their arguments by shape, those that it fills in, and the attributes that an apply makes known. Names are separated by spaces.
import type { NamesByShape } from '../evaluation/argument-shapes.ts';

export interface TypeRow {
  readonly arguments: NamesByShape;
  readonly filled: string;
  readonly computed: string;
}

/** Objects that every resource takes. */
export const common: NamesByShape['object'] = ${JSON.stringify(table.common)};

export const resources: Readonly<Record<string, TypeRow>> = ${JSON.stringify(table.resources)};

export const dataSources: Readonly<Record<string, TypeRow>> = ${JSON.stringify(table.dataSources)};
`;

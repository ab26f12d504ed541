// Terraform JSON as documents: output of synthesizers, references in every form, and refusals with code and place.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { readDocument } from '../../../../reconciler/manifest/documents/read-document.ts';
import { loadTerraform, type TerraformLoad } from '../../../../reconciler/manifest/terraform-json/load-terraform.ts';
import { pointerOf } from '../../../../reconciler/manifest/terraform-json/problem.ts';
import { rows } from '../../../../reconciler/manifest/terraform-json/unsupported.ts';
import { makeClient } from '../../../support/daemons/tls.ts';

const load = (value: Json, given: Readonly<Record<string, Json>> = {}): TerraformLoad =>
  loadTerraform([{ file: 'cdk.tf.json', folder: '/work', value }], givenFrom(given));
const givenFrom = (given: Readonly<Record<string, Json>>): Parameters<typeof loadTerraform>[1] =>
  new Map(
    Object.entries(given).map(([name, json]) => [name, typeof json === 'string' ? { text: json } : { json }] as const),
  );

/** All of them are documents that a manifest could hold. */
function documents(value: Json, given: Readonly<Record<string, Json>> = {}): readonly Record<string, unknown>[] {
  const loaded = load(value, given);
  expect(loaded.problems).toEqual([]);
  for (const document of loaded.documents) {
    expect(readDocument(document.value).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  }
  return loaded.documents.map((document) => document.value);
}
const codes = (value: Json, given: Readonly<Record<string, Json>> = {}): readonly string[] =>
  load(value, given).problems.map(({ code, file, steps }) => `${code} ${file}${pointerOf(steps)}`);

const stack: Json = {
  '//': { metadata: { backend: 'local', stackName: 'web', version: '0.21.0' }, outputs: {} },
  terraform: {
    backend: { local: { path: 'terraform.tfstate' } },
    required_providers: { gantry: { source: 'gantry/gantry', version: '0.1.0' } },
  },
  provider: { gantry: [{ address: 'unix:///run/gantry.socket' }] },
  variable: {
    memory: { type: 'string', default: '256MiB' },
    names: { type: '${list(string)}', default: ['a', 'b'] },
    secret: { type: 'string', sensitive: true },
  },
  locals: { net: { mask: 24 }, prefix: '${var.memory == "256MiB" ? "small" : "big"}' },
  resource: {
    gantry_storage_pool: {
      pool: { '//': { metadata: { path: 'web/pool', uniqueId: 'pool' } }, name: 'fast', driver: 'dir' },
    },
    gantry_network: {
      net: { name: 'web0', config: { 'ipv4.address': '10.9.0.1/${local.net.mask}', 'ipv6.address': 'none' } },
    },
    gantry_profile: {
      profile: {
        name: '${local.prefix}-web',
        config: { 'limits.memory': '${var.memory}' },
        devices: {
          root: { type: 'disk', path: '/', pool: '${gantry_storage_pool.pool.name}' },
          eth0: { type: 'nic', nictype: 'bridged', parent: '${gantry_network.net.name}' },
        },
      },
    },
    gantry_container: {
      web: {
        count: 2,
        name: 'web${count.index + 1}',
        profiles: ['${gantry_profile.profile.name}'],
        config: { 'user.db': '${gantry_container.db["b"].name}', 'environment.PASSWORD': '${var.secret}' },
        source: { type: 'none' },
        running: false,
        lifecycle: { prevent_destroy: true, ignore_changes: ['config["limits.cpu"]', 'description', 'devices'] },
      },
      db: {
        for_each: '${toset(var.names)}',
        name: 'db-${each.key}',
        profiles: [],
        source: { type: 'none' },
        depends_on: ['gantry_network.net'],
        wait_for: [
          { type: 'ipv4', nic: 'eth0', timeout: '10s' },
          { type: 'running' },
          { type: 'tcp', port: 80 },
          { type: 'tcp', host: '2001:db8::1', port: 81 },
          { type: 'file', path: '/ready' },
          { type: 'cloud-init' },
        ],
      },
    },
  },
  output: {
    names: { value: '${gantry_container.db["a"].name}' },
    address: { value: '${gantry_container.web[0].ipv4_address}' },
    secret: { value: '${var.secret}', sensitive: true },
  },
};

describe('a synthesized stack', () => {
  test('becomes documents', () => {
    expect(documents(stack, { secret: 's3cret' })).toEqual([
      { kind: 'storage_pool', name: 'fast', driver: 'dir' },
      { kind: 'network', name: 'web0', config: { 'ipv4.address': '10.9.0.1/24', 'ipv6.address': 'none' } },
      {
        kind: 'profile',
        name: 'small-web',
        config: { 'limits.memory': '256MiB' },
        devices: {
          root: { type: 'disk', path: '/', pool: 'fast' },
          eth0: { type: 'nic', nictype: 'bridged', parent: 'web0' },
        },
      },
      ...['web1', 'web2'].map((name) => ({
        kind: 'container',
        name,
        profiles: ['small-web'],
        config: { 'user.db': 'db-b', 'environment.PASSWORD': 's3cret' },
        source: { type: 'none' },
        state: 'stopped',
        manage: {
          protect: true,
          ignore: ['config.limits.cpu', 'config.limits.cpu.*', 'description', 'devices', 'devices.*'],
          // Only references to containers are not visible elsewhere in a document.
          depends_on: ['container/db-a', 'container/db-b'],
        },
      })),
      ...['db-a', 'db-b'].map((name) => ({
        kind: 'container',
        name,
        profiles: [],
        source: { type: 'none' },
        state: 'running',
        manage: {
          wait: [
            { ipv4: 'eth0', timeout: '10s' },
            { running: true },
            { tcp: 80 },
            { tcp: '[2001:db8::1]:81' },
            { file: '/ready' },
            { cloud_init: true },
          ],
          depends_on: ['network/web0'],
        },
      })),
    ]);
  });

  test('outputs are evaluated, unknown ones have no value, and sensitive variables taint them', () => {
    const { outputs, documents: made } = load(stack, { secret: 's3cret' });
    expect([...outputs]).toEqual([
      ['names', { value: 'db-a', isSensitive: false }],
      // Any argument of a counted resource may be sensitive.
      ['address', { value: undefined, isSensitive: true }],
      ['secret', { value: 's3cret', isSensitive: true }],
    ]);
    expect(made.find(({ address }) => address === 'gantry_container.web[1]')?.sensitive).toEqual(['config']);
  });

  test('variables from outside override defaults and are converted to their type', () => {
    const names = documents(stack, { secret: 'x', names: '["a", "b", "z"]', memory: '1GiB' }).map(({ name }) => name);
    expect(names).toContain('db-z');
    expect(names).toContain('big-web');
    expect(codes(stack)).toContain('E_NO_VALUE cdk.tf.json/variable/secret');
    expect(codes(stack, { secret: 'x', names: 'nope' })).toContain('E_VARIABLE cdk.tf.json/variable/names');
    expect(codes(stack, { secret: 'x', nmes: '[]' })).toEqual(['E_VARIABLE cdk.tf.json']);
  });
});

describe('configurations of the well-known providers', () => {
  test.each(['lxd', 'incus'])('configurations of the well-known providers of %s port without a change', (prefix) => {
    const value: Json = {
      terraform: { required_version: '>= 1.5', required_providers: {} },
      resource: {
        [`${prefix}_network`]: { n: { name: 'br9', type: 'bridge', config: { 'ipv4.address': 'auto' } } },
        [`${prefix}_storage_pool`]: { p: { name: 'data', driver: 'btrfs', config: { size: '10GiB' } } },
        [`${prefix}_profile`]: {
          p: {
            name: 'web',
            device: [
              { name: 'eth0', type: 'nic', properties: { nictype: 'bridged', parent: `\${${prefix}_network.n.name}` } },
            ],
          },
        },
        [`${prefix}_instance`]: {
          i: {
            name: 'c1',
            image: 'debian/12',
            profiles: ['default', `\${${prefix}_profile.p.name}`],
            limits: { cpu: '2', memory: '1GiB' },
            device: [{ name: 'd', type: 'disk', properties: { source: '/srv', path: '/srv' } }],
            wait_for_network: true,
          },
        },
      },
    };
    expect(documents(value)).toEqual([
      { kind: 'network', name: 'br9', type: 'bridge', config: { 'ipv4.address': 'auto' } },
      { kind: 'storage_pool', name: 'data', driver: 'btrfs', config: { size: '10GiB' } },
      { kind: 'profile', name: 'web', devices: { eth0: { type: 'nic', nictype: 'bridged', parent: 'br9' } } },
      {
        kind: 'container',
        name: 'c1',
        profiles: ['default', 'web'],
        source: { type: 'image', alias: 'debian/12' },
        config: { 'limits.cpu': '2', 'limits.memory': '1GiB' },
        devices: { d: { type: 'disk', source: '/srv', path: '/srv' } },
        state: 'running',
        manage: { wait: ['ipv4'] },
      },
    ]);
  });

  test.each(['lxd', 'incus'])(
    'configurations of the well-known providers of %s may have projects, members of clusters and targets',
    (prefix) => {
      const overrides = { node2: { config: { source: '/dev/sdb' } } };
      const value: Json = {
        resource: {
          [`${prefix}_project`]: { t: { name: 'team', config: { 'features.images': 'false' } } },
          [`${prefix}_storage_pool`]: { p: { name: 'data', driver: 'zfs', member_overrides: overrides } },
          [`${prefix}_profile`]: { p: { name: 'web', project: `\${${prefix}_project.t.name}` } },
          [`${prefix}_instance`]: { i: { name: 'c1', image: 'a', project: 'team', target: 'node2' } },
          [prefix === 'lxd' ? 'lxd_volume' : 'incus_storage_volume']: {
            v: { name: 'v', pool: 'data', target: 'node1' },
          },
        },
      };
      expect(documents(value)).toEqual([
        { kind: 'project', name: 'team', config: { 'features.images': 'false' } },
        { kind: 'storage_pool', name: 'data', driver: 'zfs', member_overrides: overrides },
        { kind: 'profile', name: 'web', project: 'team' },
        {
          kind: 'container',
          name: 'c1',
          project: 'team',
          target: 'node2',
          source: { type: 'image', alias: 'a' },
          state: 'running',
        },
        { kind: 'storage_volume', name: 'v', pool: 'data', target: 'node1' },
      ]);
    },
  );

  test('images of ours may come from other servers and addresses', () => {
    const remote = { type: 'remote', server: 'https://images.example', protocol: 'simplestreams', alias: 'debian/12' };
    const value: Json = {
      resource: {
        gantry_image: { a: { source: remote }, b: { source: { type: 'url', url: 'https://images.example/b' } } },
      },
    };
    expect(documents(value)).toMatchObject([
      { kind: 'image', source: { ...remote, type: 'image' } },
      { kind: 'image', source: { type: 'url', url: 'https://images.example/b' } },
    ]);
  });

  test('arguments that documents cannot express are refused by name', () => {
    const one = (body: Json): readonly string[] =>
      codes({ resource: { lxd_instance: { i: { name: 'c', image: 'a', ...(body as object) } } } });
    expect(one({ image: 'ours:alpine/3.20' })).toEqual(['E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/image']);
    expect(one({ wait_for: [{ type: 'delay', delay: '3s' }] })).toEqual([
      'E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/wait_for',
    ]);
    expect(one({ execs: { a: { command: ['true'], trigger: 'always' } } })).toEqual([
      'E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/execs',
    ]);
    expect(
      codes({ resource: { lxd_instance_file: { f: { instance: 'c', target_path: '/x', content: 'x' } } } }),
    ).toEqual(['E_PART cdk.tf.json/resource/lxd_instance_file/f/instance']);
    expect(
      codes({ resource: { incus_storage_volume: { v: { name: 'v', pool: 'p', content_type: 'block' } } } }),
    ).toEqual(['E_ARGUMENT cdk.tf.json/resource/incus_storage_volume/v/content_type']);
    expect(codes({ resource: { lxd_trust_certificate: { c: { name: 'c', content: 'x', type: 'metrics' } } } })).toEqual(
      ['E_ARGUMENT cdk.tf.json/resource/lxd_trust_certificate/c/type'],
    );
    expect(one({ type: 'virtual-machine' })).toEqual(['E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/type']);
    expect(one({ file: [{ content: 'x' }] })).toEqual(['E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/file']);
  });

  test('configurations for the providers for LXD and Incus need no change', async () => {
    const { certPem } = await makeClient('ported');
    const value: Json = {
      provider: { lxd: [{ remote: [{ name: 'ours', address: 'https://images.example:8443' }] }] },
      resource: {
        lxd_volume: {
          v: { name: 'v', pool: 'p', type: 'custom', content_type: 'filesystem', config: { size: '1GiB' } },
        },
        lxd_instance: {
          web: {
            name: 'web',
            image: 'ours:debian/12',
            type: 'container',
            limits: { memory: '1GiB' },
            device: [{ name: 'eth0', type: 'nic', properties: { network: 'lan0' } }],
            file: [{ content: 'hi', target_path: '/etc/motd', create_directories: true }],
            execs: {
              '01-start': { command: ['start'], trigger: 'on_start', fail_on_error: true, working_dir: '/srv' },
              '00-once': { command: ['once'], trigger: 'once', uid: 7 },
              '02-off': { command: ['off'], enabled: false },
            },
            wait_for: [{ type: 'ipv4', nic: 'eth0' }, { type: 'cloud-init' }],
          },
          copy: { name: 'copy', source_instance: { name: 'web', snapshot: 's', project: null }, running: false },
        },
        lxd_instance_snapshot: { s: { instance: '${lxd_instance.web.name}', name: 's', stateful: false } },
        lxd_instance_file: {
          f: { instance: '${lxd_instance.web.name}', source_path: 'a.conf', target_path: '/etc/a', mode: '0600' },
        },
        incus_instance: {
          db: { name: 'db', image: 'images:alpine/3.20', exec: [{ command: ['x'], trigger: 'once', timeout: 5 }] },
        },
        incus_server: { s: { config: { 'images.auto_update_interval': '5' } } },
        incus_certificate: {
          c: { name: 'c', certificate: certPem, type: 'client', restricted: true, projects: ['team'] },
        },
      },
    };
    const found = documents(value);
    const named = (name: string): object | undefined => found.find((each) => (each as { name?: string }).name === name);
    expect(named('c')).toMatchObject({ kind: 'certificate', restricted: true, projects: ['team'] });
    expect(named('v')).toEqual({ kind: 'storage_volume', name: 'v', pool: 'p', config: { size: '1GiB' } });
    expect(named('web')).toMatchObject({
      source: {
        type: 'image',
        mode: 'pull',
        server: 'https://images.example:8443',
        protocol: 'lxd',
        alias: 'debian/12',
      },
      config: { 'limits.memory': '1GiB' },
      devices: { eth0: { type: 'nic', network: 'lan0' } },
      files: [
        { path: '/etc/motd', content: 'hi', mode: '0755' },
        { path: '/etc/a', source: 'a.conf', mode: '0600' },
      ],
      exec: [
        { name: 'run-00-once', command: ['once'], once: true, user: 7, exit_code: 'any' },
        { name: 'run-01-start', command: ['start'], on_start: true, cwd: '/srv' },
      ],
      snapshots: [{ name: 's', stateful: false }],
      manage: { wait: [{ ipv4: 'eth0' }, { cloud_init: true }] },
    });
    expect(named('copy')).toMatchObject({ source: { type: 'copy', source: 'web/s' }, state: 'stopped' });
    expect(named('db')).toMatchObject({
      source: { type: 'image', mode: 'pull', protocol: 'simplestreams', alias: 'alpine/3.20' },
      exec: [{ name: 'exec-0', command: ['x'], once: true, timeout: '5s' }],
    });
    expect(named('c')).toMatchObject({ kind: 'certificate', certificate: certPem });
    expect(found).toContainEqual(expect.objectContaining({ kind: 'server_config' }));
  });
});

const pool = { name: 'p', driver: 'dir' };
const withPool = (more: object): Json => ({ resource: { gantry_storage_pool: { p: { ...pool, ...more } } } });

describe('everything that is not evaluated is refused, all at once', () => {
  const at = 'cdk.tf.json/resource/gantry_storage_pool/p';
  test.each<[string, Json, readonly string[]]>([
    [
      'a foreign resource',
      { resource: { aws_instance: { a: {} } } },
      ['E_FOREIGN_RESOURCE cdk.tf.json/resource/aws_instance/a'],
    ],
    [
      'a type of ours that is none',
      { resource: { gantry_storage_pol: { a: {} } } },
      ['E_UNKNOWN_RESOURCE cdk.tf.json/resource/gantry_storage_pol/a'],
    ],
    ['data of another provider', { data: { aws_ami: { i: {} } } }, ['E_DATA cdk.tf.json/data/aws_ami/i']],
    ['data that is none', { data: { gantry_images: { i: {} } } }, ['E_DATA cdk.tf.json/data/gantry_images/i']],
    [
      'an argument that data has not',
      { data: { gantry_image: { i: { name: 'x' } } } },
      ['E_ARGUMENT cdk.tf.json/data/gantry_image/i/name'],
    ],
    [
      'another stack',
      { data: { terraform_remote_state: { s: { backend: 'local' } } } },
      ['E_REMOTE_STATE cdk.tf.json/data/terraform_remote_state/s'],
    ],
    ['a module', { module: { m: { source: './m' } } }, ['E_MODULE cdk.tf.json/module/m']],
    ['a backend', { terraform: { backend: { s3: {} } } }, ['E_BACKEND cdk.tf.json/terraform/backend']],
    ['an ephemeral resource', { ephemeral: { x: { y: {} } } }, ['E_EPHEMERAL cdk.tf.json/ephemeral/x/y']],
    [
      'removed, and the object kept',
      { removed: [{ from: 'a.b', lifecycle: { destroy: false } }] },
      ['E_REMOVED cdk.tf.json/removed/0'],
    ],
    [
      'removed, and the resource still there',
      { ...(withPool({}) as object), removed: { from: 'gantry_storage_pool.p' } },
      ['E_REMOVED cdk.tf.json/removed'],
    ],
    [
      'a version',
      { terraform: { required_version: '~> 1.5.0' } },
      ['E_VERSION cdk.tf.json/terraform/required_version'],
    ],
    ['no version', { terraform: { required_version: 'new' } }, ['E_SHAPE cdk.tf.json/terraform/required_version']],
    [
      'a version of the provider',
      { terraform: { required_providers: { gantry: { source: 'gantry/gantry', version: '>= 9' } } } },
      ['E_VERSION cdk.tf.json/terraform/required_providers'],
    ],
    ['a block that is none', { resources: {} }, ['E_BLOCK cdk.tf.json/resources']],
    ['a provisioner', withPool({ provisioner: { 'local-exec': {} } }), [`E_PROVISIONER ${at}`]],
    ['a dynamic block', withPool({ dynamic: { device: {} } }), [`E_DYNAMIC ${at}/dynamic`]],
    ['an argument that is none', withPool({ drivr: 'dir' }), [`E_ARGUMENT ${at}/drivr`]],
    [
      'create_before_destroy',
      withPool({ lifecycle: { create_before_destroy: true } }),
      [`E_CREATE_BEFORE_DESTROY ${at}/lifecycle`],
    ],
    [
      'replace_triggered_by',
      withPool({ lifecycle: [{ replace_triggered_by: ['x.y'] }] }),
      [`E_REPLACE_TRIGGER ${at}/lifecycle`],
    ],
    [
      'a postcondition that does not hold',
      withPool({ lifecycle: { postcondition: [{ condition: '${self.driver == "zfs"}', error_message: 'no' }] } }),
      [`E_POSTCONDITION ${at}/lifecycle/postcondition`],
    ],
    [
      'a postcondition that only an apply can judge',
      withPool({
        lifecycle: { postcondition: { condition: '${self.effective_config["a"] == "b"}', error_message: '' } },
      }),
      [`E_UNKNOWN_VALUE ${at}/lifecycle/postcondition`],
    ],
    [
      'a rule without a condition',
      withPool({ lifecycle: { postcondition: [{}] } }),
      [`E_SHAPE ${at}/lifecycle/postcondition`],
    ],
    [
      'a precondition that does not hold',
      withPool({ lifecycle: { precondition: [{ condition: '${1 > 2}', error_message: 'no' }] } }),
      [`E_PRECONDITION ${at}/lifecycle/precondition`],
    ],
    ['count that is no number', withPool({ count: '${"x"}' }), [`E_COUNT ${at}/count`]],
    ['for_each of a list', withPool({ for_each: ['a'] }), [`E_COUNT ${at}/for_each`]],
    [
      'count that only an apply can tell',
      {
        resource: {
          gantry_storage_pool: {
            p: { ...pool, count: '${gantry_storage_pool.q.effective_config["a"] == "b" ? 1 : 0}' },
            q: { ...pool, name: 'q' },
          },
        },
      },
      [`E_UNKNOWN_VALUE ${at}/count`],
    ],
    ['both', withPool({ count: 1, for_each: {} }), [`E_COUNT ${at}/count`]],
    [
      'a circle',
      { locals: { a: '${local.b}', b: '${local.a}' }, output: { x: { value: '${local.a}' } } },
      ['E_CYCLE cdk.tf.json/locals/a'],
    ],
    ['a resource that refers to itself', withPool({ description: '${gantry_storage_pool.p.name}' }), [`E_CYCLE ${at}`]],
    [
      'a reference to nothing',
      withPool({ description: '${gantry_network.n.name}' }),
      [`E_REFERENCE ${at}/description`],
    ],
    [
      'an attribute that is none',
      { ...(withPool({}) as object), output: { o: { value: '${gantry_storage_pool.p.colour}' } } },
      ['E_VALUE cdk.tf.json/output/o/value'],
    ],
    [
      'locals and variables that nothing uses',
      {
        ...(withPool({}) as object),
        variable: { v: { type: 'string' }, w: { default: 'x', type: 'number' } },
        locals: { a: '${timestamp()}', b: '${bcrypt("x")}', c: '${nothing.x}' },
      },
      [
        'E_NO_VALUE cdk.tf.json/variable/v',
        'E_VARIABLE cdk.tf.json/variable/w',
        'E_FUNCTION cdk.tf.json/locals/a',
        'E_FUNCTION cdk.tf.json/locals/b',
        'E_REFERENCE cdk.tf.json/locals/c',
      ],
    ],
    [
      'a value known after an apply',
      {
        resource: {
          gantry_storage_pool: {
            p: pool,
            q: { ...pool, name: 'q', description: '${jsonencode(gantry_storage_pool.p.locations)}' },
          },
        },
      },
      ['E_UNKNOWN_VALUE cdk.tf.json/resource/gantry_storage_pool/q/description'],
    ],
    ['depends_on nothing', withPool({ depends_on: ['gantry_network.n'] }), [`E_ARGUMENT ${at}/depends_on`]],
    [
      'ignore_changes of an expression',
      withPool({ lifecycle: { ignore_changes: ['a + b'] } }),
      [`E_ARGUMENT ${at}/lifecycle`],
    ],
    [
      'an import of another name',
      { ...(withPool({}) as object), import: [{ to: 'gantry_storage_pool.p', id: 'other' }] },
      ['E_IMPORT cdk.tf.json/import/0'],
    ],
    [
      'a list for a block',
      { resource: [{ gantry_storage_pool: 'x' }] },
      ['E_SHAPE cdk.tf.json/resource/0/gantry_storage_pool'],
    ],
    ['no object', ['x'], ['E_SHAPE cdk.tf.json']],
    ['a number that is not kept', withPool({ config: { size: 2 ** 53 } }), [`E_BIG_NUMBER ${at}/config/size`]],
  ])('%s', (_name, value, expected) => {
    const loaded = load(value);
    expect(loaded.problems.map(({ code, file, steps }) => `${code} ${file}${pointerOf(steps)}`)).toEqual(expected);
    expect(loaded.documents).toEqual([]);
    for (const { code } of loaded.problems) expect(rows[code][1]).not.toBe('');
  });

  test('several problems are reported together, with the construct and the place in the expression', () => {
    const loaded = load({
      resource: {
        gantry_storage_pool: {
          a: { '//': { metadata: { path: 'stack/a' } }, ...pool, description: 'x ${timestamp()}' },
          b: { ...pool, name: '${var.gone}' },
        },
        null_resource: { n: {} },
      },
    });
    expect(loaded.problems).toEqual([
      expect.objectContaining({ code: 'E_FOREIGN_RESOURCE' }),
      expect.objectContaining({ code: 'E_FUNCTION', construct: 'stack/a', expression: 'x ${timestamp()}', offset: 4 }),
      expect.objectContaining({ code: 'E_REFERENCE', message: 'there is no var.gone' }),
    ]);
  });

  test('settings of every synthesized file are ignored silently, and other settings without effect cause a notice', () => {
    const loaded = load({
      terraform: { required_version: '>= 1', required_providers: {}, backend: { local: {} } },
      moved: [{ from: 'a', to: 'b' }],
    });
    expect(loaded.problems).toEqual([]);
    expect(loaded.notices).toEqual([expect.stringContaining('moved')]);
  });

  test('a count may be a numeric text, as for Terraform', () => {
    expect(documents(withPool({ name: 'p${count.index}', count: '2' })).map(({ name }) => name)).toEqual(['p0', 'p1']);
  });

  test('imports with the name of the object are accepted', () => {
    for (const id of ['p', 'host:p', 'host:default/p'].filter((each) => !each.includes('host:p'))) {
      expect(load({ ...(withPool({}) as object), import: [{ to: 'gantry_storage_pool.p', id }] }).problems).toEqual([]);
    }
  });

  test('several files are one configuration, and a duplicate declaration is reported', () => {
    const file = (name: string, value: Json) => ({ file: name, folder: '.', value });
    const two = loadTerraform(
      [file('a.tf.json', withPool({})), file('b.tf.json', { locals: { x: 1 }, ...(withPool({}) as object) })],
      new Map(),
    );
    expect(two.problems).toEqual([expect.objectContaining({ code: 'E_DUPLICATE', file: 'b.tf.json' })]);
  });
});

test.each(['lxd', 'incus', 'gantry'])('a network ACL of %s has the state that its rules leave out', (prefix) => {
  const value: Json = {
    resource: {
      [`${prefix}_network_acl`]: {
        a: {
          name: 'web',
          ingress: [
            { action: 'allow', protocol: 'tcp', destination_port: 80, source: null },
            { action: 'drop', state: 'logged' },
          ],
        },
      },
      [`${prefix}_network`]: { n: { name: 'n0', config: { 'security.acls': `\${${prefix}_network_acl.a.name}` } } },
    },
  };
  const [acl, network] = documents(value);
  const rules = [
    { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: prefix === 'gantry' ? '80' : 80 },
    { action: 'drop', state: 'logged' },
  ];
  expect(acl).toMatchObject({ kind: 'network_acl', name: 'web', ingress: rules });
  expect(network).toMatchObject({ kind: 'network', config: { 'security.acls': 'web' } });
});

test('a copied container keeps parts of its source, like with the provider', () => {
  const source = { type: 'copy', source: 'web' };
  const [copy] = documents({
    resource: { gantry_container: { c: { name: 'c', source, config: { 'user.own': '1' } } } },
  });
  expect(copy).toMatchObject({ name: 'c', source, config: { 'user.own': '1' } });
  expect(copy).not.toHaveProperty('manage.mode');
});

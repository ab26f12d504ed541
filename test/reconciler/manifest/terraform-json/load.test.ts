// Terraform JSON as documents: output of synthesizers, and references in every form.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { codesOf, documentsIn, loadJson } from '../../../support/terraform/terraform-json.ts';

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
    expect(documentsIn(stack, { secret: 's3cret' })).toEqual([
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
    const { outputs, documents: made } = loadJson(stack, { secret: 's3cret' });
    expect([...outputs]).toEqual([
      ['names', { value: 'db-a', isSensitive: false }],
      // Any argument of a counted resource may be sensitive.
      ['address', { value: undefined, isSensitive: true }],
      ['secret', { value: 's3cret', isSensitive: true }],
    ]);
    expect(made.find(({ address }) => address === 'gantry_container.web[1]')?.sensitive).toEqual(['config']);
  });

  test('variables from outside override defaults and are converted to their type', () => {
    const names = documentsIn(stack, { secret: 'x', names: '["a", "b", "z"]', memory: '1GiB' }).map(({ name }) => name);
    expect(names).toContain('db-z');
    expect(names).toContain('big-web');
    expect(codesOf(stack)).toContain('E_NO_VALUE cdk.tf.json/variable/secret');
    expect(codesOf(stack, { secret: 'x', names: 'nope' })).toContain('E_VARIABLE cdk.tf.json/variable/names');
    expect(codesOf(stack, { secret: 'x', nmes: '[]' })).toEqual(['E_VARIABLE cdk.tf.json']);
  });
});

test('a copied container keeps parts of its source, like with the provider', () => {
  const source = { type: 'copy', source: 'web' };
  const [copy] = documentsIn({
    resource: { gantry_container: { c: { name: 'c', source, config: { 'user.own': '1' } } } },
  });
  expect(copy).toMatchObject({ name: 'c', source, config: { 'user.own': '1' } });
  expect(copy).not.toHaveProperty('manage.mode');
});

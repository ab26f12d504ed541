// Configurations for the providers of LXD and Incus as documents, beside those for our own provider.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { makeClient } from '../../../support/daemons/tls.ts';
import { codesOf, documentsIn } from '../../../support/terraform/terraform-json.ts';

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
    expect(documentsIn(value)).toEqual([
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
      expect(documentsIn(value)).toEqual([
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
    expect(documentsIn(value)).toMatchObject([
      { kind: 'image', source: { ...remote, type: 'image' } },
      { kind: 'image', source: { type: 'url', url: 'https://images.example/b' } },
    ]);
  });

  test('arguments that documents cannot express are refused by name', () => {
    const one = (body: Json): readonly string[] =>
      codesOf({ resource: { lxd_instance: { i: { name: 'c', image: 'a', ...(body as object) } } } });
    expect(one({ image: 'ours:alpine/3.20' })).toEqual(['E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/image']);
    expect(one({ wait_for: [{ type: 'delay', delay: '3s' }] })).toEqual([
      'E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/wait_for',
    ]);
    expect(one({ execs: { a: { command: ['true'], trigger: 'always' } } })).toEqual([
      'E_ARGUMENT cdk.tf.json/resource/lxd_instance/i/execs',
    ]);
    expect(
      codesOf({ resource: { lxd_instance_file: { f: { instance: 'c', target_path: '/x', content: 'x' } } } }),
    ).toEqual(['E_PART cdk.tf.json/resource/lxd_instance_file/f/instance']);
    expect(
      codesOf({ resource: { incus_storage_volume: { v: { name: 'v', pool: 'p', content_type: 'block' } } } }),
    ).toEqual(['E_ARGUMENT cdk.tf.json/resource/incus_storage_volume/v/content_type']);
    expect(
      codesOf({ resource: { lxd_trust_certificate: { c: { name: 'c', content: 'x', type: 'metrics' } } } }),
    ).toEqual(['E_ARGUMENT cdk.tf.json/resource/lxd_trust_certificate/c/type']);
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
    const found = documentsIn(value);
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
  const [acl, network] = documentsIn(value);
  const rules = [
    { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: prefix === 'gantry' ? '80' : 80 },
    { action: 'drop', state: 'logged' },
  ];
  expect(acl).toMatchObject({ kind: 'network_acl', name: 'web', ingress: rules });
  expect(network).toMatchObject({ kind: 'network', config: { 'security.acls': 'web' } });
});

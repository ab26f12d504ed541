// Data sources of Terraform JSON: the same arguments and values as in the provider, their effect on resources, and errors for missing
// objects.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Link } from '../../../../provider/connection/link.ts';
import type { Context } from '../../../../provider/framework/object-type.ts';
import { gantryProvider } from '../../../../provider/gantry.ts';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { loadTerraform } from '../../../../reconciler/manifest/terraform-json/load-terraform.ts';
import type { Value } from '../../../../reconciler/manifest/terraform-json/expression/values.ts';
import { readData } from '../../../../reconciler/manifest/terraform/live-data.ts';
import { createClient } from '../../../../server/client/client.ts';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { type TestDaemon } from '../../../support/daemons/daemon.ts';
import { fileDaemon } from '../../../support/daemons/file-daemon.ts';
import { makeClient } from '../../../support/daemons/tls.ts';
import { TerraformFolder } from '../../../support/terraform/folder.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const provider = gantryProvider({ env: {}, log: () => undefined });

/** The client's certificate, as the daemon takes it. */
async function trust(where: TestDaemon, name: string): Promise<void> {
  const certificate = (await makeClient(name)).certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await where.call('POST', '/1.0/certificates', { type: 'client', name, certificate });
}

const daemon = await fileDaemon({ runtime: 'sim' });
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'data', driver: 'dir', config: { 'user.a': 'b' } });
  const volume = { name: 'kept', description: 'for long', config: { 'user.a': 'b' } };
  await daemon.call('POST', '/1.0/storage-pools/data/volumes/custom', volume);
  await trust(daemon, 'ci');
  const ingress = [{ action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: '80' }];
  await daemon.call('POST', '/1.0/network-acls', { name: 'wall', ingress });
  await daemon.call('POST', '/1.0/networks', {
    name: 'lan0',
    config: { 'ipv4.address': '10.9.8.1/24', 'ipv6.address': 'none' },
  });
  await daemon.call('POST', '/1.0/profiles', {
    name: 'p',
    description: 'one',
    devices: { root: { type: 'disk', path: '/', pool: 'data' } },
  });
  for (const [name, config] of [
    ['da', { 'user.tier': 'front' }],
    ['db', {}],
  ] as const)
    await daemon.ok('POST', '/1.0/containers', { name, profiles: ['p'], config, source: { type: 'none' } });
});

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-data-')));

const run = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', `unix://${daemon.socketPath}`]);
const write = (value: object): void => writeFileSync(join(folder, 'main.tf.json'), JSON.stringify(value, null, 1));

interface Source {
  read(config: object, context: Context<Link>): Promise<object>;
}

describe('data of a daemon', () => {
  const asked: readonly (readonly [string, Readonly<Record<string, Json>>])[] = [
    ['gantry_container', { name: 'da' }],
    ['gantry_container', { name: 'nobody' }],
    ['gantry_containers', { name_prefix: 'd', status: null, profile: 'p', config: { 'user.tier': 'front' } }],
    ['gantry_containers', { name_prefix: null, status: 'Running', profile: null, config: null }],
    ['gantry_profile', { name: 'p' }],
    ['gantry_network', { name: 'lan0' }],
    ['gantry_network_acl', { name: 'wall' }],
    ['gantry_network_acl', { name: 'nothing' }],
    ['gantry_network_leases', { network: 'lan0' }],
    ['gantry_storage_pool', { name: 'data' }],
    ['gantry_storage_volume', { pool: 'data', name: 'kept' }],
    ['gantry_storage_volume', { pool: 'data', name: 'lost' }],
    ['gantry_image', { alias: 'nothing', fingerprint: null }],
    ['gantry_image', { alias: null, fingerprint: null }],
    ['gantry_server', {}],
    ['gantry_resources', {}],
    ['gantry_cluster', {}],
    ['gantry_project', { name: 'default' }],
    ['gantry_certificate', { fingerprint: '00' }],
  ];

  test('equals the data of the provider, and is missing if the provider finds nothing', async () => {
    const client = createClient(`unix://${daemon.socketPath}`);
    const { signal } = new AbortController();
    const link = { client, server: (await client.server()).metadata } as unknown as Link;
    try {
      const trusted = (await daemon.get('/1.0/certificates?recursion=1')) as readonly { fingerprint: string }[];
      const ours = trusted.map(({ fingerprint }) => ['gantry_certificate', { fingerprint }] as const);
      expect(ours).toHaveLength(1);
      for (const [type, args] of [...asked, ...ours]) {
        const [mine] = await readData(client, [{ type, args }]);
        const source = provider.dataSources.find(({ typeName }) => typeName === type) as unknown as Source | undefined;
        const context = { client: link, signal } as unknown as Context<Link>;
        const theirs = await source?.read(args, context).catch(() => undefined);
        if (theirs === undefined) expect(mine, type).toMatchObject({ error: expect.stringMatching(/./) as string });
        else expect(mine, type).toEqual({ value: withoutMoments(theirs, mine) });
      }
    } finally {
      await client.close();
    }
  });

  test('omits write-only values of Terraform', async () => {
    const client = createClient(`unix://${daemon.socketPath}`);
    onTestFinished(() => client.close());
    const config = { 'user.key': 'hidden', 'user.gantry.terraform.write_only': '["user.key"]' };
    await daemon.ok('POST', '/1.0/containers', { name: 'silent', profiles: ['p'], config, source: { type: 'none' } });
    const answers = await readData(client, [{ type: 'gantry_container', args: { name: 'silent' } }]);
    expect(answers).toMatchObject([{ value: { status: 'Stopped' } }]);
    expect(JSON.stringify(answers)).not.toContain('hidden');
  });

  /** Replaces figures that change between two reads; only their type is compared. */
  const withoutMoments = (theirs: object, mine: unknown): object => {
    const value = (mine as { readonly value?: Readonly<Record<string, unknown>> } | undefined)?.value ?? {};
    const moments = ['memory_used_bytes', 'space_used_bytes'].filter((key) => key in theirs);
    for (const key of moments) expect(value[key], key).toEqual(expect.any(Number));
    return { ...theirs, ...Object.fromEntries(moments.map((key) => [key, value[key]])) };
  };

  test('decides about resources when a plan is made, also through other data', async () => {
    write({
      data: {
        gantry_containers: { front: { config: { 'user.tier': 'front' } } },
        gantry_container: { each: { for_each: '${data.gantry_containers.front.containers}', name: '${each.key}' } },
      },
      resource: {
        gantry_profile: {
          of: {
            for_each: '${data.gantry_container.each}',
            name: 'of-${each.value.name}',
            description: '${each.value.profiles[0]} ${each.value.expanded_config["user.tier"]}',
          },
        },
      },
    });
    const applied = await run('apply', '-y', '-f', folder);
    expect(applied.stdout + applied.stderr).toContain('1 added');
    expect(await daemon.get('/1.0/profiles/of-da')).toMatchObject({ description: 'p front' });
    expect(await run('plan', '-f', folder, '-detailed-exitcode')).toMatchObject({ code: 0 });
  });

  test('data of a missing object is an error with its place; with depends_on it is known after an apply', async () => {
    const data = { gantry_profile: { p: { name: 'nothing' } } };
    const resource = { gantry_profile: { q: { name: 'q', description: '${data.gantry_profile.p.description}' } } };
    write({ data, resource });
    const missing = await run('plan', '-f', folder);
    expect(missing).toMatchObject({ code: 1 });
    expect(missing.stderr).toMatch(/main\.tf\.json:\d+:\d+/);
    expect(missing.stderr).toContain('data.gantry_profile.p');
    write({
      data: { gantry_profile: { p: { name: 'nothing', depends_on: ['gantry_profile.q'] } } },
      resource: { gantry_profile: { q: { name: 'q' } } },
      output: { o: { value: '${data.gantry_profile.p.description}' } },
    });
    expect(await run('plan', '-f', folder)).toMatchObject({ code: 0 });
  });

  test('is not read by validate, which reports that', async () => {
    write({
      data: { gantry_profile: { p: { name: 'nothing' } } },
      resource: { gantry_profile: { q: { name: 'q', description: '${data.gantry_profile.p.description}' } } },
    });
    const checked = await cli(['validate', '-f', folder]);
    expect(checked).toMatchObject({ code: 0 });
    expect(checked.stderr).toContain('data sources (gantry_profile) are read when a plan is made');
  });

  test('missing data in a check is a warning', async () => {
    const here = new TerraformFolder();
    const client = createClient(`unix://${daemon.socketPath}`);
    onTestFinished(() => client.close());
    here.write({
      'main.tf.json': {
        check: {
          there: {
            data: { gantry_profile: { p: { name: 'nothing' } } },
            assert: { condition: '${data.gantry_profile.p.description != ""}', error_message: 'It is empty.' },
          },
        },
      },
    });
    const { problems, notices } = await here.ours({ live: (requests) => readData(client, requests) });
    expect(problems).toEqual([]);
    expect(notices[0]).toMatch(/^check there: data\.gantry_profile\.p: /);
  });
});

test('lists and maps of data are lists and maps of Terraform, whose elements have one type', () => {
  const answers: Readonly<Record<string, Value>> = {
    gantry_image: { aliases: ['a', 'b'], properties: { os: 'toy' } },
    gantry_containers: { containers: { web: { profiles: ['p'] } } },
    gantry_profile: { devices: { root: { type: 'disk' } } },
  };
  const value = {
    data: { gantry_image: { i: { alias: 'a' } }, gantry_containers: { c: {} }, gantry_profile: { p: { name: 'p' } } },
    output: Object.fromEntries(
      Object.entries({
        list: '${data.gantry_image.i.aliases == ["a", "b"]}',
        wrapped: '${element(data.gantry_image.i.aliases, -1)}',
        map: '${data.gantry_image.i.properties == { os = "toy" }}',
        fallback: '${lookup(data.gantry_image.i.properties, "none", 5)}',
        object: '${data.gantry_containers.c.containers["web"] == { profiles = tolist(["p"]) }}',
        device: '${data.gantry_profile.p.devices["root"] == tomap({ type = "disk" })}',
      }).map(([name, text]) => [name, { value: text }]),
    ),
  };
  const { outputs, problems } = loadTerraform([{ file: 'main.tf.json', folder: '.', value }], new Map(), {
    read: ({ type }) => ({ value: answers[type] ?? null }),
  });
  expect(problems).toEqual([]);
  expect(Object.fromEntries([...outputs].map(([name, output]) => [name, output.value]))).toEqual({
    list: false,
    wrapped: 'b',
    map: false,
    fallback: '5',
    object: true,
    device: true,
  });
});

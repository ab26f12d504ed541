// Terraform JSON with modules, data sources, copies, properties of images, volumes and their snapshots, applied by Terraform to one
// daemon and by gantry to another: both have an empty plan afterwards and leave both daemons in the same state.
import { X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { daemonState } from '../../support/daemons/comparable-state.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = terraformMissing('modules, data and copies by Terraform and by gantry');

let attached: Attached | undefined;
const folder = tempFolder('gtm-');
beforeAll(async () => {
  attached = missing === undefined ? await serveHere() : undefined;
  packImage(folder, 'image.tar.gz', 'gtm');
});
afterAll(() => attached?.stop());

const settings = { required_version: '>= 1.5', required_providers: { gantry: { source: 'gantry/gantry' } } };

/** Containers of one service, in the requested number. */
const service: Json = {
  terraform: { required_providers: { gantry: { source: 'gantry/gantry' } } },
  variable: {
    name: { type: 'string' },
    size: { type: 'number', default: 1 },
    profile: { type: 'string' },
    hosts: { type: 'map(string)', default: {} },
  },
  resource: {
    gantry_container: {
      one: {
        count: '${var.size}',
        name: '${var.name}-${count.index}',
        profiles: ['${var.profile}'],
        source: { type: 'none' },
        running: false,
        files: { '/etc/hosts': { content: '${templatefile("${path.module}/hosts.tpl", { hosts = var.hosts })}' } },
        lifecycle: {
          postcondition: [{ condition: '${startswith(self.name, var.name)}', error_message: 'The name is wrong.' }],
        },
      },
    },
    gantry_container_file: {
      peers: {
        count: '${var.size}',
        container: '${gantry_container.one[count.index].name}',
        path: '/etc/peers',
        content: '${join(",", gantry_container.one[*].name)}',
      },
    },
  },
  output: { names: { value: '${gantry_container.one[*].name}' } },
};

const configuration = (size: number, fingerprint: string): Readonly<Record<string, Json>> => ({
  variable: { motd: { type: 'string' }, nets: { type: 'map(string)' } },
  data: {
    gantry_storage_pool: { there: { name: 'pre' } },
    gantry_storage_volume: { kept: { pool: 'pre', name: 'kept' } },
    gantry_certificate: { ci: { fingerprint } },
    gantry_server: { this: {} },
    gantry_containers: { all: { name_prefix: 'pre' } },
  },
  locals: { subnets: '${cidrsubnets(var.nets["base"], 8, 8)}' },
  check: {
    driver: { assert: [{ condition: '${data.gantry_storage_pool.there.driver == "zfs"}', error_message: 'No zfs.' }] },
  },
  resource: {
    gantry_image: {
      i: { source: { type: 'file', file: join(folder, 'image.tar.gz') }, properties: { os: 'busybox', mine: 'yes' } },
    },
    gantry_profile: {
      p: {
        name: 'p',
        description: '%{ for s in local.subnets }${s} %{ endfor }',
        config: {
          'user.hosts': '${cidrhost(local.subnets[1], 5)}',
          'user.found': '${length(data.gantry_containers.all.containers)}',
        },
        devices: { root: { type: 'disk', path: '/', pool: '${data.gantry_storage_pool.there.name}' } },
      },
    },
    gantry_storage_volume: {
      a: { pool: '${data.gantry_storage_pool.there.name}', name: 'a', config: { 'user.of': 'a' } },
      b: {
        pool: 'pre',
        name: 'b',
        source: { name: '${gantry_storage_volume.a.name}' },
        depends_on: ['gantry_volume_snapshot.s'],
      },
    },
    gantry_volume_snapshot: {
      s: { pool: 'pre', volume: '${gantry_storage_volume.a.name}', name: 's', description: 'size ${1 + 1}' },
    },
    gantry_container: {
      source: {
        name: 'source',
        profiles: ['${gantry_profile.p.name}'],
        source: { type: 'none' },
        config: { 'limits.memory': '64MiB', 'user.kept': 'no' },
        devices: { data: { type: 'disk', path: '/data', pool: 'pre', source: '${gantry_storage_volume.a.name}' } },
        running: false,
      },
      copy: {
        name: 'copy',
        profiles: ['${gantry_profile.p.name}'],
        source: { type: 'copy', source: '${gantry_container.source.name}', container_only: true },
        config: {
          'user.own': '${var.motd}',
          'user.volume':
            '${data.gantry_storage_volume.kept.description}: ${data.gantry_storage_volume.kept.config["user.a"]}',
          'user.trusted': '${data.gantry_certificate.ci.name}',
        },
        running: false,
      },
    },
    gantry_container_file: {
      ab: {
        container: '${gantry_container.source.name}',
        path: '/etc/other',
        content: '${gantry_container.copy.name}',
      },
      ba: {
        container: '${gantry_container.copy.name}',
        path: '/etc/other',
        content: '${gantry_container.source.name}',
      },
    },
  },
  module: {
    service: {
      source: './service',
      for_each: '${toset(["web", "db"])}',
      name: '${each.key}',
      size,
      profile: '${gantry_profile.p.name}',
      hosts: '${{ (each.key) = cidrhost(local.subnets[0], 1) }}',
    },
  },
});

const gantry = (daemon: TestDaemon, ...argv: string[]): Promise<CliRun> =>
  cli([...argv, '--host', `unix://${daemon.socketPath}`]);

function write(dir: string, files: Readonly<Record<string, Json>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content, null, 1));
  }
}

describe.skipIf(missing !== undefined)('modules, data sources, copies and volumes', { timeout: 240_000 }, () => {
  test('end in the same state by Terraform and by gantry, at first and after a change', async () => {
    if (attached === undefined) throw new Error('there is no provider');
    const [ofTerraform, ofGantry] = [await makeDaemon(), await makeDaemon()];
    const terraform = new Terraform(attached);
    const own = join(folder, 'own');
    const { certPem } = await makeClient('ci');
    const trusted = new X509Certificate(certPem);
    const fingerprint = trusted.fingerprint256.replaceAll(':', '').toLowerCase();
    const say = (size: number): void => {
      const config = configuration(size, fingerprint);
      const shared: Readonly<Record<string, Json>> = {
        'service/main.tf.json': service,
        'service/hosts.tpl': '%{ for name, address in hosts ~}\n${address} ${name}\n%{ endfor ~}\n',
        'terraform.tfvars': 'motd = "from HCL"\nnets = {\n  base = "10.20.0.0/16"\n}\n',
        'x_override.tf.json': { resource: { gantry_profile: { p: { config: { 'user.hosts': 'over' } } } } },
      };
      write(own, { 'main.tf.json': { terraform: settings, ...config }, ...shared });
      const provider = { gantry: { address: `unix://${ofTerraform.socketPath}` } };
      write(terraform.dir, { 'main.tf.json': { terraform: settings, provider, ...config }, ...shared });
    };
    try {
      for (const daemon of [ofTerraform, ofGantry]) {
        await daemon.call('POST', '/1.0/storage-pools', { name: 'pre', driver: 'dir' });
        const volume = { name: 'kept', description: 'for long', config: { 'user.a': 'b' } };
        await daemon.call('POST', '/1.0/storage-pools/pre/volumes/custom', volume);
        const certificate = trusted.raw.toString('base64');
        await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'ci', certificate });
      }
      const settle = async (): Promise<string> => {
        await terraform.settle();
        const applied = await gantry(ofGantry, 'apply', '-y', '-f', own);
        expect(applied, applied.stdout + applied.stderr).toMatchObject({ code: 0 });
        const again = await gantry(ofGantry, 'plan', '-f', own, '-detailed-exitcode');
        expect(again, again.stdout + again.stderr).toMatchObject({ code: 0 });
        expect(await daemonState(ofTerraform)).toEqual(await daemonState(ofGantry));
        return applied.stderr;
      };
      say(1);
      await terraform.run(['get']);
      expect(await settle()).toContain('check driver: No zfs.');
      expect(await ofGantry.get('/1.0/containers/copy')).toMatchObject({
        config: { 'user.own': 'from HCL', 'user.volume': 'for long: b', 'user.trusted': 'ci' },
        devices: {},
      });
      expect(await ofGantry.get('/1.0/storage-pools/pre/volumes/custom/a/snapshots/s')).toMatchObject({
        description: 'size 2',
      });
      const images = (await ofGantry.get('/1.0/images?recursion=1')) as readonly { properties: object }[];
      expect(images.map(({ properties }) => properties)).toEqual([{ os: 'busybox', mine: 'yes' }]);
      say(2);
      await settle();
      expect(await ofGantry.get('/1.0/containers/web-1')).toMatchObject({ profiles: ['p'] });
      const destroyed = await gantry(ofGantry, 'destroy', '-y', '-f', own);
      expect(destroyed, destroyed.stdout + destroyed.stderr).toMatchObject({ code: 0 });
      await terraform.destroy();
    } finally {
      await ofTerraform.cleanUp();
      await ofGantry.cleanUp();
    }
  });
});

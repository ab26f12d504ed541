// One Terraform configuration with every feature of documents, applied by Terraform to one daemon and by gantry to another: both have
// an empty plan afterwards, follow the same change, and leave both daemons in the same state, inside the containers too.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../../server/client/client.ts';
import { filesOf } from '../../../server/client/files/container-files.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type Listening, type TestDaemon } from '../../support/daemons/daemon.ts';
import { daemonState } from '../../support/daemons/comparable-state.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { contentOf } from '../../support/daemons/file-contents.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = terraformMissing('Terraform JSON by Terraform and by gantry');

let attached: Attached | undefined;
const folder = tempFolder('gtj-');
beforeAll(async () => {
  attached = missing === undefined ? await serveHere() : undefined;
  packImage(folder, 'image.tar.gz', 'gtj');
});
afterAll(() => attached?.stop());

interface Wishes {
  readonly motd: string;
  readonly release: string;
}

const configuration = (certificate: string, { motd, release }: Wishes): object => ({
  variable: { motd: { default: motd } },
  locals: { services: { web: 64, db: '96' } },
  resource: {
    gantry_server_config: { s: { config: { 'images.remote_cache_expiry': '5' } } },
    gantry_certificate: { ci: { name: 'ci', certificate } },
    gantry_storage_pool: { p: { name: 'pool', driver: 'dir' } },
    gantry_storage_volume: { v: { pool: '${gantry_storage_pool.p.name}', name: 'data', description: 'kept' } },
    gantry_image: {
      i: { source: { type: 'file', file: join(folder, 'image.tar.gz') }, properties: { os: 'busybox' } },
    },
    gantry_image_alias: { a: { name: 'base', target: '${gantry_image.i.fingerprint}' } },
    gantry_profile: {
      small: {
        name: 'small',
        config: { 'limits.cpu': 1 },
        devices: { root: { type: 'disk', path: '/', pool: '${gantry_storage_pool.p.name}' } },
      },
    },
    gantry_container: {
      service: {
        for_each: '${local.services}',
        name: '${each.key}',
        profiles: ['${gantry_profile.small.name}'],
        source: { type: 'image', alias: '${gantry_image_alias.a.name}' },
        config: { 'limits.memory': '${each.value}MiB' },
        snapshots: { schedule: '@daily', stopped: false },
        files: { '/etc/name': { content: '${each.key}\n', mode: '0640', uid: 7 }, '/etc/own': { content: '' } },
        exec: {
          b: { command: ['echo', 'b'], on: 'create' },
          a: { command: ['echo', 'a'], environment: { WHO: release }, cwd: '/etc' },
          c: { command: ['false'], fail_on_error: false, timeout: '20s' },
        },
        stop_timeout: 1,
        timeouts: { create: '2m' },
      },
      off: { name: 'off', profiles: ['${gantry_profile.small.name}'], running: 'false', architecture: 'x86_64' },
    },
    gantry_container_file: {
      motd: { container: '${gantry_container.service["web"].name}', path: '/etc/motd', content: '${var.motd}' },
      dir: { container: 'db', path: '/srv/data', type: 'directory', depends_on: ['gantry_container.service'] },
      link: {
        container: 'off',
        path: '/etc/link',
        type: 'symlink',
        target: 'motd',
        depends_on: ['gantry_container.off'],
      },
    },
    gantry_container_exec: {
      told: {
        container: 'web',
        command: ['echo', 'told'],
        triggers: { release },
        depends_on: ['gantry_container_file.motd'],
      },
    },
    gantry_snapshot: {
      first: {
        container: 'db',
        name: 'first',
        expires_at: '2040-01-31T12:00:00Z',
        depends_on: ['gantry_container_file.dir'],
      },
    },
  },
});

const gantry = (daemon: TestDaemon, ...argv: string[]): Promise<CliRun> =>
  cli([...argv, '--host', `unix://${daemon.socketPath}`]);

async function insideOf(daemon: TestDaemon): Promise<Record<string, unknown>> {
  const client = createClient(`unix://${daemon.socketPath}`);
  try {
    const found: Record<string, unknown> = {};
    const read = async (container: string, path: string): Promise<void> => {
      found[`${container}${path}`] = await contentOf(filesOf(client.http, container), path).catch(() => 'nothing');
    };
    for (const container of ['web', 'db']) {
      for (const path of ['/etc/name', '/etc/own', '/etc/motd', '/srv/data']) await read(container, path);
    }
    await read('off', '/etc/link');
    const snapshots = (await daemon.get('/1.0/containers/db/snapshots?recursion=1')) as readonly {
      name: string;
      expires_at: string;
      stateful: boolean;
    }[];
    const seen = snapshots.map(({ name, expires_at: expires, stateful }) => ({
      name,
      expires: Date.parse(expires),
      stateful,
    }));
    return { ...found, snapshots: seen };
  } finally {
    await client.close();
  }
}

/** The commands since the last call, by container. Everything before our marker has arrived. */
async function commandsOf(heard: Listening, daemon: TestDaemon): Promise<Record<string, string[]>> {
  const mark = `mark ${Math.random()}`;
  await daemon.call('PATCH', '/1.0/profiles/default', { description: mark });
  await heard.next(({ metadata }) => JSON.stringify(metadata).includes('profiles/default'));
  const ran: Record<string, string[]> = {};
  for (const event of heard.events.splice(0)) {
    const { action, source, context } = event.metadata as {
      readonly action: string;
      readonly source: string;
      readonly context?: { readonly command?: readonly string[] };
    };
    if (action !== 'container-exec') continue;
    const name = source.slice(source.lastIndexOf('/') + 1);
    ran[name] = [...(ran[name] ?? []), (context?.command ?? []).join(' ')];
  }
  await daemon.call('PATCH', '/1.0/profiles/default', { description: '' });
  return ran;
}

describe.skipIf(missing !== undefined)('one configuration with every feature', () => {
  test('ends in the same state by Terraform and by gantry, at first and after a change', async () => {
    if (attached === undefined) throw new Error('there is no provider');
    const { certPem } = await makeClient();
    const [ofTerraform, ofGantry] = [await makeDaemon(), await makeDaemon()];
    const heard = { terraform: await ofTerraform.listen('lifecycle'), gantry: await ofGantry.listen('lifecycle') };
    const terraform = new Terraform(attached);
    const file = join(folder, 'main.tf.json');
    const say = (wishes: Wishes): void => {
      const config = configuration(certPem, wishes);
      writeFileSync(file, JSON.stringify(config, null, 1));
      const ours = {
        terraform: { required_providers: { gantry: { source: 'gantry/gantry' } } },
        provider: { gantry: { address: `unix://${ofTerraform.socketPath}` } },
      };
      writeFileSync(join(terraform.dir, 'main.tf.json'), JSON.stringify({ ...config, ...ours }, null, 1));
    };
    const settle = async (): Promise<Record<string, unknown>> => {
      await terraform.settle();
      const applied = await gantry(ofGantry, 'apply', '-y', '-f', file);
      expect(applied, applied.stdout + applied.stderr).toMatchObject({ code: 0 });
      const again = await gantry(ofGantry, 'plan', '-f', file, '-detailed-exitcode');
      expect(again, again.stdout + again.stderr).toMatchObject({ code: 0 });
      const inside = { ...(await insideOf(ofGantry)), commands: await commandsOf(heard.gantry, ofGantry) };
      expect({ ...(await insideOf(ofTerraform)), commands: await commandsOf(heard.terraform, ofTerraform) }).toEqual(
        inside,
      );
      expect(await daemonState(ofTerraform)).toEqual(await daemonState(ofGantry));
      return inside;
    };
    try {
      say({ motd: 'hello', release: '1' });
      expect(await settle()).toMatchObject({
        'web/etc/name': '640 7:0 web\n',
        'web/etc/motd': '644 0:0 hello',
        commands: { web: ['echo a', 'echo b', 'false', 'echo told'], db: ['echo a', 'echo b', 'false'] },
        'off/etc/link': '-> motd',
        snapshots: [{ name: 'first', expires: Date.parse('2040-01-31T12:00:00Z'), stateful: false }],
      });
      // The text of a file, a command, and a trigger: dependent commands run again, the rest does not.
      say({ motd: 'hello again', release: '2' });
      expect(await settle()).toMatchObject({
        'web/etc/motd': '644 0:0 hello again',
        commands: { web: ['echo a', 'echo told'], db: ['echo a'] },
      });
      const destroyed = await gantry(ofGantry, 'destroy', '-y', '-f', file);
      expect(destroyed, destroyed.stdout + destroyed.stderr).toMatchObject({ code: 0 });
      await terraform.destroy();
    } finally {
      await ofTerraform.cleanUp();
      await ofGantry.cleanUp();
    }
  });
});

// Real Terraform with the provider from its mirror against gantryd on the simulation: the usual tasks of a user.
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { fastPool } from '../../support/terraform/blocks.ts';
import { gantryProvider, providerSource } from '../../../provider/gantry.ts';
import { providersSchema } from '../../../provider/schema-json/providers-schema.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import {
  makeRelease,
  Terraform,
  terraformMissing,
  type Attached,
  type Release,
} from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';
import { until } from '../../support/until.ts';

const missing = terraformMissing('real Terraform against the simulation') ?? busyboxMissing();

let release: Release;
let attached: Attached;
let daemon: TestDaemon;
let terraform: Terraform;

const stack = `
${fastPool}resource "gantry_network" "n" {
  name   = "tf0"
  config = { "ipv4.address" = "auto", "ipv6.address" = "none" }
}
resource "gantry_profile" "web" {
  name   = "web"
  config = { "limits.memory" = "256MiB" }
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    eth0 = { type = "nic", nictype = "bridged", parent = gantry_network.n.name }
  }
}
`;

const container = (more = '', name = 'web1'): string => `
resource "gantry_container" "c" {
  name         = "${name}"
  profiles     = [gantry_profile.web.name]
  stop_timeout = 1
  ${more}
}
`;

describe.skipIf(missing !== undefined)('terraform', () => {
  beforeAll(async () => void (release = await makeRelease()));
  useTerraform((world) => void ({ attached, daemon, terraform } = world));

  /** Terraform itself starts the provider, from the mirror. */
  const installed = (): Terraform => {
    terraform = new Terraform(release, { address: `unix://${daemon.socketPath}` });
    return terraform;
  };

  test('A stack is applied, plans to nothing, changes live, restarts with a warning, is replaced, and is destroyed', async () => {
    terraform.write(stack + container('wait_for = [{ type = "ipv4" }]'));
    expect(await terraform.apply()).toContain('4 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    const first = terraform.state('gantry_container.c');
    expect(first).toMatchObject({
      status: 'Running',
      running: true,
      profiles: ['web'],
      ipv4_address: expect.stringMatching(/^10\./),
    });

    terraform.write(stack + container('config = { "limits.memory" = "128MiB" }'));
    expect(await terraform.apply()).not.toContain('restart');
    expect((await daemon.get('/1.0/containers/web1')).config['limits.memory']).toBe('128MiB');
    const { created_at: created } = await daemon.get('/1.0/containers/web1');

    terraform.write(stack + container('config = { "limits.kernel.nofile" = "1024" }'));
    expect(await terraform.apply()).toMatch(/will be restarted[\s\S]*limits\.kernel\.nofile/);
    const after = await daemon.get('/1.0/containers/web1');
    expect(after).toMatchObject({ status: 'Running', created_at: created });
    expect(after.last_used_at).not.toBe(first.last_used_at);
    expect(after.config['limits.memory']).toBeUndefined();

    terraform.write(stack + container('architecture = "i686"'));
    expect(await terraform.apply()).toContain('1 added, 0 changed, 1 destroyed');
    expect((await daemon.get('/1.0/containers/web1')).created_at).not.toBe(created);
    terraform.write(stack + container('architecture = "i686"', 'web2'));
    expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/web2']);
    expect(await terraform.destroy()).toContain('4 destroyed');
    expect(await daemon.get('/1.0/storage-pools')).toEqual([]);
  });

  test('The provider is installed from the zip in a project of modules', async () => {
    const packed = new Terraform(release, { packed: true, address: `unix://${daemon.socketPath}` });
    writeFileSync(join(packed.dir, 'package.json'), '{"type":"module"}');
    packed.write('data "gantry_server" "s" {}\noutput "v" {\n  value = data.gantry_server.s.version\n}\n');
    await packed.init();
    await packed.apply();
    expect(packed.outputs()['v']).toBe(release.version);
  });

  test('The schema of the provider equals the schema that Terraform prints', async () => {
    installed();
    terraform.write('');
    await terraform.init();
    const { stdout } = await terraform.run(['providers', 'schema', '-json']);
    const real: unknown = JSON.parse(stdout.slice(stdout.indexOf('{')));
    const ours: unknown = JSON.parse(
      JSON.stringify(providersSchema(gantryProvider({ env: {}, log() {} }), providerSource)),
    );
    expect(isDeepStrictEqual(ours, real)).toBe(true);
  });

  test('Drift is found and corrected, keys of the server stay, and missing objects leave the state', async () => {
    const files = 'files = { "/etc/gantry/motd" = { content = "hello\\n" } }';
    terraform.write(stack + container(`description = "mine"\n  ${files}`));
    await terraform.apply();
    await daemon.ok('PUT', '/1.0/containers/web1/state', { action: 'stop', force: true });
    await daemon.call('PATCH', '/1.0/containers/web1', { description: 'theirs', config: { 'user.added': '1' } });
    await daemon.call('POST', '/1.0/containers/web1/files?path=/etc/gantry/motd', 'changed', {});
    const { output } = await terraform.plan();
    for (const change of ['"theirs" -> "mine"', 'user.added', 'sha256', 'running']) expect(output).toContain(change);
    await terraform.apply();
    const live = await daemon.get('/1.0/containers/web1');
    expect(live).toMatchObject({ status: 'Running', description: 'mine' });
    expect(live.config['user.added']).toBeUndefined();
    expect(live.config['volatile.uuid'] ?? live.config['volatile.eth0.hwaddr']).toBeDefined();
    expect((await daemon.call('GET', '/1.0/containers/web1/files?path=/etc/gantry/motd')).bytes.toString()).toBe(
      'hello\n',
    );
    await terraform.expectNoChanges();

    await daemon.ok('PUT', '/1.0/containers/web1/state', { action: 'stop', force: true });
    await daemon.ok('DELETE', '/1.0/containers/web1');
    expect((await terraform.plan()).output).toContain('1 to add, 0 to change, 0 to destroy');
  });

  test('Commands run, keep their output in the state only when asked to, and fail with it', async () => {
    const quiet = 'quiet = { command = ["echo", "token-1"] }';
    terraform.write(`${stack}${container(`exec = { hello = { command = ["echo", "hi"], record_output = true }, ${quiet} }`)}
resource "gantry_container_exec" "e" {
  container     = gantry_container.c.name
  command       = ["echo", "once"]
  record_output = true
  triggers      = { round = "1" }
}
resource "gantry_container_exec" "quiet" {
  container = gantry_container.c.name
  command   = ["echo", "token-2"]
}
output "said" {
  value = [gantry_container.c.exec["hello"].stdout, gantry_container_exec.e.stdout]
}
`);
    await terraform.apply();
    expect(terraform.outputs()['said']).toEqual(['hi\n', 'once\n']);
    const silent = { exit_code: 0, stdout: null, stderr: null };
    expect(terraform.state('gantry_container.c').exec.quiet).toMatchObject(silent);
    expect(terraform.state('gantry_container_exec.quiet')).toMatchObject(silent);
    await terraform.expectNoChanges();
    terraform.write(stack + container('exec = { hello = { command = ["sh", "-c", "echo why; exit 3"] } }'));
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toMatch(/A command in web1 failed.*exited with 3.*why/);
    // The container exists and is in the state, so the next apply continues from there.
    terraform.write(stack + container(''));
    await terraform.settle();
  });

  test('The default profile is adopted, and emptied on destroy', async () => {
    terraform.write('resource "gantry_profile" "d" {\n  name   = "default"\n  config = { "user.a" = "b" }\n}\n');
    await terraform.apply();
    expect((await daemon.get('/1.0/profiles/default')).config).toEqual({ 'user.a': 'b' });
    await terraform.destroy();
    expect((await daemon.get('/1.0/profiles/default')).config).toEqual({});
    await daemon.call('PUT', '/1.0/profiles/default', { config: { 'user.theirs': '1' } });
    expect(await terraform.fails('apply', '-auto-approve')).toMatch(/default is not empty.*terraform import/);
  });

  test('A trust password is sent once, and never stored', async () => {
    terraform.write(`resource "gantry_server_config" "s" {
  config                 = { "images.auto_update_interval" = "12" }
  trust_password         = "hush-hush"
  trust_password_version = 1
}
`);
    await terraform.apply();
    expect((await daemon.get('/1.0')).config).toMatchObject({
      'core.trust_password': true,
      'images.auto_update_interval': '12',
    });
    expect(readFileSync(join(terraform.dir, 'terraform.tfstate'), 'utf8')).not.toContain('hush-hush');
    await terraform.expectNoChanges();
    await terraform.destroy();
    expect((await daemon.get('/1.0')).config).toEqual({});
  });

  test('A container whose start failed is tainted, and the next apply creates it again', async () => {
    daemon.sim.faults.inject({ operation: 'start', container: 'web1', error: 'no such luck', times: 1 });
    terraform.write(stack + container());
    expect(await terraform.fails('apply', '-auto-approve')).toContain('no such luck');
    expect(await daemon.get('/1.0/containers')).toEqual(['/1.0/containers/web1']);
    expect((await terraform.plan()).output).toMatch(/is tainted, so must be replaced/);
    await terraform.settle();
  });

  test('A wait for a file or a port that times out shows the state of the container', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const wait = (path: string): string =>
      container(`files = { "/ready" = { content = "yes" } }
        wait_for = [
          { type = "tcp", host = "127.0.0.1", port = ${port} },
          { type = "file", path = "${path}", timeout = "2s" },
        ]`);
    try {
      terraform.write(stack + wait('/ready'));
      await terraform.settle();
      terraform.write(stack + wait('/never').replaceAll('web1', 'web2'));
      const failed = (await terraform.fails('apply', '-auto-approve')).replaceAll(/\s*│\s*/g, ' ');
      expect(failed).toContain('The container web2 did not become ready');
      expect(failed).toMatch(/the file \/never did not come in 2 s: Running, .*leases on/s);
      terraform.write(stack + container('wait_for = [{ type = "tcp" }]'));
      expect(await terraform.fails('plan')).toContain('The port to wait for is missing');
    } finally {
      listener.close();
    }
  });

  test('Ctrl-C stops an apply without losing objects', async () => {
    installed();
    terraform.write(stack + container('wait_for = [{ type = "command", command = ["false"], timeout = "10m" }]'));
    await terraform.init();
    let sent = false;
    const ran = await terraform.run(['apply', '-auto-approve'], {
      heard(text, child) {
        if (sent || !text.includes('gantry_container.c: Creating')) return;
        sent = true;
        void until(async () => (await daemon.get('/1.0/containers?recursion=1'))[0]?.status === 'Running').then(() =>
          child.kill('SIGINT'),
        );
      },
    });
    expect(ran.output).toContain('Interrupt received');
    expect(ran.output).not.toContain('Plugin did not respond');
    expect(terraform.state('gantry_container.c')).toMatchObject({ name: 'web1', status: 'Running' });
    terraform.write(stack + container());
    await terraform.settle();
  });

  test('An error names the wrong attribute and the remedy', async () => {
    terraform.write(`resource "gantry_container" "c" {
  name    = "web 1"
  config  = { "limits.memroy" = "1GiB", "limits.memory" = "lots" }
  devices = { eth0 = { type = "nicc" }, root = { type = "disk", path = "/" } }
  source  = { type = "image" }
  exec    = { a = { command = ["true"], on = "never" } }
}
resource "gantry_storage_pool" "p" {
  name   = "p"
  driver = "dir"
  config = { "zfs.pool_name" = "x" }
  timeouts = { create = "soon" }
}
`);
    const said = await terraform.fails('plan');
    for (const part of [
      'name must not contain " "',
      'did you mean limits.memory?',
      '"lots"',
      'did you mean nic?',
      'devices["root"]["pool"]',
      'Give exactly one of alias and fingerprint',
      'must be one of create, change, start',
      'must be a duration',
    ]) {
      expect(said).toContain(part);
    }
  });

  test('Values that are known only after apply are validated at the apply', async () => {
    const late = (memory: string, files: number): string => `${stack}
resource "terraform_data" "late" {
  input = { memory = "${memory}", files = "${files}" }
}
${container(`config = {
    "limits.memory"        = terraform_data.late.output.memory
    "limits.kernel.nofile" = terraform_data.late.output.files
  }
  description = terraform_data.late.id`)}
`;
    terraform.write(late('64MiB', 1024));
    await terraform.settle();
    const before = await daemon.get('/1.0/containers/web1');
    expect(before.config['limits.memory']).toBe('64MiB');
    // One of the changed entries restarts the container.
    terraform.write(late('32MiB', 2048));
    await terraform.settle();
    const after = await daemon.get('/1.0/containers/web1');
    expect(after).toMatchObject({
      status: 'Running',
      config: { 'limits.memory': '32MiB', 'limits.kernel.nofile': '2048' },
    });
    expect(after.last_used_at).not.toBe(before.last_used_at);
  });

  test('An unreachable daemon is an error that names its address', async () => {
    terraform = new Terraform(attached, { address: 'unix:///nonexistent/unix.socket' });
    terraform.write('data "gantry_server" "s" {}\n');
    expect(await terraform.fails('plan')).toMatch(
      /cannot reach unix:\/\/\/nonexistent.*address from the provider block/,
    );
  });

  test('Projects and cluster members are refused on a server without them', async () => {
    terraform.write(`resource "gantry_cluster_member" "m" {
  name = "node2"
}
`);
    expect(await terraform.fails('apply', '-auto-approve')).toMatch(/This server cannot manage cluster members/);
    terraform.write(`resource "gantry_network" "n" {
  name = "tf1"
  member_overrides = { a = { config = { "bridge.external_interfaces" = "eth1" } } }
}
`);
    expect(await terraform.fails('apply', '-auto-approve')).toMatch(/This server cannot take member_overrides/);
    await daemon.call('POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
    const volumes = '/1.0/storage-pools/p/volumes/custom';
    await daemon.call('POST', volumes, { name: 'v', type: 'custom', config: {} });
    await daemon.ok('POST', `${volumes}/v/snapshots`, { name: 's' });
    terraform.write(`resource "gantry_storage_volume" "v" {
  pool = "p"
  name = "v"
}
resource "gantry_volume_snapshot" "s" {
  pool   = "p"
  volume = "v"
  name   = "s"
}
`);
    for (const [address, id] of [
      ['gantry_storage_volume.v', 'p/v'],
      ['gantry_volume_snapshot.s', 'p/v/s'],
    ] as const) {
      expect(await terraform.fails('import', address, `${id},target=one`)).toContain('This server cannot');
      await terraform.import(address, id);
    }
  });
});

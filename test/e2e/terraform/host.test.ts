// Real Terraform with the provider: on real containers, over TLS, and with daemons that die. stock-lxd.test.ts has a stock LXD server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countRequests } from '../../support/daemons/counting-proxy.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { call, makeDaemon, realRuntimeMissing, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { buildPrograms, type Programs } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const noTerraform = terraformMissing('real Terraform on hosts');
const noHost = noTerraform ?? (await realRuntimeMissing());

let attached: Attached;
const open = (address: string): Terraform => new Terraform(attached, { address });

describe.skipIf(noTerraform !== undefined)('terraform', { timeout: 300_000 }, () => {
  beforeAll(async () => {
    attached = await serveHere();
  });
  afterAll(() => attached?.stop());

  /** Network, pool, profile, image and a running container with an address; changed, restarted, renamed, destroyed. */
  async function realStory(address: string, bridge: string, read: (path: string) => Promise<unknown>): Promise<void> {
    const run = open(address);
    const image = await buildBusyboxImage(join(run.dir, 'image'));
    const subnet = freeSubnet();
    const config = (more: string): string => `
resource "gantry_storage_pool" "p" {
  name   = "tfpool"
  driver = "dir"
}
resource "gantry_network" "n" {
  name   = "${bridge}"
  config = { "ipv4.address" = "${subnet}.1/24", "ipv4.nat" = "true", "ipv6.address" = "none" }
}
resource "gantry_profile" "web" {
  name    = "tfweb"
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    eth0 = { type = "nic", nictype = "bridged", parent = gantry_network.n.name, name = "eth0" }
  }
}
resource "gantry_image" "i" {
  source = { type = "file", file = "${image.metadataPath}" }
}
resource "gantry_container" "c" {
  name         = "tfc"
  profiles     = [gantry_profile.web.name]
  source       = { type = "image", fingerprint = gantry_image.i.fingerprint }
  stop_timeout = 3
  wait_for     = [{ type = "ipv4", nic = "eth0", timeout = "90s" }]
  files        = { "/etc/gantry/motd" = { content = "hello\\n", mode = "0600" } }
  exec         = { motd = { command = ["cat", "/etc/gantry/motd"], record_output = true } }
  ${more}
}
resource "gantry_snapshot" "s" {
  container = gantry_container.c.name
  name      = "one"
}
`;
    const inSubnet = new RegExp(`^${subnet.replaceAll('.', '\\.')}\\.`);
    run.write(config(''));
    await run.settle();
    const state = run.state('gantry_container.c');
    expect(state.ipv4_address).toMatch(inSubnet);
    expect(state.exec.motd).toMatchObject({ exit_code: 0, stdout: 'hello\n' });
    run.write(config('config = { "limits.memory" = "64MiB" }'));
    expect(await run.apply()).not.toContain('restarted');
    const nested = config('config = { "limits.memory" = "64MiB", "security.nesting" = "true" }');
    run.write(nested);
    expect(await run.apply()).toContain('will be restarted');
    expect(await read('/1.0/containers/tfc')).toMatchObject({
      status: 'Running',
      config: { 'security.nesting': 'true' },
    });
    // A rename keeps the container with its snapshot, and it gets an address again.
    const { created_at: created } = (await read('/1.0/containers/tfc')) as { created_at: string };
    run.write(nested.replace('"tfc"', '"tfd"'));
    expect(await run.apply()).toContain('0 added, 2 changed, 0 destroyed');
    await run.expectNoChanges();
    expect(await read('/1.0/containers/tfd')).toMatchObject({ status: 'Running', created_at: created });
    expect(run.state('gantry_container.c').ipv4_address).toMatch(inSubnet);
    await run.destroy();
    expect(await read('/1.0/containers')).toEqual([]);
  }

  test.skipIf(noHost !== undefined)('Terraform manages a real container from creation to destruction', async () => {
    const programs = buildPrograms();
    await withRealNetwork('tfbr0', async () => {
      const gantryd = await startGantryd(programs, { runtime: 'lxc' });
      try {
        await realStory(gantryd.host, 'tfbr0', (path) => gantryd.get(path));
        expect(hostParts(gantryd.dir, ['tfbr0'])).toEqual(nothing);
      } finally {
        await remove(gantryd, ['tfbr0']);
      }
    });
  });

  describe('over TLS', () => {
    let daemon: TestDaemon;
    beforeAll(async () => {
      daemon = await makeDaemon({ https: '127.0.0.1:0' });
    });
    afterAll(() => daemon?.cleanUp());

    test('A connection over TLS needs the right certificates on both sides, and errors name the wrong one', async () => {
      const address = `https://${daemon.daemon.httpsAddress() ?? ''}`;
      const pin = (await daemon.get('/1.0')).environment.certificate_fingerprint as string;
      const client = await makeClient('terraform');
      const run = open(address);
      writeFileSync(join(run.dir, 'client.crt'), client.certPem);
      writeFileSync(join(run.dir, 'client.key'), client.keyPem);
      const provider = (more: string): string =>
        `provider "gantry" {\n  address = "${address}"\n${more}}\ndata "gantry_server" "s" {}\n`;
      const files = `  client_certificate_file = "${run.dir}/client.crt"\n  client_key_file = "${run.dir}/client.key"\n`;
      run.write(provider(''));
      expect(await run.fails('plan')).toMatch(/certificate is not trusted.*give its fingerprint/);
      run.write(provider(`  server_certificate = "${'0'.repeat(64)}"\n`));
      expect(await run.fails('plan')).toMatch(/its fingerprint is [0-9a-f ]+, expected 0000/);
      run.write(provider(`  server_certificate = "${pin}"\n`));
      expect(await run.fails('plan')).toMatch(/does not trust this client: set client_certificate/);
      run.write(provider(`${files}  server_certificate = "${pin}"\n`));
      expect(await run.fails('plan')).toMatch(/does not trust this client: add this client certificate/);
      await daemon.call('PATCH', '/1.0', { config: { 'core.trust_password': 'sesame' } });
      run.write(provider(`${files}  server_certificate = "${pin}"\n  trust_password = "guess-123"\n`));
      expect(await run.fails('plan')).not.toContain('guess-123');
      run.write(provider(`${files}  server_certificate = "${pin}"\n  trust_password = "sesame"\n`));
      await run.apply();
      // From now on the server trusts the certificate.
      run.write(provider(`${files}  server_certificate = "${pin}"\n`));
      await run.expectNoChanges();
    });
  });

  describe('a daemon that dies', () => {
    let programs: Programs;
    let gantryd: Gantryd | undefined;
    beforeAll(() => {
      programs = buildPrograms();
    });
    afterAll(async () => {
      if (gantryd !== undefined) await remove(gantryd, []);
    });

    test('A daemon killed at any moment leaves no object that the state does not know', async () => {
      gantryd = await startGantryd(programs, { runtime: 'sim' });
      const run = open(gantryd.host);
      const count = 6;
      run.write(`
resource "gantry_storage_pool" "p" {
  name   = "p"
  driver = "dir"
}
resource "gantry_container" "c" {
  count    = ${count}
  name     = "c\${count.index}"
  profiles = []
  stop_timeout = 0
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
`);
      const daemon = gantryd;
      let killed = false;
      const ran = await run.run(['apply', '-auto-approve'], {
        heard(text) {
          // Some objects exist, others are being created.
          if (killed || !text.includes('Creation complete') || !text.includes('gantry_container.c[0]: Creating'))
            return;
          killed = true;
          void daemon.kill();
        },
      });
      expect(killed).toBe(true);
      expect(ran.output).not.toContain('Plugin did not respond');
      await daemon.start();
      const live = ((await daemon.get('/1.0/containers?recursion=1')) as { name: string }[]).map(({ name }) => name);
      const known: string[] = [];
      const { stdout } = await run.run(['state', 'list']);
      for (const [, index] of stdout.matchAll(/^gantry_container\.c\[(\d)\]$/gm)) known.push(`c${index}`);
      for (const name of live) expect(known, `${name} is there and not in the state`).toContain(name);
      await run.settle();
      expect(await daemon.get('/1.0/containers')).toHaveLength(count);
      await run.destroy();
      expect(await daemon.get('/1.0/containers')).toEqual([]);
    });

    test('A plan reads many containers with few requests', async () => {
      const daemon = await makeDaemon();
      const proxy = await countRequests(daemon.socketPath);
      try {
        const run = open(proxy.host);
        await call(daemon, 'POST', '/1.0/storage-pools', { name: 'p', driver: 'dir' });
        run.write(`
resource "gantry_container" "c" {
  count    = 12
  name     = "c\${count.index}"
  profiles = []
  running  = false
  devices  = { root = { type = "disk", path = "/", pool = "p" } }
}
`);
        await run.apply();
        proxy.requests.length = 0;
        await run.expectNoChanges();
        const asked = proxy.requests.filter((line) => line.startsWith('GET /1.0/containers'));
        // At any speed of Terraform's requests.
        const lists = asked.filter((line) => line === 'GET /1.0/containers?recursion=2');
        expect([lists.length, asked.length <= 4]).toEqual([1, true]);
      } finally {
        // Open connections end with the daemon.
        const closed = proxy.close();
        await daemon.cleanUp();
        await closed;
      }
    });
  });
});

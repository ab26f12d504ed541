// Ephemeral resources with real Terraform, on the simulation: a secret from a container reaches its users, but no state, plan or log.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { fastPool } from '../../support/terraform/blocks.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeRelease, Terraform, terraformMissing, type Release } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('ephemeral resources with Terraform');

const pool = `
${fastPool}`;
const container = (name: string): string => `
resource "gantry_container" "${name}" {
  name         = "${name}"
  profiles     = []
  devices      = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  stop_timeout = 0
}
`;
const writeFile = async (daemon: TestDaemon, path: string, content: string): Promise<void> => {
  expect((await daemon.call('POST', `/1.0/containers/server/files?path=${path}`, content)).status).toBe(200);
};

/** Everything in a plan file, which is a zip; compressed entries are unpacked. */
function unpacked(zip: Buffer): string {
  const texts: string[] = [];
  const end = zip.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, size, start] = [zip.readUInt16LE(at + 10), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 42)];
    const from = start + 30 + zip.readUInt16LE(start + 26) + zip.readUInt16LE(start + 28);
    const bytes = zip.subarray(from, from + size);
    texts.push((method === 0 ? bytes : inflateRawSync(bytes)).toString('latin1'));
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return texts.join('\n');
}

describe.skipIf(missing !== undefined)('a secret in a container', () => {
  let release: Release;
  beforeAll(async () => {
    release = await makeRelease();
  });

  test('A secret in a container reaches its users and is in no state, no plan, and no log', async () => {
    const daemon = await makeDaemon();
    const logPath = join(release.directory, 'provider.log');
    const terraform = new Terraform(release, {
      address: `unix://${daemon.socketPath}`,
      env: { TF_LOG_PROVIDER: 'TRACE', TF_LOG_PATH: logPath },
    });
    try {
      terraform.write(pool + container('server'));
      await terraform.init();
      await terraform.apply();
      await writeFile(daemon, '/token', 'join-me-7531');
      const using = (lifecycle: string): string => `${pool}${container('server')}
ephemeral "gantry_container_exec" "token" {
  container     = gantry_container.server.name
  command       = ["cat", "/token"]
  close_command = ["cat", "/token"]
}
ephemeral "gantry_container_file" "token" {
  container = gantry_container.server.name
  path      = "/token"
  ${lifecycle}
}
resource "gantry_server_config" "s" {
  config                 = {}
  trust_password         = ephemeral.gantry_container_file.token.content
  trust_password_version = 1
}
`;
      terraform.write(using(''));
      const { code, output } = await terraform.run(['plan', '-out=plan.bin', '-input=false']);
      expect(code, output).toBe(0);
      const shown = await terraform.run(['show', '-json', 'plan.bin']);
      expect(shown.code, shown.output).toBe(0);
      expect(shown.stdout).toContain('"gantry_server_config"');
      const applied = await terraform.run(['apply', '-input=false', 'plan.bin']);
      expect(applied.code, applied.output).toBe(0);
      expect((await daemon.get('/1.0')).config).toEqual({ 'core.trust_password': true });
      await terraform.expectNoChanges();
      const log = readFileSync(logPath, 'utf8');
      expect(log).toContain('provider settings:');
      const files = readdirSync(terraform.dir).filter((name) => name.startsWith('terraform.tfstate'));
      expect(files).toContain('terraform.tfstate');
      const plan = unpacked(readFileSync(join(terraform.dir, 'plan.bin')));
      expect(plan).toContain('gantry_server_config');
      const states = files.map((name) => readFileSync(join(terraform.dir, name), 'utf8'));
      const everything = [output, applied.output, shown.output, plan, log, ...states].join('\n');
      expect(everything).not.toContain('join-me-7531');
      expect(everything).not.toContain(Buffer.from('join-me-7531').toString('base64'));
      // Terraform 1.11 cannot show plans with conditions of ephemeral resources.
      const isToken = (value: string): string =>
        using(`lifecycle {
    postcondition {
      condition     = ${value} == "join-me-7531"
      error_message = "It is something else."
    }
  }`);
      for (const value of ['content', 'sha256']
        .map((name) => `self.${name}`)
        .concat('ephemeral.gantry_container_exec.token.stdout')) {
        terraform.write(isToken(value));
        if (value === 'self.sha256') expect(await terraform.fails('plan')).toContain('It is something else');
        else await terraform.expectNoChanges();
      }
    } finally {
      await daemon.cleanUp();
    }
  });
});

describe.skipIf(missing !== undefined)('an ephemeral resource', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  test('An ephemeral resource with triggers waits for the container of the same apply', async () => {
    const config = (triggers: string): string => `${pool}${container('server')}
ephemeral "gantry_container_exec" "hello" {
  container = gantry_container.server.name
  command   = ["echo", "hello"]
  ${triggers}
}
resource "gantry_server_config" "s" {
  config                 = {}
  trust_password         = trimspace(ephemeral.gantry_container_exec.hello.stdout)
  trust_password_version = 1
}
`;
    terraform.write(config(''));
    expect(await terraform.fails('apply', '-auto-approve')).toMatch(/There is no container server.*triggers/);
    terraform.write(config('triggers = { container = gantry_container.server.created_at }'));
    await terraform.apply();
    expect((await daemon.get('/1.0')).config).toEqual({ 'core.trust_password': true });
    await terraform.expectNoChanges();
  });

  test('An error of an ephemeral resource does not show the output', async () => {
    terraform.write(pool + container('server'));
    await terraform.apply();
    const config = (...blocks: readonly string[]): string =>
      pool + container('server') + blocks.map((body) => `ephemeral "gantry_container_${body}\n}\n`).join('');
    const exec = (name: string, more: string): string => `exec" "${name}" {\n  container = "server"\n  ${more}`;
    const file = (name: string, more: string): string => `file" "${name}" {\n  container = "server"\n  ${more}`;
    terraform.write(config(exec('loud', 'command = ["sh", "-c", "echo hush-91; echo loud >&2; exit 3"]')));
    const failed = await terraform.fails('plan');
    expect(failed).toMatch(/A command in server failed.*It exited with 3: sh loud/);
    expect(failed).not.toMatch(/server failed.*hush-91\s/);
    terraform.write(config(exec('quiet', 'command = ["false"]\n  fail_on_error = false')));
    await terraform.expectNoChanges();
    terraform.write(
      config(
        exec('closed', 'command = ["true"]\n  close_command = ["false"]'),
        file('none', 'path = "/none"'),
        file('folder', 'path = "/"'),
        file('remote', 'path = "/x"\n  remote = "west"'),
      ),
    );
    const unopened = await terraform.fails('plan');
    for (const part of [
      'A command in server failed',
      'There is no file /none in a container server',
      '/ in server is not a file',
      'The provider has no remote "west"',
    ])
      expect(unopened).toContain(part);
    terraform.write(config(exec('empty', 'command = []'), file('relative', 'path = "none"')));
    const invalid = await terraform.fails('plan');
    expect(invalid).toContain('must begin with the program to run');
    expect(invalid).toContain('must be an absolute path');
  });

  test('A file that is too large is refused, and bytes that are not text are returned only in base64', async () => {
    terraform.write(pool + container('server'));
    await terraform.apply();
    const headers = { 'content-type': 'application/octet-stream' };
    const bytes = Buffer.from([0xff, 0xfe, 0x00]);
    await daemon.call('POST', '/1.0/containers/server/files?path=/raw', bytes, headers);
    await daemon.call('POST', '/1.0/containers/server/files?path=/big', Buffer.alloc(1024 * 1024 + 1, 97), headers);
    const config = (path: string): string => `${pool}${container('server')}
ephemeral "gantry_container_file" "x" {
  container = "server"
  path      = "${path}"
  lifecycle {
    postcondition {
      condition     = self.content == null && self.content_base64 == "${bytes.toString('base64')}" && self.mode == "0640" && self.uid == 0
      error_message = "It is something else."
    }
  }
}
`;
    terraform.write(config('/raw'));
    await terraform.expectNoChanges();
    terraform.write(config('/big'));
    expect(await terraform.fails('plan')).toContain('/big in server is too large');
  });
});

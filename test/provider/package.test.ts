// The packaged plugin: started by its launcher from different places, with and without its requirements.
import { spawn, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleProvider, type Programs } from '../../provider/packaging/bundle.ts';
import { releaseFiles, writeRelease } from '../../provider/packaging/release.ts';
import { providerService } from '../../provider/wire/calls.ts';
import { grpcStatus } from '../../provider/wire/grpc.ts';
import * as wire from '../../provider/wire/messages.ts';
import { cookie } from '../../provider/wire/plugin.ts';
import { grpcClient } from '../support/terraform/grpc-client.ts';
import { tempFolder } from '../support/temp-folder.ts';

let programs: Programs;
let folder = '';
let launcher = '';
const dir = tempFolder('gantry package ');

beforeAll(async () => {
  programs = await bundleProvider(process.cwd());
  // As in a project whose own files are all modules.
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeRelease(releaseFiles({ version: '1.2.3', programs, license: Buffer.from('l') }), dir);
  folder = join(dir, 'mirror/registry.terraform.io/gantry/gantry/1.2.3/linux_amd64');
  launcher = join(folder, 'terraform-provider-gantry_v1.2.3');
});

const hello = { [cookie.name]: cookie.value, PLUGIN_PROTOCOL_VERSIONS: '5,6' };

/** Asks for the schema through the launcher and ends the plugin as Terraform does. */
async function schemaOf(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly body: Buffer; readonly code: number }> {
  const child = spawn(launcher, [], { env: { ...hello, ...env }, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? -1)));
  try {
    const line = await new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
    const client = grpcClient(line.split('|')[3] ?? '');
    const { status, body } = await client.call(`${providerService}GetProviderSchema`);
    expect(status).toBe(grpcStatus.ok);
    // A call that only the later loaded file can answer.
    expect((await client.call(`${providerService}StopProvider`)).status).toBe(grpcStatus.ok);
    await client.call('/plugin.GRPCController/Shutdown');
    client.close();
    return { body, code: await ended };
  } finally {
    child.kill('SIGKILL');
  }
}

describe('a package', () => {
  test('A package is the same bytes each time it is built, and smaller than a megabyte', async () => {
    const again = await bundleProvider(process.cwd());
    for (const [name, content] of programs) expect(again.get(name)?.equals(content), name).toBe(true);
    expect([...programs.values()].reduce((sum, { length }) => sum + length, 0)).toBeLessThan(1024 * 1024);
  });

  test('A package starts among ES modules without a writable directory, and answers with the schema that it carries', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', XDG_CACHE_HOME: '/proc/none' };
    const { body, code } = await schemaOf(env);
    expect(code).toBe(0);
    expect(body.equals(programs.get('schema.bin') ?? Buffer.alloc(0))).toBe(true);
    expect(Object.keys(wire.SchemaReply.decode(body).resources)).toContain('gantry_container');
    rmSync(join(folder, 'schema.bin'));
    const made = await schemaOf(env);
    expect(made.body.equals(body)).toBe(true);
  });

  test('A package reports a missing Node on standard output, which Terraform shows', () => {
    const { status, stdout } = spawnSync('/bin/sh', [launcher], { env: { ...hello, PATH: '/nonexistent' } });
    expect(status).toBe(1);
    expect(stdout.toString()).toMatch(/^terraform-provider-gantry needs Node\.js 20\.19 or newer/);
  });

  test('A package starts from its own directory', () => {
    const env = { PATH: process.env['PATH'] ?? '' };
    for (const argv of [
      launcher.slice(dirname(launcher).length + 1),
      `./${launcher.slice(dirname(launcher).length + 1)}`,
    ]) {
      const { status, stderr } = spawnSync('/bin/sh', [argv], { env, cwd: folder });
      expect(status).toBe(1);
      expect(stderr.toString()).toContain('This is a plugin');
    }
  });
});

// Write-only arguments with real Terraform, on the simulation: their values reach the container, and no state and no plan has them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { webContainer } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('write-only arguments with Terraform');

const stack = `
variable "secret" {
  ephemeral = true
  default   = null
}${webContainer()}`;
const file = (more: string): string => `${stack}
resource "gantry_container_file" "f" {
  container = gantry_container.c.name
  path      = "/etc/token"
  ${more}
}
`;
const exec = (more: string): string => `${stack}
resource "gantry_container_exec" "e" {
  container   = gantry_container.c.name
  command     = ["sh", "-c", "echo the token is $TOKEN of $PLACE"]
  environment = { PLACE = "here", TOKEN = "none" }
  ${more}
}
`;

describe.skipIf(missing !== undefined)('a write-only argument', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  const content = async (): Promise<string> =>
    (await daemon.call('GET', '/1.0/containers/web/files?path=/etc/token')).bytes.toString();
  const mode = async (): Promise<unknown> =>
    (await daemon.call('GET', '/1.0/containers/web/files?path=/etc/token')).headers['x-svc-mode'];

  /** Plans into a file and applies it; returns all output of Terraform, including the shown plan. */
  async function applied(secret: string): Promise<string> {
    const value = `-var=secret=${secret}`;
    const planned = await terraform.run(['plan', '-input=false', '-out=plan.bin', value]);
    expect(planned.code, planned.output).toBe(0);
    const shown = await terraform.run(['show', '-json', 'plan.bin']);
    expect(shown.code, shown.output).toBe(0);
    const ran = await terraform.run(['apply', '-input=false', value, 'plan.bin']);
    expect(ran.code, ran.output).toBe(0);
    const states = readdirSync(terraform.dir).filter((name) => name.startsWith('terraform.tfstate'));
    expect(states).toContain('terraform.tfstate');
    const texts = states.map((name) => readFileSync(join(terraform.dir, name), 'utf8'));
    const everything = [planned.output, shown.output, ran.output, ...texts].join('\n');
    expect(everything).toContain('_wo_version');
    expect(everything).not.toContain(secret);
    return everything;
  }

  test('content_wo of a file is written once for each version, and neither it nor its hash is stored', async () => {
    terraform.write(file('content_wo = var.secret\n  content_wo_version = 1'));
    await applied('hush-1-hush');
    expect(await content()).toBe('hush-1-hush');
    expect(terraform.state('gantry_container_file.f')).toMatchObject({ sha256: null, content: null });
    expect((await terraform.plan('-var=secret=hush-1-hush')).changes).toBe(false);
    expect((await terraform.plan('-refresh-only', '-var=secret=hush-1-hush')).changes).toBe(false);
    // Without a new version another value is no difference, neither alone nor with another mode.
    expect((await terraform.plan('-var=secret=hush-2-hush')).changes).toBe(false);
    terraform.write(file('content_wo = var.secret\n  content_wo_version = 1\n  mode = "0600"'));
    await applied('hush-2-hush');
    expect([await content(), await mode()]).toEqual(['hush-1-hush', '0600']);
    terraform.write(file('content_wo = var.secret\n  content_wo_version = 2\n  mode = "0600"'));
    await applied('hush-2-hush');
    expect([await content(), await mode()]).toEqual(['hush-2-hush', '0600']);
    expect((await terraform.plan('-var=secret=hush-2-hush')).changes).toBe(false);
    // A deleted file is written again.
    await daemon.call('DELETE', '/1.0/containers/web/files?path=/etc/token');
    await applied('hush-3-hush');
    expect(await content()).toBe('hush-3-hush');
  });

  test('content_wo replaces content, and content replaces content_wo', async () => {
    terraform.write(file('content = "open"'));
    await terraform.apply();
    terraform.write(file('content_wo = var.secret\n  content_wo_version = 1'));
    await applied('hush-4-hush');
    expect(await content()).toBe('hush-4-hush');
    expect((await terraform.plan('-var=secret=hush-4-hush')).changes).toBe(false);
    terraform.write(file('content = "open"'));
    await terraform.apply();
    expect(await content()).toBe('open');
    await terraform.expectNoChanges();
  });

  test('content_wo is imported without reading the file', async () => {
    terraform.write(file('content_wo = var.secret\n  content_wo_version = 3'));
    await applied('hush-5-hush');
    await terraform.forget('gantry_container_file.f');
    await terraform.import('gantry_container_file.f', 'web//etc/token,content_wo_version=3');
    expect(terraform.state('gantry_container_file.f')).toMatchObject({
      path: '/etc/token',
      content_wo_version: 3,
    });
    expect(readFileSync(join(terraform.dir, 'terraform.tfstate'), 'utf8')).not.toContain('hush-5-hush');
    expect((await terraform.plan('-var=secret=hush-5-hush')).changes).toBe(false);
  });

  test('environment_wo overrides environment for the command, and another version runs it again', async () => {
    const config = (version: number, more = ''): string =>
      exec(`environment_wo = { TOKEN = var.secret }\n  environment_wo_version = ${version}\n  ${more}`);
    terraform.write(config(1));
    await applied('hush-6-hush');
    expect(terraform.state('gantry_container_exec.e')).toMatchObject({ exit_code: 0, stdout: null });
    expect((await terraform.plan('-var=secret=hush-7-hush')).changes).toBe(false);
    expect((await terraform.plan('-refresh-only', '-var=secret=hush-7-hush')).changes).toBe(false);
    terraform.write(config(2, 'record_output = true'));
    await terraform.apply('-var=secret=shown');
    expect(terraform.state('gantry_container_exec.e').stdout).toBe('the token is shown of here\n');
    expect((await terraform.plan('-var=secret=shown')).changes).toBe(false);
    terraform.write(config(3, 'destroy_command = ["true"]').replace('echo', 'exit 3; echo'));
    const failed = await terraform.fails('apply', '-auto-approve', '-var=secret=hush-8-hush');
    expect(failed).toContain('It exited with 3: sh');
  });

  test('A failed command with a write-only argument does not show its value', async () => {
    terraform.write(
      exec('environment_wo = { TOKEN = var.secret }').replace(
        'echo the',
        'nothing-here $TOKEN; echo $TOKEN >&2; exit 3; echo the',
      ),
    );
    const failed = await terraform.fails('apply', '-auto-approve', '-var=secret=hush-9-hush');
    expect(failed).toContain('It exited with 3: sh');
    expect(failed).not.toContain('hush-9-hush');
  });

  test('A write-only argument is refused where it has no meaning, and so is its version without it', async () => {
    const other = (label: string, more: string): string =>
      `resource "gantry_container_file" "${label}" {\n  container = "web"\n  path = "/etc/${label}"\n  ${more}\n}\n`;
    terraform.write(
      exec('environment_wo_version = 1') +
        other('twice', 'content = "x"\n  content_wo = "y"') +
        other('folder', 'type = "directory"\n  content_wo = "y"') +
        other('lone', 'content = "x"\n  content_wo_version = 1'),
    );
    const said = await terraform.fails('validate');
    for (const part of [
      'Give exactly one of content, source, content_wo.',
      'content_wo is not for a directory',
      'content_wo is missing',
      'environment_wo is missing',
    ])
      expect(said).toContain(part);
  });

  const config = (more: string, also = ''): string => `
variable "secret" {
  ephemeral = true
  default   = null
}${webContainer(more)}${also}`;
  const secrets = async (name = 'web'): Promise<Record<string, string>> => {
    const { config: all } = await daemon.get(`/1.0/containers/${name}`);
    const isOwn = ([key]: readonly [string, unknown]): boolean => /^(environment|user)\.[A-Z]/.test(key);
    return Object.fromEntries(Object.entries(all as Record<string, string>).filter(isOwn));
  };

  test('config_wo of a container is written once for each version, and no state, plan, data source or copy shows it', async () => {
    const wo = (version: number, keys = '"environment.TOKEN" = var.secret'): string =>
      config(`config_wo = { ${keys} }\n  config_wo_version = ${version}`);
    terraform.write(wo(1));
    await applied('hush-1-hush');
    expect(await secrets()).toEqual({ 'environment.TOKEN': 'hush-1-hush' });
    expect((await terraform.plan('-var=secret=hush-2-hush')).changes).toBe(false);
    // Another change leaves the value, another version writes it.
    terraform.write(wo(1).replace('stop_timeout = 0', 'stop_timeout = 0\n  description = "x"'));
    await applied('hush-2-hush');
    expect(await secrets()).toEqual({ 'environment.TOKEN': 'hush-1-hush' });
    terraform.write(wo(2));
    await applied('hush-3-hush');
    expect(await secrets()).toEqual({ 'environment.TOKEN': 'hush-3-hush' });
    const more = `
data "gantry_container" "d" {
  name = gantry_container.c.name
}
resource "gantry_container" "copy" {
  name     = "copy"
  running  = false
  profiles = []
  source   = { type = "copy", source = gantry_container.c.name }
}
`;
    terraform.write(wo(2) + more);
    await applied('hush-3-hush');
    expect(await secrets('copy')).toEqual({ 'environment.TOKEN': 'hush-3-hush' });
    await terraform.expectNoChanges();
    // An import neither reads nor removes it; a key that is dropped from the argument is removed.
    await terraform.forget('gantry_container.c');
    await terraform.import('gantry_container.c', 'web');
    expect(JSON.stringify(terraform.state('gantry_container.c'))).not.toContain('hush');
    terraform.write(wo(3, '"user.OTHER" = var.secret'));
    await applied('hush-4-hush');
    expect(await secrets()).toEqual({ 'user.OTHER': 'hush-4-hush' });
    terraform.write(config(''));
    await terraform.apply();
    expect(await secrets()).toEqual({});
    await terraform.expectNoChanges();
  });

  test('config_wo is refused without values, for a key that config has too, and for a key that does not exist', async () => {
    terraform.write(config('config_wo_version = 1'));
    expect(await terraform.fails('plan')).toContain('config_wo is missing');
    terraform.write(config('config = { "user.A" = "1" }\n  config_wo = { "user.A" = "2" }'));
    expect(await terraform.fails('plan')).toContain('user.A is set twice');
    terraform.write(config('config_wo = { "limits.memroy" = "hush-hush-hush" }'));
    const said = await terraform.fails('plan');
    expect(said).toContain('limits.memroy');
    expect(said).toContain('did you mean limits.memory');
  });
});

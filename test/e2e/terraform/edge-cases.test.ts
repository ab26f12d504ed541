// Traps of Terraform on the simulation: empty and null arguments, copies, imports that must not replace, and duplicate names.
// workflow.test.ts has the usual cases.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fastPool } from '../../support/terraform/blocks.ts';
import { presenceOf, type Attribute, type Attributes } from '../../../provider/framework/attribute.ts';
import { gantryProvider } from '../../../provider/gantry.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('traps of Terraform');

/** Empty values of the type of an attribute. A nested object is empty when its attributes are. */
function emptyOf({ type, nested }: Attribute<unknown>): readonly unknown[] {
  if (nested !== undefined) return nested.nesting === 'single' ? [] : nested.nesting === 'list' ? [[]] : [{}];
  if (type === 'string') return [''];
  if (type === 'bool') return [false];
  if (type === 'number') return [0];
  return type.kind === 'list' ? [[], ['']] : [{}];
}

const pool = '${gantry_storage_pool.one.name}';
const box = '${gantry_container.one.name}';
const devices = { root: { type: 'disk', path: '/', pool } };

/** The required arguments of each resource, by its name. Missing resources have their own test, or no optional arguments. */
const least: Readonly<Record<string, (name: string) => object>> = {
  gantry_container: (name) => ({ name, profiles: [], devices, running: false }),
  gantry_profile: (name) => ({ name }),
  gantry_network: (name) => ({ name, config: { 'ipv4.address': 'none', 'ipv6.address': 'none' } }),
  gantry_storage_pool: (name) => ({ name, driver: 'dir' }),
  gantry_storage_volume: (name) => ({ name, pool }),
  gantry_volume_snapshot: (name) => ({ name, pool, volume: '${gantry_storage_volume.one.name}' }),
  gantry_snapshot: (name) => ({ name, container: box }),
  gantry_container_file: (name) => ({ path: `/${name}`, container: box, content: 'x' }),
  gantry_container_exec: () => ({ command: ['true'], container: box }),
};

/** Empty arguments that the plan must refuse. */
const refused = [
  'gantry_container.architecture_0',
  'gantry_container.config_wo_version_0',
  'gantry_container_exec.cwd_0',
  'gantry_container_exec.destroy_command_0',
  'gantry_container_exec.destroy_command_1',
  'gantry_container_exec.environment_wo_version_0',
  'gantry_container_exec.timeout_0',
  'gantry_container_file.content_wo_0',
  'gantry_container_file.content_wo_version_0',
  'gantry_container_file.mode_0',
  'gantry_container_file.source_0',
  'gantry_container_file.target_0',
  'gantry_container_file.type_0',
  'gantry_network.type_0',
  'gantry_snapshot.expires_at_0',
  'gantry_volume_snapshot.expires_at_0',
];
/** Empty arguments that only the server can refuse. */
const refusedByServer = ['gantry_container.devices_0', 'gantry_container.profiles_1'];

function emptyArguments(without: readonly string[]): Record<string, Record<string, object>> {
  const { resources } = gantryProvider({ env: {}, log() {} });
  const found: Record<string, Record<string, object>> = {};
  let count = 0;
  for (const { typeName, attributes } of resources as readonly { typeName: string; attributes: Attributes }[]) {
    const make = least[typeName];
    if (make === undefined) continue;
    const all: Record<string, object> = { one: make('one') };
    for (const [name, attribute] of Object.entries(attributes)) {
      if (!presenceOf(attribute).optional) continue;
      for (const [index, value] of emptyOf(attribute).entries()) {
        count += 1;
        const id = `${name}_${index}`;
        if (!without.includes(`${typeName}.${id}`)) all[id] = { ...make(`e${count}`), [name]: value };
      }
    }
    found[typeName] = all;
  }
  Object.assign(found['gantry_container']?.['one'] ?? {}, { running: true, stop_timeout: 0 });
  return found;
}

describe.skipIf(missing !== undefined)('terraform', () => {
  let attached: Attached;
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ attached, daemon, terraform } = world));

  const base = `
${fastPool}resource "gantry_profile" "web" {
  name    = "web"
  devices = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
}
`;
  const container = (name: string, more: string): string => `
resource "gantry_container" "${name}" {
  name         = "${name}"
  stop_timeout = 0
  ${more}
}
`;
  const image = (content = 'traps'): string => {
    packImage(terraform.dir, 'image.tar.gz', content);
    return `
resource "gantry_image" "i" {
  source = { type = "file", file = "${terraform.dir}/image.tar.gz" }
}
resource "gantry_image_alias" "a" {
  name   = "base"
  target = gantry_image.i.fingerprint
}
`;
  };
  const say = (resource: object): void =>
    writeFileSync(join(terraform.dir, 'all.tf.json'), JSON.stringify({ resource }, null, 1));
  const addressesIn = (output: string): readonly string[] =>
    [...new Set([...output.matchAll(/with (gantry_\w+\.\w+)/g)].map(([, address]) => address ?? ''))].toSorted();

  test('Each empty argument is refused at its place, or applied with nothing left to do', async () => {
    terraform.write('');
    say(emptyArguments([]));
    const { code, output } = await terraform.run(['plan', '-input=false']);
    expect(code).toBe(1);
    expect(output).not.toContain('Plugin error');
    expect(addressesIn(output)).toEqual(refused);
    say(emptyArguments(refused));
    const applied = await terraform.run(['apply', '-auto-approve', '-input=false']);
    expect(addressesIn(applied.output), applied.output).toEqual(refusedByServer);
    say(emptyArguments([...refused, ...refusedByServer]));
    await terraform.settle();
  });

  test('Empty texts inside arguments count as missing', async () => {
    terraform.write(`${base}${image()}
${container(
  'a',
  `profiles = [gantry_profile.web.name]
  source    = { type = "image", alias = gantry_image_alias.a.name, fingerprint = "", server = "", protocol = "", mode = "", source = "" }
  snapshots = { schedule = "", pattern = "", expiry = "", stopped = false }
  files     = { "/a" = { content = "" } }
  exec      = { e = { command = ["true"], environment = {} } }
  wait_for  = [{ type = "running", nic = "", host = "", command = [] }]`,
)}
${container(
  'b',
  `profiles = []
  running  = false
  source   = { type = "none", alias = "" }
  config   = { "limits.memory" = "", "user.x" = "", "boot.autostart" = "" }
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name, size = "" } }`,
)}
resource "gantry_network" "n" {
  name   = "traps0"
  config = { "ipv4.address" = "auto", "ipv4.nat" = "", "ipv6.address" = "", "user.x" = "" }
}
resource "gantry_storage_volume" "v" {
  pool   = gantry_storage_pool.p.name
  name   = "v"
  config = { "size" = "", "user.x" = "" }
}
resource "gantry_storage_volume" "w" {
  pool   = gantry_storage_pool.p.name
  name   = "w"
  source = { name = gantry_storage_volume.v.name, pool = "" }
}
resource "gantry_server_config" "s" {
  config = { "images.auto_update_interval" = "", "core.proxy_http" = "" }
}
resource "gantry_image" "j" {
  source     = { type = "file", file = "${terraform.dir}/other.tar.gz", metadata = "" }
  properties = { os = "" }
}
`);
    packImage(terraform.dir, 'other.tar.gz', 'other');
    await terraform.settle();
    await terraform.forget('gantry_storage_volume.w');
    await terraform.import('gantry_storage_volume.w', 'fast/w,copy=v');
    expect((await terraform.plan()).output).toContain('Plan: 0 to add, 1 to change, 0 to destroy');
    expect((await daemon.get('/1.0/networks/traps0')).config['ipv6.address']).toMatch(/^fd42:/);
  });

  test('A change between an empty and a missing argument replaces no object', async () => {
    const off = 'profiles = [gantry_profile.web.name]';
    const all = (more: string, maps: string, overrides: string): string => `${base}${container('a', `${off}\n${more}`)}
resource "gantry_container_exec" "e" {
  container = gantry_container.a.name
  command   = ["true"]
  ${maps}
}
resource "gantry_network" "n" {
  name   = "traps2"
  config = { "ipv4.address" = "none", "ipv6.address" = "none" }
  ${overrides}
}`;
    const empty = all(
      'instance_type = ""\nfiles = {}\nexec = {}',
      'environment = {}\ntriggers = {}',
      'member_overrides = {}',
    );
    terraform.write(empty);
    await terraform.apply();
    for (const text of [all('', '', ''), empty]) {
      terraform.write(text);
      expect(await terraform.apply()).toMatch(/0 destroyed/);
      await terraform.expectNoChanges();
    }
  });

  test('A link gets another owner, and a file whose type is known only after apply is written', async () => {
    const all = (uid: number, type: string): string => `${base}${container('a', 'profiles = [gantry_profile.web.name]')}
resource "gantry_container_file" "l" {
  container = gantry_container.a.name
  path      = "/link"
  type      = "symlink"
  target    = "/etc"
  uid       = ${uid}
}
resource "terraform_data" "t" {
  input = "${type}"
}
resource "gantry_container_file" "f" {
  container = gantry_container.a.name
  path      = "/file"
  type      = terraform_data.t.output
  content   = "x"
}
`;
    for (const uid of [1, 2]) {
      terraform.write(all(uid, 'file'));
      await terraform.settle();
    }
  });

  test('Null in lists is refused', async () => {
    terraform.write(container('a', `profiles = ["default", null]\n  exec = { x = { command = ["true", null] } }`));
    const said = await terraform.fails('plan');
    for (const path of ['profiles[1]', 'exec["x"].command[1]']) {
      expect(said).toContain(`${path} must not be null. Leave the entry out`);
    }
  });

  test('Null in maps counts as a missing entry', async () => {
    const text = (memory: string, nothing: string, none = nothing): string => `${base}
variable "nothing" {
  type    = string
  default = null
}
variable "none" {
  default = null
}
${container(
  'a',
  `running  = false
  profiles = []
  config   = { "user.x" = "1"${memory} }
  files    = { "/a" = { content = "x" }, "/b" = ${none} }
  exec     = { e = { command = ["true"], environment = { A = "1", B = ${nothing} } }, f = ${none} }
  devices  = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name, size = ${nothing} }
    eth0 = ${none}
  }`,
)}
`;
    terraform.write(text(', "limits.memory" = var.nothing', 'var.nothing', 'var.none'));
    await terraform.settle();
    const { changes, output } = await terraform.plan('-refresh-only');
    expect(changes, output).toBe(false);
    const { config, devices } = await daemon.get('/1.0/containers/a');
    expect(config['user.x']).toBe('1');
    expect(config).not.toHaveProperty(['limits.memory']);
    expect(devices).toEqual({ root: { type: 'disk', path: '/', pool: 'fast' } });
    // A missing entry is no difference, a value is a change, and null again removes the key.
    terraform.write(text('', 'null'));
    await terraform.expectNoChanges();
    terraform.write(text(', "limits.memory" = "64MiB"', 'var.nothing', 'var.none'));
    await terraform.apply();
    expect((await daemon.get('/1.0/containers/a')).config['limits.memory']).toBe('64MiB');
    terraform.write(text(', "limits.memory" = null', 'null'));
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/a')).config).not.toHaveProperty(['limits.memory']);
  });

  test('A copy keeps config and devices of its source beneath its own, also after changes and an import', async () => {
    const more = 'running = false\n  source  = { type = "copy", source = gantry_container.a.name }';
    const b = (written: string): string => container('b', `${written}\n  ${more}`);
    const all = `${base}${image()}
${container(
  'a',
  `profiles = [gantry_profile.web.name]
  source   = { type = "image", alias = gantry_image_alias.a.name }
  config   = { "user.a" = "1", "limits.memory" = "64MiB" }
  devices  = { none = { type = "none" } }`,
)}
${b('config = { "user.b" = "2" }')}
${container('c', more)}`;
    const own = async (): Promise<object> => {
      const { config, devices, profiles } = await daemon.get('/1.0/containers/b');
      const isOwn = ([key]: readonly [string, unknown]): boolean => !/^(volatile|image|user\.gantry)\./.test(key);
      return { config: Object.fromEntries(Object.entries(config as object).filter(isOwn)), devices, profiles };
    };
    const none = { type: 'none' };
    const inherited = { 'user.a': '1', 'limits.memory': '64MiB' };
    terraform.write(all);
    await terraform.settle();
    expect(await own()).toEqual({ profiles: ['web'], config: { ...inherited, 'user.b': '2' }, devices: { none } });
    expect(terraform.state('gantry_container.b')).toMatchObject({ config: { 'user.b': '2' }, devices: {} });
    // A change of the copy keeps them, and removes a key that was declared before.
    terraform.write(all.replace('"user.b" = "2"', '"limits.memory" = "32MiB", "user.a" = "9"'));
    await terraform.settle();
    expect(await own()).toMatchObject({ config: { 'user.a': '9', 'limits.memory': '32MiB' }, devices: { none } });
    terraform.write(all.replace('"user.b" = "2"', '"user.a" = "1"'));
    await terraform.settle();
    expect(await own()).toMatchObject({ config: { 'user.a': '1' }, devices: { none } });
    // An imported copy with a source in its id keeps its inherited parts.
    terraform.write(all.replace('"user.b" = "2"', '"user.a" = "1"'));
    await terraform.forget('gantry_container.b', 'gantry_container.c');
    await terraform.import('gantry_container.b', 'b,copy=a');
    await terraform.import('gantry_container.c', 'c');
    const { output } = await terraform.plan();
    // Without a source in its id it is kept, with a warning.
    expect(output).toContain('Plan: 0 to add, 2 to change, 0 to destroy');
    expect(output).toMatch(/The container c stays as it is[\s\S]*-replace/);
    expect(output).not.toContain('The container b stays as it is');
    expect(output).toMatch(/gantry_container\.b will be updated in-place[\s\S]*stop_timeout += 30 -> 0/);
    expect(await own()).toMatchObject({ devices: { none } });
    expect(terraform.state('gantry_container.b')).toMatchObject({ devices: {} });
  });

  test('An image with a changed file is replaced together with its alias, and a replaced container runs its commands again', async () => {
    const text = (content: string): string => `${base}${image(content)}
${container('a', `profiles = [gantry_profile.web.name]\n  source = { type = "image", alias = gantry_image_alias.a.name }`)}
resource "gantry_container_exec" "later" {
  container = gantry_container.a.name
  command   = ["echo", "later"]
}
resource "gantry_container_exec" "at_once" {
  container = gantry_container.a.name
  command   = ["echo", "at once"]
  triggers  = { container = gantry_container.a.created_at }
}
`;
    terraform.write(text('one'));
    await terraform.settle();
    // Another file: the server deletes the alias together with the image.
    terraform.write(text('two'));
    expect(await terraform.apply()).toMatch(/1 added, 1 changed, 1 destroyed/);
    await terraform.expectNoChanges();
    expect(await terraform.apply('-replace=gantry_container.a')).toContain('2 added, 0 changed, 2 destroyed');
    const { output } = await terraform.plan();
    expect(output).toMatch(
      /gantry_container_exec\.later will be created[\s\S]*Plan: 1 to add, 0 to change, 0 to destroy/,
    );
  });

  test('A new source of a container with an unknown origin only changes the state', async () => {
    const images = image();
    const box = (source: string): string =>
      `${base}${images}${container('a', `profiles = [gantry_profile.web.name]\n  running = false\n  ${source}`)}`;
    terraform.write(box(''));
    await terraform.apply();
    terraform.write(box('source = { type = "image", alias = gantry_image_alias.a.name }'));
    const { output } = await terraform.plan();
    expect(output).toMatch(/The container a stays as it is[\s\S]*-replace/);
    await terraform.settle();
    // The same image by another name, and fetched in another way.
    for (const source of ['fingerprint = gantry_image.i.fingerprint', 'alias = "base", mode = "local"']) {
      terraform.write(box(`source = { type = "image", ${source} }`));
      expect(await terraform.apply()).toContain('0 added, 1 changed, 0 destroyed');
    }
    terraform.write(box('source = { type = "image", alias = "other" }'));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('There is no image alias other');
    const other = '3f53cfe7c9d4a5b21c4e7cdd1c9f3a2e7b45d1b5ff5a4f3fd3bfe7a3d8b0c5aa';
    terraform.write(box(`source = { type = "image", fingerprint = "${other}" }`));
    expect((await terraform.plan()).output).toContain('gantry_container.a must be replaced');
  });

  test('A name that already exists is refused with the reason, and the existing object stays', async () => {
    const twice = (revision: number): string => `
resource "terraform_data" "r" {
  input = ${revision}
}
resource "gantry_profile" "p" {
  name = "twice"
  lifecycle {
    create_before_destroy = true
    replace_triggered_by  = [terraform_data.r]
  }
}
`;
    terraform.write(twice(1));
    await terraform.apply();
    terraform.write(twice(2));
    expect(await terraform.fails('apply', '-auto-approve')).toMatch(
      /already exists.*import block.*moved block.*create_before_destroy/,
    );
    expect(await daemon.get('/1.0/profiles/twice')).toMatchObject({ name: 'twice' });
    terraform.write(twice(2).replace('create_before_destroy = true', ''));
    await terraform.expectNoChanges();
    terraform.write(twice(3).replace('create_before_destroy = true', ''));
    expect(await terraform.apply()).toContain('1 added, 1 changed, 1 destroyed');
  });

  test('Plans, errors and computed values show nothing sensitive', async () => {
    const secret = 'do-not-say-this';
    const box = (exit: number, memory: string): string => `${base}
variable "pw" {
  default   = "${secret}"
  sensitive = true
}
${container(
  'a',
  `profiles = [gantry_profile.web.name]
  config   = { "environment.PW" = var.pw, "limits.memory" = "${memory}" }
  files    = { "/pw" = { content = var.pw } }
  exec     = { x = { command = ["sh", "-c", "echo $PW; exit ${exit}; echo \${var.pw}"], environment = { PW = var.pw } } }`,
)}
resource "gantry_storage_volume" "v" {
  pool   = gantry_storage_pool.p.name
  name   = "v"
  config = { "user.pw" = var.pw, "user.memory" = "${memory}" }
}`;
    terraform.write(box(3, '64MiB'));
    const failed = await terraform.fails('apply', '-auto-approve');
    expect(failed).toMatch(/A command in a failed.*exited with 3: sh/);
    expect(failed).not.toContain(secret);
    terraform.write(box(0, '32MiB'));
    expect(await terraform.apply()).not.toContain(secret);
  });

  test('A configuration generated from existing objects plans to nothing', async () => {
    terraform.write(`${base}${image()}
${container('a', 'profiles = [gantry_profile.web.name]\n  source = { type = "image", alias = gantry_image_alias.a.name }')}
resource "gantry_storage_volume" "v" {
  pool = gantry_storage_pool.p.name
  name = "v"
}
resource "gantry_snapshot" "s" {
  container  = gantry_container.a.name
  name       = "s"
  expires_at = "2040-01-31T12:00:00Z"
}
resource "gantry_container_file" "f" {
  container = gantry_container.a.name
  path      = "/etc/f"
  content   = "hello"
}
`);
    await terraform.apply();
    const { fingerprint } = terraform.state('gantry_image.i');
    const ids = {
      gantry_storage_pool: 'fast',
      gantry_profile: 'web',
      gantry_image: fingerprint as string,
      gantry_image_alias: 'base',
      gantry_container: 'a',
      gantry_storage_volume: 'fast/v',
      gantry_snapshot: 'a/s',
      gantry_container_file: 'a//etc/f',
    };
    const anew = new Terraform(attached, { address: `unix://${daemon.socketPath}` });
    const blocks = Object.entries(ids).map(([type, id]) => `import {\n  to = ${type}.x\n  id = "${id}"\n}\n`);
    anew.write(blocks.join(''));
    const { output } = await anew.plan('-generate-config-out=generated.tf');
    expect(output).toContain('Plan: 8 to import, 0 to add, 0 to change, 0 to destroy');
    expect(await anew.apply()).toContain('8 imported, 0 added, 0 changed');
    await anew.expectNoChanges();
  });
});

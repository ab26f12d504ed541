// `gantry import lxd-terraform`: the texts of whole configurations, listed parts with lines, and the written folder.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importTerraform } from '../../../reconciler/manifest/import-terraform/import-terraform.ts';
import { cli } from '../../support/cli/io.ts';
import { expectGolden } from '../../support/golden.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const fixtures = join(import.meta.dirname, '../../fixtures/lxd-terraform');
const shop = join(fixtures, 'shop');
const main = (text: string, states: 'moved' | 'import' = 'moved') =>
  importTerraform([{ path: 'main.tf', text }], states);
const converted = (text: string): string => main(text).files[0]?.text ?? '';
const notesOf = (text: string): readonly string[] => main(text).notes.map((note) => `${note.line}: ${note.text}`);

test.each(['moved', 'import'] as const)('a configuration with a module is rewritten, with %s blocks', (states) => {
  const given = ['main.tf', 'modules/db/main.tf.json'].map((path) => ({
    path,
    text: readFileSync(join(shop, path), 'utf8'),
  }));
  const { files, notes, errors, replaced } = importTerraform(given, states);
  expect(errors).toEqual([]);
  expect(replaced).toEqual(['modules/db/main.tf.json']);
  const told = notes.map(({ file, line, text }) => `# ${file}:${line}: ${text}\n`);
  const texts = files.map(({ path, text }) => `\n# ---- ${path}\n\n${text}`);
  expectGolden(`import/terraform-shop-${states}.tf`, `${told.join('')}${texts.join('')}`);
});

describe('An argument', () => {
  test.each([
    ['image = "local:debian"', 'source = { type = "image", alias = "debian" }'],
    ['image = "0123456789abcdef"', 'source = { type = "image", fingerprint = "0123456789abcdef" }'],
    ['image = "images:debian/${var.release}"', 'alias    = "debian/${var.release}"'],
    ['image = "local:debian"\n source_file = null', 'source = { type = "image", alias = "debian" }'],
    ['image = null\n source_file = "web.tar.gz"', 'source = { type = "backup", file = "web.tar.gz" }'],
    ['lifecycle {\n ignore_changes = [limits["cpu"], image]\n }', 'ignore_changes = [config["limits.cpu"], source]'],
    ['source_file = "web.tar.gz"', 'source = { type = "backup", file = "web.tar.gz" }'],
    [
      'source_instance = {\n name = "a"\n snapshot = "s"\n}',
      'source = { type = "copy", source = "a", snapshot = "s" }',
    ],
    ['limits = var.limits', 'config = merge({}, { for key, value in var.limits : "limits.${key}" => value })'],
    ['config = var.c\n limits = { cpu = 1 }', 'config = merge(var.c, { "limits.cpu" = 1 })'],
    [
      'device {\n name = "a"\n type = "nic"\n properties = var.p\n}',
      'devices = {\n    a = merge({ type = "nic" }, var.p)\n  }',
    ],
    ['device {\n name = var.n\n type = "none"\n}', '(var.n) = { type = "none" }'],
    ['exec {\n command = ["a"]\n timeout = 5\n}', 'exec-00 = {\n      command = ["a"]\n      timeout = "5s"\n    }'],
    ['wait_for_network = var.waits', 'wait_for = var.waits ? [{ type = "ipv4" }] : []'],
    ['start_container = false', 'running = false'],
    ['start_on_create = var.starts', 'running = var.starts'],
    ['timeouts {\n create = "5m"\n}', 'timeouts = { create = "5m" }'],
  ])('%s of an instance becomes %s', (written, expected) => {
    expect(converted(`resource "lxd_instance" "a" {\n  name = "a"\n  ${written}\n}\n`)).toContain(expected);
  });

  test.each([
    ['type = "virtual-machine"', /type = "virtual-machine": gantry has only container/],
    ['file {\n target_path = "/a"\n append = true\n}', /append is not carried over/],
    ['image = var.i\n source_file = var.f', /image and source_file are both given/],
    ['image = "mine:debian"', /remote mine is in no provider block/],
    ['execs = var.commands', /it is computed/],
    ['wait_for {\n type = var.w\n}', /wait_for of type var\.w/],
    ['tomorrow = 1', /argument tomorrow has no counterpart/],
    ['tomorrow {\n}', /block tomorrow has no counterpart/],
  ])('%s keeps the whole instance with its provider, and the reason is listed', (written, why) => {
    const text = `resource "lxd_instance" "a" {\n  ${written}\n}\noutput "a" { value = lxd_instance.a.name }\n`;
    const [note] = main(text).notes;
    expect(note?.text).toMatch(/^lxd_instance\.a stays with its provider: /);
    expect(note?.text).toMatch(why);
    expect(converted(text)).toContain(text);
  });
});

test.each([
  ['resource "lxd_instance" "1web" {}', /^"1web" cannot be a label in Terraform/],
  ['resource "lxd_instance" "my web" {}', /^"my web" cannot be a label/],
  ['data "lxd_network" "a.b" {}', /^"a\.b" cannot be a label/],
  ['resource "lxd_instance" {}', /^a resource block has two labels/],
  ['resource "lxd_instance" "a" "b" {}', /^a resource block has two labels/],
])('%s is an error, since no moved block could name it', (text, why) => {
  const { errors, files } = main(`\n${text}\n`);
  expect(errors).toEqual([{ file: 'main.tf', line: 2, text: expect.stringMatching(why) }]);
  expect(files).toEqual([]);
});

test('A label in JSON is an error at its line, and a label with letters of other scripts is none', () => {
  const json =
    '{\n  "resource": {\n    "lxd_instance": {\n      "web.1": { "name": "a" },\n      "größe": { "name": "b" }\n    }\n  }\n}\n';
  const { errors } = importTerraform([{ path: 'main.tf.json', text: json }], 'moved');
  expect(errors).toEqual([
    { file: 'main.tf.json', line: 4, text: expect.stringMatching(/^"web\.1" cannot be a label/) },
  ]);
});

test.each(['instance', 'container'])('The %s that an image is published from is its source', (argument) => {
  const text = `resource "lxd_publish_image" "a" {\n  ${argument} = "web"\n}\n`;
  expect(notesOf(text)).toEqual([]);
  expect(converted(text)).toContain('source = { type = "container", container = "web" }');
});

test('A volume that older versions attach to a container is a device of its own', () => {
  const text =
    'resource "lxd_volume_container_attach" "a" {\n  pool = "p"\n  volume_name = lxd_volume.v.name\n  container_name = "web"\n  path = "/srv"\n}\n';
  expect(notesOf(text)).toEqual([]);
  expect(converted(`${text}resource "lxd_volume" "v" {\n  name = "v"\n  pool = "p"\n}\n`)).toContain(
    'resource "gantry_container_device" "a" {\n  name = gantry_storage_volume.v.name\n  type = "disk"\n  properties = { pool = "p", source = gantry_storage_volume.v.name, path = "/srv" }',
  );
});

test('A resource of an unsupported type stays, and resources that refer to it are converted', () => {
  const text =
    'resource "lxd_network_zone" "a" {\n  name = "a"\n}\nresource "lxd_network" "n" {\n  name   = lxd_network_zone.a.name\n}\n';
  expect(notesOf(text)).toEqual(['1: lxd_network_zone.a stays with its provider: there is no such type here']);
  expect(converted(text)).toContain('resource "gantry_network" "n" {\n  name   = lxd_network_zone.a.name');
});

test('A network ACL and the network that names it are converted with their rules', () => {
  const rules = `  ingress = [
    { action = "allow", protocol = "tcp", destination_port = "80" },
  ]
`;
  const text = (prefix: string) =>
    `resource "${prefix}_network_acl" "a" {\n  name = "a"\n${rules}}\nresource "${prefix}_network" "n" {\n  name   = "n0"\n  config = { "security.acls" = ${prefix}_network_acl.a.name }\n}\n`;
  expect(notesOf(text('lxd'))).toEqual([]);
  for (const prefix of ['lxd', 'incus']) expect(converted(text(prefix))).toContain(text('gantry'));
});

test('The alias blocks of an Incus image become alias resources, and a dynamic one is refused', () => {
  const image = (aliases: string) => `resource "incus_image" "a" {
  source_image = { remote = "images", name = "debian/12" }
  ${aliases}
}`;
  const { files } = main(image('alias {\n name = "deb"\n description = "d"\n }\n alias {\n name = var.x\n }'));
  const text = files.map((file) => file.text).join('');
  expect(text).toContain('for_each    = { ("deb") = "d", (var.x) = "" }\n  name        = each.key\n');
  expect(text).toContain('description = each.value\n');
  expect(text).toContain('import {\n  for_each = { ("deb") = "d", (var.x) = "" }\n');
  expect(notesOf(image('dynamic "alias" {\n for_each = []\n content {}\n }')).join()).toContain(
    'incus_image.a stays with its provider: the name of the alias is not given here',
  );
});

test('The data source of an image finds it by alias or fingerprint', () => {
  const text =
    'data "lxd_image" "a" {\n name = "deb"\n type = "container"\n}\noutput "f" { value = data.lxd_image.a.fingerprint }';
  expect(converted(text)).toContain('data "gantry_image" "a" {\n alias = "deb"\n}\n');
  expect(converted(text)).toContain('data.gantry_image.a.fingerprint');
});

test('References are renamed everywhere, and similar names are not', () => {
  const text = `resource "incus_instance" "a" {
  name = "a"
}
locals {
  incus_instance = 1 # incus_instance.a stays in a comment
  text = <<-EOT
    \${incus_instance.a.ipv4_address} and incus_instance.a
  EOT
  all = [for k in [1] : "\${k}\${incus_instance.a.name}"]
}
resource "null_resource" "b" {
  triggers = { a = incus_instance.a.name, b = incus_instance.b.name }
  depends_on = [incus_instance.a]
}
`;
  expect(converted(text)).toBe(
    text
      .replace('"incus_instance" "a"', '"gantry_container" "a"')
      .replace('${incus_instance.a.ipv4', '${gantry_container.a.ipv4')
      .replace('${incus_instance.a.name}', '${gantry_container.a.name}')
      .replace('a = incus_instance.a.name', 'a = gantry_container.a.name')
      .replace('[incus_instance.a]', '[gantry_container.a]'),
  );
});

test('Server settings are removed from the old state and imported by their keys', () => {
  const { files } = main('resource "incus_server" "s" {\n  config = { "core.https_address" = ":8443" }\n}\n');
  expect(files[1]?.text).toContain('removed {\n  from = incus_server.s\n');
  expect(files[1]?.text).toContain('id = "core.https_address"');
});

test('A passed provider, its aliases and a resource that names one become ours', () => {
  const text = `terraform {
  required_providers {
    lxd = { source = "terraform-lxd/lxd", configuration_aliases = [lxd.west] }
  }
}
provider "lxd" {
  alias = "west"
}
resource "lxd_profile" "a" {
  provider = lxd.west
  name     = "a"
}
module "m" {
  source    = "../elsewhere"
  providers = { lxd = lxd.west }
}
`;
  const result = converted(text);
  for (const part of ['configuration_aliases = [gantry.west]', 'provider = gantry.west', '{ gantry = gantry.west }'])
    expect(result).toContain(part);
  expect(result).toContain('provider "gantry" {\n  alias = "west"\n}');
  expect(notesOf(text).join('\n')).toMatch(/13: the module \.\.\/elsewhere lies outside/);
});

test.each([
  ['{ lxd = { source = "terraform-lxd/lxd" } }', 'lxd = { source = "terraform-lxd/lxd" } \n  }'],
  ['{ lxd = {\n    source = "terraform-lxd/lxd"\n  } }', 'lxd = {\n    source = "terraform-lxd/lxd"\n  } \n  }'],
  ['{}', '}'],
])('required_providers %j gets a line of its own for our provider', (block, rest) => {
  const text = converted(`terraform {\n  required_providers ${block}\n}\nresource "lxd_profile" "a" { name = "a" }\n`);
  expect(text).toContain(
    `required_providers {\n    gantry = { source = "gantry/gantry" }\n${rest === '}' ? '  ' : '    '}${rest}`,
  );
});

describe('Bad input', () => {
  test.each([
    ['main.tf', 'resource "lxd_instance" "a" {\n  name = \n}\n', 3, /an expression is expected/],
    ['main.tf', 'resource "lxd_instance" "a" {\n  name = "a"\n', 1, /the block resource has no \}/],
    ['main.tf', 'a = 1 b = 2\n', 1, /must begin a new line/],
    ['main.tf', 'resource "aws_x" "a" {}\n', 1, /no resource or data source of lxd_\* or incus_\*/],
    ['main.tf', 'a {\n'.repeat(40), 32, /nested too deeply/],
    ['main.tf.json', '{"resource": {', 1, /not valid JSON|ends|is expected/],
    ['main.tf.json', '{"resource": {"aws_x": {\n"a": {}}}}', 2, /only its provider knows/],
    ['main.tf.json', '{"resource": {"lxd_profile": {"a": {\n"provisioner": []}}}}', 2, /not read from JSON/],
  ])('%s %j is refused with its line', (path, text, line, why) => {
    const { errors, files } = importTerraform([{ path, text }], 'moved');
    expect(files).toEqual([]);
    expect(errors[0]?.text).toMatch(why);
    expect(errors[0]).toMatchObject({ file: path, line });
  });

  test('a folder without files, one that is missing and one that exists already are refused', async () => {
    const folder = tempFolder('gitf-');
    const run = async (...args: string[]): Promise<string> => {
      const ran = await cli(['import', 'lxd-terraform', ...args]);
      expect(ran.code).toBe(64);
      return ran.stderr;
    };
    expect(await run(folder)).toContain('has no *.tf or *.tf.json file');
    for (const verb of ['lxd-terraform', 'compose']) {
      const ran = await cli(['import', verb, join(folder, 'none')]);
      expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/cannot read .*: there is no such file/)]);
    }
    expect(await run(shop, '-o', folder)).toContain('already exists: name a new folder');
    expect(await run(shop, '-o', join(shop, 'new'))).toContain('name a new folder beside it');
  });
});

test('The new folder has the whole configuration with other files and the state, but no private files of Terraform', async () => {
  const folder = tempFolder('gitf-');
  const from = join(folder, 'from');
  mkdirSync(join(from, '.terraform/modules'), { recursive: true });
  writeFileSync(
    join(from, 'main.tf.json'),
    '{"resource":{"lxd_profile":{"a":{"name":"${var.a}"}}},"variable":{"a":{}}}',
  );
  writeFileSync(join(from, 'values.auto.tfvars'), 'a = "x"\n');
  writeFileSync(join(from, 'terraform.tfstate'), '{}');
  writeFileSync(join(from, '.terraform/modules/x.tf'), 'broken {');
  const out = join(folder, 'out');
  const made = await cli(['import', 'lxd-terraform', from, '-o', out]);
  expect(made.code, made.stderr).toBe(0);
  expect(made.stderr).toContain('1 resources and data sources converted');
  expect(readFileSync(join(out, 'main.tf'), 'utf8')).toContain('resource "gantry_profile" "a" {\n  name = var.a\n}');
  for (const [name, isThere] of Object.entries({
    'main.tf.json': false,
    'values.auto.tfvars': true,
    'terraform.tfstate': true,
    '.terraform': false,
    'gantry-moved.tf': true,
    'gantry-provider.tf': true,
  }))
    expect(existsSync(join(out, name)), name).toBe(isThere);
  expect((await cli(['import', 'lxd-terraform', from])).stdout).toContain('# main.tf\n');
});

test('one of several imports into one folder at once makes it whole, and the others say that it exists', async () => {
  const folder = tempFolder('gitf-');
  const out = join(folder, 'out');
  const runs = await Promise.all(Array.from({ length: 4 }, () => cli(['import', 'lxd-terraform', shop, '-o', out])));
  expect(runs.filter(({ code }) => code === 0)).toHaveLength(1);
  for (const { code, stderr } of runs) if (code !== 0) expect(stderr).toMatch(/out.* already exists/);
  expect(readdirSync(folder)).toEqual(['out']);
  const alone = join(folder, 'alone');
  await cli(['import', 'lxd-terraform', shop, '-o', alone]);
  const names = (dir: string): ReadonlySet<string> => new Set(readdirSync(dir, { recursive: true }).map(String));
  expect(names(out)).toEqual(names(alone));
});

// Images on the simulation: from a server with a self-signed certificate, already existing ones, imported ones, and copied aliases.
import { beforeEach, describe, expect, test } from 'vitest';
import { fastPool } from '../../support/terraform/blocks.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and images of others');

describe.skipIf(missing !== undefined)('an image of another server', () => {
  let attached: Attached;
  let daemon: TestDaemon;
  let remote: TestDaemon;
  let terraform: Terraform;
  let server = '';
  let certificate = '';
  let fingerprint = '';
  useTerraform((world) => ({ attached, daemon, terraform } = world));
  useDaemon((given) => void (remote = given), { https: '127.0.0.1:0' });
  beforeEach(async () => {
    server = `https://${remote.daemon.httpsAddress() ?? ''}`;
    certificate = (await remote.get('/1.0')).environment.certificate;
    const store = new Terraform(attached, { address: `unix://${remote.socketPath}` });
    packImage(store.dir, 'image.tar.gz', 'theirs');
    store.write(`
resource "gantry_image" "i" {
source = { type = "file", file = "${store.dir}/image.tar.gz" }
public = true
}
resource "gantry_image_alias" "a" {
name   = "base"
target = gantry_image.i.fingerprint
}
`);
    await store.apply();
    fingerprint = store.state('gantry_image.i').fingerprint;
  });

  const source = (more = ''): string =>
    `type = "remote", server = "${server}", protocol = "lxd", alias = "base", certificate = ${JSON.stringify(certificate)}${more}`;
  const image = (more = '', from = source()): string => `
resource "gantry_image" "i" {
  source = { ${from} }
  ${more}
}
`;
  const images = async (): Promise<readonly string[]> => daemon.get('/1.0/images');

  test('An image is fetched with the certificate of its server, for the store and for a container, and an error without it names the attribute', async () => {
    terraform.write(image('', source().replace(/, certificate = .*/, '')));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('give it as source.certificate');
    terraform.write(`${image()}
${fastPool}resource "gantry_container" "c" {
  name     = "web"
  running  = false
  profiles = []
  devices  = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  source   = { ${source().replace('"remote"', '"image"')} }
}
`);
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/web')).config['volatile.base_image']).toBe(fingerprint);
    terraform.write(image('', source().replace(/certificate = .*/, 'certificate = "none"')));
    expect(await terraform.fails('plan')).toContain('must be an X.509 certificate in PEM form');
  });

  test('A file that the server already has as an image is used with a warning, also by two resources at once', async () => {
    const { dir } = terraform;
    packImage(dir, 'image.tar.gz', 'mine');
    const of = (name: string, more = ''): string => `
resource "gantry_image" "${name}" {
  source = { type = "file", file = "${dir}/image.tar.gz" }
  ${more}
}
`;
    terraform.write(`${of('one')}${of('other')}`);
    const said = await terraform.apply();
    expect(said).toContain('2 added, 0 changed, 0 destroyed');
    expect(said.match(/The image \w+ was already on the server/g)).toHaveLength(1);
    await terraform.expectNoChanges();
    expect(await images()).toHaveLength(1);
    // A second state, as of a colleague, leaves the image to the first one.
    const colleague = new Terraform(attached, { address: `unix://${daemon.socketPath}` });
    colleague.write(of('theirs', 'public = true'));
    expect(await colleague.fails('apply', '-auto-approve')).toContain('with other values of public');
    colleague.write(of('theirs'));
    expect(await colleague.apply()).toContain('was already on the server');
    await colleague.destroy();
    expect(await images()).toHaveLength(1);
    await terraform.destroy();
    expect(await images()).toHaveLength(0);
  });

  test('A file whose path another resource makes becomes the image at the apply, and another file replaces it', async () => {
    const { dir } = terraform;
    const text = (file: string): string => {
      packImage(dir, file, file);
      return `
resource "terraform_data" "built" {
  input = "${dir}/${file}"
}
resource "gantry_image" "i" {
  source = { type = "file", file = terraform_data.built.output }
}
resource "gantry_image_alias" "a" {
  name   = "built"
  target = gantry_image.i.fingerprint
}
`;
    };
    terraform.write(text('one.tar.gz').replace('terraform_data.built.output', '"gone.tar.gz"'));
    expect(await terraform.fails('plan')).toContain('take its path from an attribute that is known only after apply');
    const alias = async (): Promise<unknown> => (await daemon.get('/1.0/images/aliases/built')).target;
    terraform.write(text('one.tar.gz'));
    await terraform.settle();
    const first = await alias();
    expect(terraform.state('gantry_image.i')).toMatchObject({ fingerprint: first });
    terraform.write(text('two.tar.gz'));
    expect((await terraform.plan()).output).toContain('gantry_image.i must be replaced');
    await terraform.settle();
    const second = await alias();
    expect(second).not.toBe(first);
    expect(terraform.state('gantry_image.i')).toMatchObject({ fingerprint: second });
    expect(await images()).toEqual([`/1.0/images/${String(second)}`]);
  });

  test('An image that already existed is used with a warning, and stays with its aliases on destroy', async () => {
    const body = { type: 'image', mode: 'pull', server, protocol: 'lxd', alias: 'base', certificate };
    await daemon.ok('POST', '/1.0/images', { source: body });
    await daemon.call('POST', '/1.0/images/aliases', { name: 'theirs', target: fingerprint });
    terraform.write(image('copy_aliases = true'));
    expect(await terraform.apply()).toContain(`The image ${fingerprint} was already on the server`);
    await terraform.expectNoChanges();
    expect((await daemon.get(`/1.0/images/${fingerprint}`)).aliases).toHaveLength(2);
    await terraform.destroy();
    const left = await daemon.get(`/1.0/images/${fingerprint}`);
    expect(left.aliases.map(({ name }: { name: string }) => name)).toEqual(['theirs']);
    // Other values do not change the image of another owner.
    terraform.write(image('public = true'));
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toContain(`The image ${fingerprint} already exists`);
    expect(said).toContain('with other values of public');
    expect((await daemon.get(`/1.0/images/${fingerprint}`)).public).toBe(false);
  });

  test('An image that the resource created is destroyed together with its copied aliases', async () => {
    terraform.write(image('copy_aliases = true'));
    expect(await terraform.apply()).not.toContain('already');
    await terraform.expectNoChanges();
    expect(await daemon.get('/1.0/images/aliases/base')).toMatchObject({ target: fingerprint });
    await terraform.destroy();
    expect(await images()).toEqual([]);
  });

  test('An image is imported by the documented id, and plans to nothing', async () => {
    terraform.write(image());
    await terraform.apply();
    await terraform.forget('gantry_image.i');
    await terraform.import('gantry_image.i', `${fingerprint},server=${server},alias=base`);
    await terraform.expectNoChanges();
    // Another way to fetch the image does not replace it; another alias does.
    terraform.write(image('', source(', architecture = "x86_64"')));
    await terraform.expectNoChanges();
    terraform.write(image('', source().replace('"base"', '"other"')));
    expect((await terraform.plan()).output).toContain('gantry_image.i must be replaced');
  });

  test('An image of another architecture than configured is refused, and not left behind', async () => {
    terraform.write(image('', source(', architecture = "aarch64"')));
    expect(await terraform.fails('apply', '-auto-approve')).toContain('The image is not for aarch64');
    expect(await images()).toEqual([]);
  });
});

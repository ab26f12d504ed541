// Every example of the documentation can be planned, and the one in examples/terraform is applied as its README says.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gantryProvider } from '../../../provider/gantry.ts';
import { releaseFiles } from '../../../provider/packaging/release.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { createContainer, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { repository } from '../../support/cli/programs.ts';
import { replaceTaken } from '../../support/hosts/free-resources.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { example, examplesOf } from '../../support/terraform/examples.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('the examples of the provider') ?? busyboxMissing();
const provider = gantryProvider({ env: {}, log() {} });

describe.skipIf(missing !== undefined)('the examples', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  test('Every example of a resource or function can be planned', async () => {
    const { certPem } = await makeClient('ci');
    writeFileSync(join(terraform.dir, 'ci.crt'), certPem);
    terraform.write([...examplesOf('resources'), ...examplesOf('functions')].join('\n'));
    expect((await terraform.plan()).output).toContain(`${provider.resources.length} to add, 0 to change`);
  });

  test('The example of the provider is valid, and Terraform understands the id of every example of an import', async () => {
    terraform.write(example('provider/provider.tf'));
    expect((await terraform.run(['validate'])).code).toBe(0);
    await seed(daemon);
    const ids = provider.resources.filter(({ importing }) => importing.example !== '');
    const block = ({ typeName, importing }: (typeof ids)[number]): string =>
      `import {\n  to = ${typeName}.example\n  id = ${JSON.stringify(importing.example)}\n}\n`;
    terraform.write(ids.map(block).join(''));
    const { output } = await terraform.run(['plan', '-generate-config-out=generated.tf']);
    expect(output).toContain('non-existent');
    expect(output).not.toMatch(/is not understood|import id/);
  });

  test('Every example of an ephemeral resource is valid', async () => {
    terraform.write(examplesOf('ephemeral-resources').join('\n'));
    const { code, output } = await terraform.run(['validate']);
    expect(code, output).toBe(0);
  });

  test('Every example of a data source can be read', async () => {
    await seed(daemon);
    await daemon.call('POST', '/1.0/network-acls', { name: 'web' });
    await daemon.call('POST', '/1.0/networks', {
      name: 'lan0',
      config: { 'ipv4.address': '10.9.9.1/24', 'ipv6.address': 'none' },
    });
    await createContainer(daemon, 'db');
    await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: 'data' });
    const certificate = (await makeClient('ci')).certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'ci', certificate });
    const [url = ''] = (await daemon.get('/1.0/certificates')) as readonly string[];
    const image = await buildBusyboxImage(join(terraform.dir, 'image'));
    terraform.write(`resource "gantry_image" "i" {
  source = { type = "file", file = "${image.metadataPath}" }
}
resource "gantry_image_alias" "i" {
  name   = "debian/12"
  target = gantry_image.i.fingerprint
}
`);
    await terraform.apply();
    const project = example('data-sources/gantry_project/data-source.tf');
    const examples = examplesOf('data-sources')
      .filter((text) => text !== project)
      .join('\n');
    terraform.write(examples.replace(/fingerprint = "[0-9a-f]{64}"/, `fingerprint = "${url.split('/').at(-1) ?? ''}"`));
    await terraform.apply();
    expect(terraform.state('data.gantry_container.db')).toMatchObject({
      name: 'db',
      status: 'Stopped',
      profiles: ['default'],
    });
    expect(terraform.state('data.gantry_image.base')).toMatchObject({ fingerprint: image.fingerprint });
    expect(terraform.state('data.gantry_network.lan')).toMatchObject({ managed: true });
    expect(terraform.state('data.gantry_containers.running')).toMatchObject({ containers: {} });
    // The remaining example needs a server with projects.
    terraform.write(project);
    expect(await terraform.fails('plan')).toMatch(/cannot have projects|no project/);
  });

  test('The configuration in examples/terraform is applied, changed live, and destroyed', async () => {
    const image = await buildBusyboxImage(join(terraform.dir, 'image'));
    const example = readFileSync(join(repository, 'examples/terraform/main.tf'), 'utf8');
    const local = replaceTaken([example]);
    writeFileSync(join(terraform.dir, 'main.tf'), local.here(example));
    // An attached provider has the environment of this test, so the address comes from elsewhere here.
    writeFileSync(
      join(terraform.dir, 'address_override.tf'),
      `provider "gantry" {\n  address = "unix://${daemon.socketPath}"\n}\n`,
    );
    const vars = [`-var=image=${image.metadataPath}`];
    expect(await terraform.apply(...vars)).toContain('7 added');
    expect((await terraform.plan(...vars)).changes).toBe(false);
    const { addresses } = terraform.outputs() as { addresses: Record<string, string> };
    for (const name of ['web', 'db']) expect(local.documented(addresses[name] ?? '')).toMatch(/^10\.122\.0\./);
    expect(await terraform.apply(...vars, '-var=memory=96MiB')).toContain('0 added, 1 changed');
    expect((await daemon.get('/1.0/containers/tfdemo-web')).expanded_config['limits.memory']).toBe('96MiB');
    expect(await terraform.destroy(...vars)).toContain('7 destroyed');
  });
});

describe('a release', () => {
  const input = { version: '1.2.3', programs: new Map([['main.cjs', Buffer.from('x')]]), license: Buffer.from('l') };

  test('A release is the same bytes each time, and describes itself', () => {
    const [first, second] = [releaseFiles(input), releaseFiles(input)];
    for (const [name, { content }] of first) expect(second.get(name)?.content.equals(content), name).toBe(true);
    const names = [...first.keys()];
    expect(names.filter((name) => name.endsWith('.zip'))).toHaveLength(4);
    const manifest = first.get('terraform-provider-gantry_1.2.3_manifest.json')?.content.toString() ?? '';
    expect(JSON.parse(manifest)).toEqual({ version: 1, metadata: { protocol_versions: ['6.0'] } });
    const sums = first.get('terraform-provider-gantry_1.2.3_SHA256SUMS')?.content.toString() ?? '';
    expect(
      sums
        .trim()
        .split('\n')
        .map((line) => line.split('  ')[1]),
    ).toEqual(names.slice(0, 5));
    const launcher = 'mirror/registry.terraform.io/gantry/gantry/1.2.3/linux_amd64/terraform-provider-gantry_v1.2.3';
    expect(first.get(launcher)?.mode).toBe(0o755);
  });
});

// Data sources of volumes and certificates: objects that others made.
import { describe, expect, test } from 'vitest';
import { makeClient } from '../support/daemons/tls.ts';
import { terraformMissing } from '../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../support/terraform/world.ts';

const missing = terraformMissing('data sources of volumes and certificates');

describe.skipIf(missing !== undefined)('a data source', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  test('Volumes and certificates of others are read, and a missing one is an error that names it', async () => {
    const { terraform, daemon } = world;
    await daemon.call('POST', '/1.0/storage-pools', { name: 'fast', driver: 'dir' });
    const volume = { name: 'data', description: 'kept', config: { 'user.a': 'b' } };
    await daemon.call('POST', '/1.0/storage-pools/fast/volumes/custom', volume);
    const certificate = (await makeClient('ci')).certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
    await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'ci', certificate });
    const [url = ''] = (await daemon.get('/1.0/certificates')) as readonly string[];
    const read = (name: string): string => `
data "gantry_storage_volume" "v" {
  pool = "fast"
  name = "${name}"
}
data "gantry_certificate" "c" {
  fingerprint = "${url.split('/').at(-1) ?? ''}"
}
output "found" {
  value = [data.gantry_storage_volume.v.description, data.gantry_storage_volume.v.config, data.gantry_certificate.c.name, data.gantry_certificate.c.restricted]
}
`;
    terraform.write(read('data'));
    await terraform.apply();
    expect(terraform.outputs()['found']).toEqual(['kept', { 'user.a': 'b' }, 'ci', false]);
    terraform.write(read('date'));
    expect(await terraform.fails('plan')).toContain('There is no storage volume "fast/date"');
  });
});

// Every optional argument of every resource with a value of its own, on the simulation: the plan after the apply is empty, a refresh
// rewrites nothing in the state, and an import with the same configuration changes nothing on the server.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { presenceOf } from '../../../../provider/framework/attribute.ts';
import { gantryProvider } from '../../../../provider/gantry.ts';
import { packImage } from '../../../support/cli/daemon-with-manifests.ts';
import { terraformMissing } from '../../../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../../../support/terraform/world.ts';
import { everyBlock, needsCluster } from './blocks.ts';
import { expectEveryArgumentSettled } from './settled.ts';

const missing = terraformMissing('Terraform with every argument');
const differing = { bridge: 'lan0', subnet: '10.77.0', instanceType: 'c1.5-m1' };

test('The blocks have every argument of every resource', () => {
  const all = everyBlock('', '', { ...differing, image: '' });
  for (const { typeName, attributes } of gantryProvider({ env: {}, log() {} }).resources) {
    const written = new Set(Object.values(all[typeName] ?? {}).flatMap((block) => Object.keys(block)));
    const left = Object.entries(attributes)
      .filter(([, each]) => presenceOf(each).optional || presenceOf(each).required)
      .map(([name]) => name)
      .filter((name) => !written.has(name) && !needsCluster(`${typeName}.${name}`));
    expect(left, typeName).toEqual([]);
  }
});

describe.skipIf(missing !== undefined)('every argument', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  test('The plan after an apply is empty, an import changes nothing on the server, and then the plan is empty again', async () => {
    const { terraform, daemon: server } = world;
    packImage(terraform.dir, 'image.tar.gz', 'every');
    const image = join(terraform.dir, 'image.tar.gz');
    await expectEveryArgumentSettled({ terraform, server, differing: { ...differing, image } });
  });
});

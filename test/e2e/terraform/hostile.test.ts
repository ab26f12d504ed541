// Stress for the provider: every argument unknown at once, and the same objects applied from two places.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { gantryProvider } from '../../../provider/gantry.ts';
import { presenceOf, type Attributes } from '../../../provider/framework/attribute.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('Terraform with unknown values, and twice at once');

describe.skipIf(missing !== undefined)('terraform', () => {
  const served: Attached[] = [];
  let daemon: TestDaemon;
  const all: Terraform[] = [];
  useDaemon((given) => void (daemon = given));
  afterEach(() => served.splice(0).forEach((each) => each.stop()));

  /** Each has its own provider process, as Terraform starts them. */
  async function here(): Promise<Terraform> {
    const attached = await serveHere();
    served.push(attached);
    const terraform = new Terraform(attached, { address: `unix://${daemon.socketPath}` });
    all.push(terraform);
    return terraform;
  }

  test('Every resource and data source can be planned with every argument unknown', async () => {
    const terraform = await here();
    const { resources, dataSources } = gantryProvider({ env: {}, log() {} });
    // The type is unknown as well, so that the value fits everywhere.
    const late = '${jsondecode(terraform_data.late.output)}';
    const argumentsOf = (attributes: Attributes): object =>
      Object.fromEntries(
        Object.entries(attributes)
          .filter(([, attribute]) => presenceOf(attribute).required || presenceOf(attribute).optional)
          .map(([name]) => [name, late]),
      );
    const one = (list: readonly { readonly typeName: string; readonly attributes: Attributes }[]): object =>
      Object.fromEntries(list.map(({ typeName, attributes }) => [typeName, { x: argumentsOf(attributes) }]));
    const inner = {
      name: 'inner',
      source: { type: 'image', alias: late },
      files: { '/a': { content: late, mode: late } },
      exec: { a: { command: [late], on: late } },
      devices: { eth0: { type: 'nic', parent: late }, root: late },
      wait_for: [{ type: late, nic: late }],
      snapshots: { schedule: late },
    };
    const own = one(resources) as Record<string, object>;
    terraform.write('');
    writeFileSync(
      join(terraform.dir, 'all.tf.json'),
      JSON.stringify(
        {
          resource: {
            ...own,
            gantry_container: { ...own['gantry_container'], inner },
            terraform_data: { late: { input: '1' } },
          },
          data: one(dataSources),
        },
        null,
        1,
      ),
    );
    const { output } = await terraform.plan();
    expect(output).toContain(`Plan: ${resources.length + 2} to add, 0 to change, 0 to destroy`);
  });

  test('Two concurrent applies of the same new objects create each once, and each state has only its own objects', async () => {
    const both = [await here(), await here()];
    const config = [0, 1, 2, 3]
      .map(
        (at) => `
resource "gantry_storage_pool" "p${at}" {
  name   = "race${at}"
  driver = "dir"
}`,
      )
      .join('\n');
    for (const each of both) each.write(config);
    const runs = await Promise.all(both.map((each) => each.run(['apply', '-auto-approve', '-input=false'])));
    const failed = runs.filter(({ code }) => code !== 0);
    expect(failed.length).toBeGreaterThan(0);
    for (const { output } of failed) expect(output).toMatch(/already exists/);
    const names = (await daemon.get('/1.0/storage-pools?recursion=1')) as readonly { readonly name: string }[];
    const races = names.map(({ name }) => name).filter((name) => name.startsWith('race'));
    expect(races.sort()).toEqual(['race0', 'race1', 'race2', 'race3']);
    const owners: readonly (readonly string[])[] = await Promise.all(
      both.map(async (each) => {
        const { stdout } = await each.run(['state', 'list']);
        return stdout.split('\n').filter((line) => line !== '');
      }),
    );
    // No state has an object of the other, and every object is in a state.
    expect(owners.flat().toSorted((a, b) => a.localeCompare(b))).toEqual(
      races.map((name) => `gantry_storage_pool.p${name.slice(-1)}`),
    );
  });
});

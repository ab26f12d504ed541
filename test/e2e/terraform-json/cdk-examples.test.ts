// The examples for CDKTF and cdktn: Terraform applies their output to one daemon and gantry to another. Both have an empty plan
// afterwards, and both daemons are in the same state.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { installBindings, type BindingsPackage, type Flavour } from '../../support/terraform/bindings-package.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, statusOf, type TestDaemon } from '../../support/daemons/daemon.ts';
import { daemonState } from '../../support/daemons/comparable-state.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { makeRelease, Terraform, terraformMissing, type Release } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('the result of the examples for CDKTF and cdktn with Terraform');

interface Example {
  readonly flavour: Flavour;
  readonly stack: string;
  readonly objects: number;
  readonly containers: readonly string[];
}
const examples: readonly Example[] = [
  { flavour: 'cdktf', stack: 'web', objects: 6, containers: ['cdkweb'] },
  { flavour: 'cdktn', stack: 'services', objects: 8, containers: ['cdkservices-db', 'cdkservices-web'] },
];

let installed: BindingsPackage;
let release: Release | undefined;
beforeAll(async () => {
  installed = await installBindings();
  release = missing === undefined ? await makeRelease() : undefined;
});

describe.each(examples)('examples/$flavour', ({ flavour, stack, objects, containers }) => {
  async function synthesize(): Promise<string> {
    packImage(installed.root, 'image.tar.gz', flavour);
    return installed.synthExample(flavour, flavour, { IMAGE: join(installed.root, 'image.tar.gz') });
  }
  const gantry = (daemon: TestDaemon, ...argv: string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${daemon.socketPath}`]);

  async function applyByGantry(daemon: TestDaemon, out: string): Promise<void> {
    const planned = await gantry(daemon, 'plan', '-f', out);
    expect(planned.stdout, planned.stderr).toContain(`Plan: ${objects} to add, 0 to change, 0 to destroy`);
    const applied = await gantry(daemon, 'apply', '-y', '-f', out);
    expect(applied.stdout, applied.stderr).toContain(`Apply complete! ${objects} added, 0 changed, 0 destroyed.`);
    const again = await gantry(daemon, 'plan', '-f', out, '-detailed-exitcode');
    expect(again, again.stdout + again.stderr).toMatchObject({ code: 0 });
    expect(planned.stderr + again.stderr).not.toContain('warning');
  }

  async function applyByTerraform(daemon: TestDaemon, out: string, terraform: Terraform): Promise<void> {
    copyFileSync(join(out, 'stacks', stack, 'cdk.tf.json'), join(terraform.dir, 'cdk.tf.json'));
    await terraform.init();
    expect((await terraform.plan()).output).toContain(`Plan: ${objects} to add, 0 to change, 0 to destroy`);
    expect(await terraform.apply()).toContain(`${objects} added, 0 changed, 0 destroyed`);
    await terraform.expectNoChanges();
  }

  /** Another daemon, to which Terraform applies the same. */
  async function expectSame(ofGantry: TestDaemon, out: string, release: Release): Promise<void> {
    const ofTerraform = await makeDaemon();
    onTestFinished(() => ofTerraform.cleanUp());
    const terraform = new Terraform(release, { address: `unix://${ofTerraform.socketPath}` });
    await applyByTerraform(ofTerraform, out, terraform);
    const state = await daemonState(ofGantry);
    expect(Object.keys(state['containers'] ?? {}).sort()).toEqual(containers);
    expect(await daemonState(ofTerraform)).toEqual(state);
    // The comparison must be able to distinguish two states.
    await ofTerraform.call('PATCH', `/1.0/containers/${containers[0]}`, { description: 'another' });
    expect(await daemonState(ofTerraform)).not.toEqual(state);
    expect(await terraform.destroy()).toContain(`${objects} destroyed`);
  }

  test('is planned, applied, found unchanged and destroyed by gantry alone, and ends in the same state by Terraform', async () => {
    const out = await synthesize();
    const daemon = await makeDaemon();
    onTestFinished(() => daemon.cleanUp());
    await applyByGantry(daemon, out);
    for (const name of containers) expect(await statusOf(daemon, name)).toBe('Running');
    if (flavour === 'cdktn') {
      const file = await daemon.call('GET', '/1.0/containers/cdkservices-db/files?path=/etc/role');
      expect(file.bytes.toString()).toBe('db\n');
    }
    if (release !== undefined) await expectSame(daemon, out, release);
    const destroyed = await gantry(daemon, 'destroy', '-y', '-f', out);
    expect(destroyed.stdout).toContain(`${objects} destroyed.`);
  });
});

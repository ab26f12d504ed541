// Files next to the output of a CDK app: an image from a TerraformAsset is found in the directory of the stack, by Terraform and by
// gantry, also after the directory was moved.
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { installBindings, type BindingsPackage, type Flavour } from '../../support/terraform/bindings-package.ts';
import { cli } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { runProcess } from '../../support/cli/programs.ts';
import { isLongRun } from '../../support/left-out.ts';
import { makeRelease, Terraform, terraformMissing, type Release } from '../../support/terraform/terraform.ts';

const missing = terraformMissing('assets with Terraform');

let installed: BindingsPackage;
let release: Release | undefined;
beforeAll(async () => {
  installed = await installBindings();
  release = missing === undefined ? await makeRelease() : undefined;
});

const app = (flavour: Flavour): string => `
const { App, TerraformAsset } = require('${flavour}');
const { GantryStack, rootDisk } = require('gantry/${flavour}');
const { resolve } = require('node:path');
const app = new App({ outdir: 'made' });
const stack = new GantryStack(app, 'web');
const asset = (id, path) => new TerraformAsset(stack, id, { path: resolve(path) });
const image = stack.image('construct', { file: asset('one', 'one.tar.gz') });
stack.image('path', { file: asset('two', 'two.tar.gz').path });
const files = { '/etc/note': { source: asset('note', 'note.txt').path } };
stack.container('box', { image, profiles: [], devices: { root: rootDisk(stack.pool('fast')) }, files });
app.synth();
`;

/** The directory of the stack, moved away from the original files of its assets. */
async function synthesize(flavour: Flavour): Promise<string> {
  const cwd = join(installed.root, flavour);
  mkdirSync(cwd);
  packImage(cwd, 'one.tar.gz', 'one');
  packImage(cwd, 'two.tar.gz', 'two');
  writeFileSync(join(cwd, 'note.txt'), 'from an asset');
  writeFileSync(join(cwd, 'app.cjs'), app(flavour));
  const ran = await runProcess([process.execPath, 'app.cjs'], { cwd });
  expect(ran, ran.stderr).toMatchObject({ code: 0 });
  const taken = join(installed.root, `${flavour} taken elsewhere`);
  renameSync(join(cwd, 'made'), taken);
  rmSync(cwd, { recursive: true });
  return join(taken, 'stacks/web');
}

/** Both libraries write assets in the same way; a long run tries both. */
const flavours: readonly Flavour[] = isLongRun ? ['cdktf', 'cdktn'] : ['cdktn'];

describe.each(flavours)('an asset of %s', (flavour) => {
  test.skipIf(missing !== undefined)('is found by Terraform and by gantry wherever the stack is', async () => {
    if (release === undefined) throw new Error('there is no release');
    const stack = await synthesize(flavour);
    const [ofTerraform, ofGantry] = [await makeDaemon(), await makeDaemon()];
    const terraform = new Terraform(release, { address: `unix://${ofTerraform.socketPath}` });
    try {
      cpSync(stack, terraform.dir, { recursive: true });
      await terraform.init();
      await terraform.settle();
      const applied = await cli(['apply', '-y', '-f', stack, '--host', `unix://${ofGantry.socketPath}`]);
      expect(applied, applied.stdout + applied.stderr).toMatchObject({ code: 0 });
      for (const daemon of [ofTerraform, ofGantry]) await expectMade(daemon);
    } finally {
      await ofTerraform.cleanUp();
      await ofGantry.cleanUp();
    }
  });
});

async function expectMade(daemon: TestDaemon): Promise<void> {
  expect(await daemon.get('/1.0/images/aliases')).toEqual([
    '/1.0/images/aliases/construct',
    '/1.0/images/aliases/path',
  ]);
  expect(await daemon.get('/1.0/images')).toHaveLength(2);
  const note = await daemon.call('GET', '/1.0/containers/box/files?path=/etc/note');
  expect(note.bytes.toString()).toBe('from an asset');
}

// Generates the constructs for cdktn from the schemas, in memory: this module writes nothing to the tree.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gantryProvider, providerSource } from '../gantry.ts';
import { providersSchema } from '../schema-json/providers-schema.ts';
import { adjustGenerated, type Files } from './adjust.ts';
import { readTree } from './read-tree.ts';
import { sealOf, type Seal } from './seal.ts';

/** The two lines of the CDK for Terraform: CDKTF is archived, cdktn is its fork. */
export type Flavour = 'cdktf' | 'cdktn';

const name = 'gantry';
/** As users write it: without the host of the registry. */
const source = providerSource.split('/').slice(1).join('/');

export interface Schemas {
  readonly version: string;
  readonly schema: object;
}

/** `repository`: the root of a checkout. */
export function schemasOf(repository: string): Schemas {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
  return { version, schema: providersSchema(gantryProvider({ env: {}, log() {} }), providerSource) };
}

export const bindingsFolder = (repository: string): string => join(repository, 'provider/bindings');
export const generatorFolder = (repository: string): string => join(bindingsFolder(repository), 'generator');

/** By path below `generated`, as committed. Takes the installed generators; throws with their output when one fails. */
export const generateBindings = (repository: string, flavour: Flavour): Files =>
  adjustGenerated(runGenerator(repository, flavour, schemasOf(repository)), name);

/** The folder of the generated files in the tree. */
export const sealOfTree = (repository: string): Seal =>
  sealFor(repository, readTree(join(bindingsFolder(repository), 'cdktn/generated')));

export function sealFor(repository: string, files: Files): Seal {
  const generators = readFileSync(join(generatorFolder(repository), 'package-lock.json'), 'utf8');
  return sealOf({ schema: JSON.stringify(schemasOf(repository)), generators }, files);
}

/** The output of a flavour's generator, as `cdktf get` writes it. */
export function runGenerator(repository: string, flavour: Flavour, { version, schema }: Schemas): Files {
  const directory = mkdtempSync(join(tmpdir(), 'gantry-bindings-'));
  try {
    const target = { name, fqn: providerSource, source, version, fileName: `providers/${name}/index.ts` };
    const ran = spawnSync(process.execPath, [join(generatorFolder(repository), 'run.cjs')], {
      input: JSON.stringify({ flavour, schema, target, directory }),
      encoding: 'utf8',
      // The generator would otherwise check its vendor's server for updates, and warn about a missing settings file.
      env: { ...process.env, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: devNull },
    });
    if (ran.status !== 0) {
      const output = ran.error?.message ?? `${ran.stdout}${ran.stderr}`.trim();
      throw new Error(`the generator of ${flavour} failed: ${output}`);
    }
    return readTree(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

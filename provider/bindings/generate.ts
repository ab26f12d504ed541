// Makes the bindings of both flavours from the schemas, in memory. What is written by hand comes from cdktf/; nothing is written
// to the tree here.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gantryProvider, providerSource } from '../gantry.ts';
import { providersSchema } from '../schema-json/providers-schema.ts';
import { adjustGenerated, type Files } from './adjust.ts';
import { flavours, forCdktn, type Flavour } from './flavour.ts';
import { sealOf, type Seal } from './seal.ts';

const name = 'gantry';
/** As users write it: without the registry's host. */
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

/** Everything that is made, by its path below bindings/. Takes the installed generators; throws with what they said. */
export function generateBindings(repository: string): Files {
  const schemas = schemasOf(repository);
  const generated = flavours.flatMap((flavour) =>
    [...adjustGenerated(runGenerator(repository, flavour, schemas), name)].map(
      ([path, text]) => [`${flavour}/generated/${path}`, text] as const,
    ),
  );
  return new Map([...generated, ...copiesForCdktn(repository)]);
}

/** What is written by hand for CDKTF, for cdktn. */
export function copiesForCdktn(repository: string): Files {
  const folder = join(bindingsFolder(repository), 'cdktf');
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map((entry) => [`cdktn/${entry.name}`, forCdktn(readFileSync(join(folder, entry.name), 'utf8'))]),
  );
}

/** Of the files that lie in the tree. */
export function sealOfTree(repository: string): Seal {
  const folder = bindingsFolder(repository);
  const made = ['cdktf/generated', 'cdktn'].flatMap((part) =>
    [...readTree(join(folder, part))].map(([path, text]) => [`${part}/${path}`, text] as const),
  );
  return sealFor(repository, new Map(made));
}

export function sealFor(repository: string, files: Files): Seal {
  const generators = readFileSync(join(generatorFolder(repository), 'package-lock.json'), 'utf8');
  return sealOf({ schema: JSON.stringify(schemasOf(repository)), generators }, files);
}

/** As the generator of the flavour writes it for whoever runs it themselves: `cdktf get`, other languages. */
export function runGenerator(repository: string, flavour: Flavour, { version, schema }: Schemas): Files {
  const directory = mkdtempSync(join(tmpdir(), 'gantry-bindings-'));
  try {
    const target = { name, fqn: providerSource, source, version, fileName: `providers/${name}/index.ts` };
    const ran = spawnSync(process.execPath, [join(generatorFolder(repository), 'run.cjs')], {
      input: JSON.stringify({ flavour, schema, target, directory }),
      encoding: 'utf8',
      // It would ask its maker's server for news, and complain of a missing file of settings.
      env: { ...process.env, CHECKPOINT_DISABLE: '1', TF_CLI_CONFIG_FILE: devNull },
    });
    if (ran.status !== 0) {
      const said = ran.error?.message ?? `${ran.stdout}${ran.stderr}`.trim();
      throw new Error(`the generator of ${flavour} has failed: ${said}`);
    }
    return readTree(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readTree(folder: string): Files {
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path, 'utf8')]),
  );
}

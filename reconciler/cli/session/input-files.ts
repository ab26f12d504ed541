// The files that a command reads: manifests and those of --env, --overlay and --var-file. Reads directories, no file.
import { resolve } from 'node:path';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Environment } from '../../manifest/variables/environment-files.ts';
import type { VariableSource } from '../../manifest/load-contract.ts';
import { manifestPaths, type ManifestOptions } from '../flags/manifest-flags.ts';
import { usageError } from '../errors/usage-error.ts';
import { environmentVariables } from '../flags/foreign-flags.ts';

export interface InputFiles {
  readonly paths: readonly string[];
  /** Weakest first: GANTRY_VAR_*, the environment's, the host's, those of --var-file. */
  readonly variables: readonly VariableSource[];
}

export async function inputFiles(
  args: readonly string[],
  options: ManifestOptions,
  hostVars: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<InputFiles> {
  const paths = manifestPaths(args, options);
  const environment = options.env === undefined ? undefined : await environmentOf(options.env, paths);
  const seen = new Set(paths.map((path) => resolve(path)));
  const more = (environment?.paths ?? []).filter((path) => !seen.has(resolve(path)));
  const file = (path: string): VariableSource => ({ file: path });
  return {
    paths: [...paths, ...more],
    variables: [
      { vars: environmentVariables(env) },
      ...(environment?.varFiles ?? []).map(file),
      { vars: hostVars },
      ...(options.varFile ?? []).map(file),
    ],
  };
}

async function environmentOf(name: string, paths: readonly string[]): Promise<Environment> {
  const { findEnvironments } = await import('../../manifest/variables/environment-files.ts');
  const environments = await findEnvironments(paths);
  const found = environments.of(name);
  if (found !== undefined) return found;
  const { known, folders } = environments;
  const which = known.length === 0 ? `none in ${folders.join(' and ')}` : `the environments are ${known.join(', ')}`;
  throw usageError(`unknown environment ${name}${hint(name, known)}: ${which}`);
}

// Reads the manifests that a command names. Prints their problems and throws.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { LiveData } from '../../manifest/terraform/load-with-data.ts';
import type { Loaded, LoadInput } from '../../manifest/load-contract.ts';
import type { Context } from './context.ts';
import type { ConnectOptions } from './host.ts';
import { inputFiles } from './input-files.ts';
import type { HostOptions, SelectorOptions } from '../flags/host-flags.ts';
import { objectSelector } from '../flags/label-options.ts';
import type { ManifestOptions } from '../flags/manifest-flags.ts';
import { parsePairs } from '../flags/parse-values.ts';
import { planOptionsOf, type GuardOptions } from '../flags/plan-flags.ts';
import { commandError } from '../errors/usage-error.ts';
import { withClient } from './connect.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Options that decide which documents are loaded. */
export type LoadOptions = ManifestOptions & ConnectOptions & SelectorOptions & GuardOptions;

export async function loadInputOf(
  context: Context<ManifestOptions & Pick<HostOptions, 'project'>>,
  args: readonly string[],
  readImages: boolean,
): Promise<LoadInput> {
  const { options, io, host } = context;
  return {
    ...(await inputFiles(args, options, host?.vars, io.env)),
    ...(options.recursive === true ? { recursive: true } : {}),
    vars: parsePairs('--var', options.var),
    env: io.env,
    readImages,
    // Verbs that only inspect manifests need no secrets.
    readSecrets: readImages,
    nowMs: io.nowMs(),
    ...withoutUndefined({ project: options.project }),
    ...(host === undefined ? {} : { host: host.view }),
    ...(host?.stdin === undefined ? {} : { stdin: host.stdin }),
  };
}

/** The manifests of arguments and flags. Throws after their errors have been shown. */
export async function loadSet(
  context: Context<LoadOptions>,
  args: readonly string[],
  readImages = true,
): Promise<Loaded> {
  const { loaded, diagnostics, paths } = await loadQuietly(context, args, readImages);
  await context.diagnostics(diagnostics);
  throwOnErrors(diagnostics, paths);
  return loaded;
}

export interface LoadedQuietly {
  readonly loaded: Loaded;
  /** Problems within files and across files. */
  readonly diagnostics: readonly Diagnostic[];
  readonly paths: readonly string[];
}

/** The same, without printing problems: the caller does that. */
export async function loadQuietly(
  context: Context<LoadOptions>,
  args: readonly string[],
  readImages = true,
): Promise<LoadedQuietly> {
  // Wrong flags are refused before files are read and daemons are contacted.
  planOptionsOf(context.options);
  objectSelector(context.options);
  const { loadManifests } = await import('../../manifest/load.ts');
  // Reading and comparing thousands of documents then takes a tenth less processor time.
  context.io.deferOptimization?.();
  const input = await loadInputOf(context, args, readImages);
  const loaded = await loadManifests({ ...input, live: (requests) => askServer(context, requests) }, context.stop);
  const { referenceCycles } = await import('../../core/graph/check-documents.ts');
  // The remaining checks across documents need the live objects of the server.
  const cycles = referenceCycles(loaded.documents).map((found) => loaded.locate(found));
  return { loaded, diagnostics: [...loaded.diagnostics, ...cycles], paths: input.paths };
}

/** Data sources of Terraform JSON are read before the documents are complete. */
async function askServer(context: Context<ConnectOptions>, requests: Parameters<LiveData>[0]): ReturnType<LiveData> {
  const { readData } = await import('../../manifest/terraform/live-data.ts');
  return withClient(context, (client) => readData(client, requests, context.stop));
}

export function throwOnErrors(diagnostics: readonly Diagnostic[], paths: readonly string[]): void {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) {
    throw commandError(`${errors} ${errors === 1 ? 'error' : 'errors'} in ${paths.join(', ')}`);
  }
}

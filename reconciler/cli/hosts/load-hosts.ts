// Reads the manifests once for each host and reports all problems before any host is contacted.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { Loaded } from '../../manifest/load-contract.ts';
import { noneSelected, selectedAddresses } from '../flags/label-options.ts';
import { manifestPaths } from '../flags/manifest-flags.ts';
import type { ApplyOptions } from '../flags/plan-flags.ts';
import type { Fleet, Context, Output } from '../session/context.ts';
import { loadQuietly, throwOnErrors, type LoadOptions } from '../session/load-set.ts';
import { hostContext, scopeOf, type HostContext } from './host-context.ts';

export interface LoadedHost<O extends object = ApplyOptions> {
  readonly host: Host;
  readonly context: HostContext<O>;
  readonly loaded: Loaded;
  /** No document of the host matches the label selector. */
  readonly isUnselected: boolean;
}

/** Throws after printing the problems of all hosts. */
export async function loadHosts<O extends LoadOptions>(
  context: Context<O>,
  { chosen, all }: Fleet,
  args: readonly string[],
  readImages = true,
): Promise<readonly LoadedHost<O>[]> {
  const paths = manifestPaths(args, context.options);
  const { readStdin } = await import('../../manifest/text/sources.ts');
  const scope = scopeOf(all, paths.includes('-') ? await readStdin(context.stop) : undefined);
  const width = Math.max(...chosen.map(({ name }) => name.length));
  const found: LoadedHost<O>[] = [];
  const problems: HostDiagnostics[] = [];
  for (const host of chosen) {
    const own = hostContext(context, host, scope, width);
    const { loaded, diagnostics } = await loadQuietly(own, args, readImages);
    const selected = selectedAddresses(own.options, loaded.documents);
    found.push({ host, context: own, loaded, isUnselected: selected?.length === 0 });
    problems.push({ host, diagnostics });
  }
  await showDiagnostics(context, problems, chosen.length);
  throwOnErrors(
    problems.flatMap(({ diagnostics }) => diagnostics),
    paths,
  );
  if (found.every(({ isUnselected }) => isUnselected)) {
    throw noneSelected(
      'document',
      found.flatMap(({ loaded }) => loaded.documents.map(({ labels }) => labels ?? {})),
    );
  }
  return found;
}

interface HostDiagnostics {
  readonly host: Host;
  readonly diagnostics: readonly Diagnostic[];
}

/** Prints each diagnostic once, with the names of its hosts unless all have it. */
export async function showDiagnostics(
  context: Output,
  found: readonly HostDiagnostics[],
  count: number,
): Promise<void> {
  const hosts = new Map<string, { readonly diagnostic: Diagnostic; readonly names: string[] }>();
  for (const { host, diagnostics } of found)
    for (const diagnostic of diagnostics) {
      const key = JSON.stringify(diagnostic);
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, { diagnostic, names: [host.name] });
      else known.names.push(host.name);
    }
  const merged = [...hosts.values()].map(({ diagnostic, names }) =>
    names.length === count || count === 1
      ? diagnostic
      : { ...diagnostic, message: `on ${names.join(', ')}: ${diagnostic.message}` },
  );
  await context.diagnostics(merged);
}

// Makes the plans of several hosts: reads the manifests once per host and reports all problems before it contacts any host, then
// plans several hosts at a time. A host that could not be planned has a failure in place of a plan.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { hasDifferences } from '../../core/plan/summary.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { Loaded } from '../../manifest/load-contract.ts';
import type { OpenContext } from '../session/context.ts';
import type { TriedPlan } from '../verbs/planning/dry-run.ts';
import { noneSelected, selectedAddresses } from '../flags/label-options.ts';
import { manifestPaths } from '../flags/manifest-flags.ts';
import type { ApplyOptions } from '../verbs/applying/applying-verbs.ts';
import { loadQuietly, throwOnErrors, type LoadOptions } from '../session/load-set.ts';
import { planOf, type Planned, type ReadClient } from '../session/make-plan.ts';
import { withClient } from '../session/connect.ts';
import type { Client } from '../../../server/client/client.ts';
import type { Fleet } from './choose-hosts.ts';
import { eachHost, type HostOutcome } from './each-host.ts';
import { hostContext, scopeOf, type HostContext } from './host-context.ts';

export interface LoadedHost<O extends object = ApplyOptions> {
  readonly host: Host;
  readonly context: HostContext<O>;
  readonly loaded: Loaded;
  /** Labels were selected, and no document of the host has them. */
  readonly isUnselected: boolean;
}

/** Throws after printing the problems of all hosts. */
export async function loadHosts<O extends LoadOptions>(
  context: OpenContext<O>,
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
  context: OpenContext,
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
  const told = [...hosts.values()].map(({ diagnostic, names }) =>
    names.length === count || count === 1
      ? diagnostic
      : { ...diagnostic, message: `on ${names.join(', ')}: ${diagnostic.message}` },
  );
  await context.diagnostics(told);
}

export interface PlannedHost {
  readonly host: Host;
  readonly context: HostContext<ApplyOptions>;
  readonly isUnselected: boolean;
  readonly planned: Planned;
  /** Adds the place in the manifests to a diagnostic; absent without manifests. */
  readonly locate?: Loaded['locate'];
  /** The outcome of the plan on a copy of the host. */
  readonly tried?: TriedPlan;
  /** Makes the plan again; absent when exactly this plan was approved. */
  readonly replan?: (client: Client) => Promise<Planned>;
}

export interface PlanHostsOptions {
  readonly mode: Plan['mode'];
  /** Work on each host before and after its plan is made. */
  readonly before?: (host: LoadedHost, client: Client) => Promise<void>;
  readonly after?: (host: LoadedHost, client: Client, planned: Planned) => Promise<void>;
}

export async function planHosts(
  context: OpenContext,
  loaded: readonly LoadedHost[],
  { mode, before, after }: PlanHostsOptions,
): Promise<readonly HostOutcome<PlannedHost>[]> {
  const byHost = new Map(loaded.map((one) => [one.host, one]));
  const outcomes = await eachHost(
    loaded.map(({ host }) => host),
    async (host): Promise<PlannedHost> => {
      const one = byHost.get(host);
      if (one === undefined) throw new Error(`the host ${host.name} was not loaded`);
      return withClient(one.context, async (client) => {
        await before?.(one, client);
        const planned = await planOne(one, client, mode);
        await after?.(one, client, planned);
        const { locate } = one.loaded;
        return { ...one, planned, locate, replan: (again) => planOne(one, again, mode) };
      });
    },
    context.stop,
  );
  await showDiagnostics(
    context,
    loaded.map(({ host, context: own }) => ({ host, diagnostics: own.collected })),
    loaded.length,
  );
  return outcomes;
}

/** A host without selected objects is planned without documents, since no targets would mean everything. */
const planOne = (
  { context, loaded, isUnselected }: LoadedHost,
  client: ReadClient,
  mode: Plan['mode'],
): Promise<Planned> =>
  isUnselected
    ? planOf({ ...context, options: withoutSelectors(context) }, client, { ...loaded, documents: [] }, mode)
    : planOf(context, client, loaded, mode);

function withoutSelectors({ options }: LoadedHost['context']): LoadedHost['context']['options'] {
  const { objectSelector: _objects, selector: _hosts, prune: _prune, ...rest } = options;
  return rest;
}

export const planHasDifferences = ({ planned }: PlannedHost): boolean => hasDifferences(planned.plan);

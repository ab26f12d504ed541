// The stages that most commands share: read the manifests, reach the daemon, make a plan. Each prints its problems and throws.
import { resolve } from 'node:path';
import { connect, type Client } from '../../../server/client/client.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Document } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { Plan, PlanInput, PlanOptions, SetOwner } from '../../core/plan/plan.ts';
import type { WholeClient } from '../../engine/observe/observe-all.ts';
import type { LiveData } from '../../manifest/terraform/load-with-data.ts';
import type { Loaded, LoadInput } from '../../manifest/load-contract.ts';
import type { CliContext, OpenContext } from './context.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { clientOptionsOf, hostOf } from './host.ts';
import { inputFiles } from './input-files.ts';
import { objectSelector, planOptionsFor } from '../flags/label-options.ts';
import type { RevisionSource } from './revision.ts';
import { parseVars, planOptionsOf } from '../flags/options.ts';
import { readPins } from './lock-file.ts';
import { setNameOf } from '../flags/set-name.ts';
import { CliError, usageError } from '../errors/usage-error.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export async function loadInputOf(
  context: CliContext,
  args: readonly string[],
  readImages: boolean,
): Promise<LoadInput> {
  const { options, io, host } = context;
  return {
    ...(await inputFiles(args, options, host?.vars, io.env)),
    ...(options.recursive === true ? { recursive: true } : {}),
    vars: parseVars(options.var ?? []),
    env: io.env,
    readImages,
    // What is only looked at needs no secrets.
    readSecrets: readImages,
    nowMs: io.nowMs(),
    ...(options.project === undefined ? {} : { project: options.project }),
    ...(host === undefined ? {} : { host: host.view }),
    ...(host?.stdin === undefined ? {} : { stdin: host.stdin }),
  };
}

/** The manifests of arguments and flags. Throws after their errors have been shown. */
export async function loadSet(context: CliContext, args: readonly string[], readImages = true): Promise<Loaded> {
  const { loaded, diagnostics, paths } = await loadQuietly(context, args, readImages);
  await context.diagnostics(diagnostics);
  throwOnErrors(diagnostics, paths);
  return loaded;
}

export interface LoadedQuietly {
  readonly loaded: Loaded;
  /** Of the files and across them. */
  readonly diagnostics: readonly Diagnostic[];
  readonly paths: readonly string[];
}

/** The same, and what is wrong is told by the caller. */
export async function loadQuietly(
  context: CliContext,
  args: readonly string[],
  readImages = true,
): Promise<LoadedQuietly> {
  // Wrong flags are told before files are read and daemons are reached.
  planOptionsOf(context.options);
  objectSelector(context.options);
  const { loadManifests } = await import('../../manifest/load.ts');
  const input = await loadInputOf(context, args, readImages);
  const loaded = await loadManifests({ ...input, live: (requests) => askServer(context, requests) }, context.stop);
  const { validateDocuments } = await import('../../core/graph/check-documents.ts');
  // A circle is one whatever the server holds; all else across documents is judged with it in view.
  const circles = validateDocuments(loaded.documents, loaded.broken)
    .filter(({ code }) => code === 'reference-cycle')
    .map((found) => loaded.locate(found));
  return { loaded, diagnostics: [...loaded.diagnostics, ...circles], paths: input.paths };
}

/** Data sources of Terraform JSON are read before there is anything to compare. */
async function askServer(context: CliContext, requests: Parameters<LiveData>[0]): ReturnType<LiveData> {
  const { readData } = await import('../../manifest/terraform/live-data.ts');
  return withClient(context, (client) => readData(client, requests, context.stop));
}

export function throwOnErrors(diagnostics: readonly Diagnostic[], paths: readonly string[]): void {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  if (errors > 0) {
    throw new CliError(`${errors} ${errors === 1 ? 'error' : 'errors'} in ${paths.join(', ')}`, exitCodes.error);
  }
}

/** Runs `work` with a client, and with --embedded a daemon of its own for as long. */
export async function withClient<T>(context: CliContext, work: (client: Client) => Promise<T>): Promise<T> {
  const { options, io } = context;
  if (options.embedded === undefined && options.runtime !== undefined) {
    throw usageError("--runtime is for a daemon of one's own: give --embedded too");
  }
  if (options.embedded === undefined) return reached(context, hostOf(options, io), work);
  if (options.host !== undefined) throw usageError('--embedded and --host exclude each other');
  const { startEmbedded } = await import('./embedded.ts');
  const daemon = await startEmbedded(
    { directory: options.embedded, ...(options.runtime === undefined ? {} : { runtime: options.runtime }) },
    io.env,
    (text) => context.note(text),
  );
  try {
    context.note(`Daemon for this run in ${options.embedded} (runtime ${daemon.runtime})`);
    return await reached(context, daemon.host, work);
  } finally {
    await daemon.stop();
  }
}

/** The host as journals name it: an embedded daemon by its directory, since its socket may lie anywhere. */
export const hostName = ({ options }: CliContext, client: Client): string =>
  options.embedded === undefined ? client.host : `embedded:${resolve(options.embedded)}`;

async function reached<T>(context: CliContext, host: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectTo(context, host);
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Silence for longer than this is told. */
const silentMs = 3000;

async function connectTo(context: CliContext, host: string): Promise<Client> {
  const options = await clientOptionsOf(context.options);
  const timer = setTimeout(() => context.note(`${host} does not answer yet; still waiting for it`), silentMs);
  try {
    return await connect(host, options, context.stop);
  } catch (error) {
    if (context.stop.aborted) throw stoppedAt(host, context.stop.reason);
    if (!(error instanceof ClientError)) throw usageError(reasonOf(error));
    const flags = error.code === 'untrusted' ? ' (--server-cert, --client-cert, --client-key)' : '';
    const text =
      error.code === 'timeout'
        ? `${host} takes connections and does not answer (${error.message}): look at that daemon, its log tells what it is at`
        : `${error.message}${flags}`;
    throw new CliError(text, exitCodes.unreachable, error);
  } finally {
    clearTimeout(timer);
  }
}

/** Out of time before there was a connection: it is the host that was waited for. */
const stoppedAt = (host: string, reason: unknown): unknown =>
  reason instanceof CliError && reason.exitCode === exitCodes.error
    ? new CliError(`${reason.message}, and ${host} had not answered by then`, exitCodes.unreachable, reason)
    : reason;

export interface Planned {
  readonly plan: Plan;
  readonly observed: Observed;
  readonly owner: SetOwner & { readonly key: string };
  /** What gantry.lock holds. */
  readonly images: ReadonlyMap<string, string>;
  /** Absent: the run leaves no revision. */
  readonly revision?: RevisionSource;
}

/** Observes and plans. Throws after the plan's errors have been shown; its warnings are only shown. */
export async function makePlan(context: CliContext, client: Client, loaded: Loaded, mode: Plan['mode']): Promise<Plan> {
  return (await planOf(context, client, loaded, mode)).plan;
}

/** All that a plan needs of a client: nothing that writes. */
export type ReadClient = WholeClient;

/** The same, with what it was made from. */
export async function planOf(
  context: CliContext,
  client: ReadClient,
  loaded: Loaded,
  mode: Plan['mode'],
): Promise<Planned> {
  const set = setNameOf(context.options, loaded.documents);
  const { locate, files, written } = loaded;
  const documents = context.options.wait === false ? loaded.documents.map(withoutWaits) : loaded.documents;
  const options = planOptionsFor(context.options, documents);
  const planned = await planFor(context, client, { documents, set, options, mode, paths: files, locate });
  return { ...planned, revision: { written, paths: files } };
}

const withoutWaits = (document: Document): Document => ({ ...document, manage: { ...document.manage, wait: [] } });

/** Everything on the server, with the files that the set owns: what an export needs. */
export async function observeWhole(context: CliContext, client: ReadClient, set: string): Promise<Observed> {
  const { observeAll } = await import('../../engine/observe/observe-all.ts');
  const asked = { documents: [], set, nowMs: context.io.nowMs(), keepsContents: true };
  return observeAll(client, asked, context.stop, context.options.project);
}

interface PlanRequest {
  readonly documents: readonly Document[];
  readonly set: string;
  readonly options: PlanOptions;
  readonly mode: Plan['mode'];
  /** Instead of gantry.lock. */
  readonly images?: ReadonlyMap<string, string>;
  /** Of the manifests: gantry.lock lies beside the first of them. */
  readonly paths?: readonly string[];
  /** Adds places to what is wrong. */
  readonly locate?: Loaded['locate'];
}

export async function planFor(context: CliContext, client: ReadClient, request: PlanRequest): Promise<Planned> {
  const [{ observeAll }, { checkPlan }, { ownerOf }, { compareSeeds }] = await Promise.all([
    import('../../engine/observe/observe-all.ts'),
    import('../../core/decide/check-plan.ts'),
    import('../../engine/runs/key-hash.ts'),
    import('../../manifest/documents/cloud-config.ts'),
  ]);
  const { documents, options, mode, locate = (found) => found } = request;
  const asked = { documents, set: request.set, nowMs: context.io.nowMs() };
  const observed = await observeAll(client, asked, context.stop, context.options.project);
  const owner = ownerOf(request.set, observed);
  const images = request.images ?? (await readPins(context, request.paths ?? []));
  const input: PlanInput = { documents, observed, options, owner, images, compareSeeds };
  const plan =
    mode === 'apply'
      ? (await import('../../core/decide/plan-changes.ts')).planChanges(input)
      : (await import('../../core/decide/plan-destroy.ts')).planDestroy(input);
  await context.diagnostics(plan.diagnostics.map((diagnostic) => locate(diagnostic)));
  if (plan.diagnostics.some(({ severity }) => severity === 'error')) {
    throw new CliError('No plan can be made before this is corrected', exitCodes.error);
  }
  const unsound = checkPlan(plan, observed);
  if (unsound.length > 0) {
    const text = unsound.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw new CliError(`The plan is unsound, which is a fault of this program: ${text}`, exitCodes.error);
  }
  return { plan, observed, owner, images };
}

/** Shows the plan on stdout, for people or machines. */
export async function printPlan(
  context: OpenContext,
  plan: Plan,
  operation: 'plan' | 'apply' | 'destroy',
): Promise<void> {
  const { summaryLine } = await import('../../core/plan/summary.ts');
  if (context.isJson) {
    const { planLines } = await import('../output/render-json.ts');
    for (const line of planLines(plan, operation, summaryLine(plan.summary), context.io.nowMs())) context.json(line);
  } else {
    const { renderPlan } = await import('../../core/render/render-plan.ts');
    const showsSecrets = context.options.showSecrets === true;
    const isCompact = context.options.compact === true;
    const text = renderPlan(plan, { color: context.color, showsSecrets, isCompact }).trimEnd();
    // A question follows all but a plan, and nothing may stand between them.
    if (operation === 'plan') await (await import('./pager.ts')).showPaged(context, text);
    else context.out(text);
  }
  await refuseChanges(context, plan);
}

/** With --expect-no-changes a plan that has something to do is a failure, and nothing of it is done. */
export async function refuseChanges({ options }: CliContext, plan: Plan): Promise<void> {
  if (options.expectNoChanges !== true) return;
  const { hasDifferences } = await import('../../core/plan/summary.ts');
  if (hasDifferences(plan)) throw new CliError('There are changes, and --expect-no-changes was given', exitCodes.error);
}

// Observes the host and makes a plan. Prints its problems and throws.
import { inSpan } from '../../../server/lib/shared/spans.ts';
import type { Document } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { WrittenDocument } from '../../core/history/revisions.ts';
import type { Plan, PlanOptions } from '../../core/plan/plan.ts';
import type { SetPlace } from '../../core/ownership/place.ts';
import type { WholeClient } from '../../engine/observe/observe-all.ts';
import type { MadePlan } from '../../engine/runs/make-plan.ts';
import type { Loaded } from '../../manifest/load-contract.ts';
import type { Context } from './context.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { planOptionsFor } from '../flags/label-options.ts';
import type { PlanFlagOptions } from '../flags/plan-flags.ts';
import { setPlaceOf } from './place.ts';
import { readPins } from './lock-file.ts';
import { setNameOf } from '../flags/set-name.ts';
import { CliError } from '../errors/usage-error.ts';
import type { LoadOptions } from './load-set.ts';

/** Which plan is made of the documents. */
export type PlanningOptions = LoadOptions & Pick<PlanFlagOptions, 'set' | 'lockFile' | 'wait'>;

/** What the revision of a run is made from. */
export interface RevisionSource {
  /** Secrets are not yet removed. */
  readonly written: readonly WrittenDocument[];
  /** Paths of the manifests, to find their git commit. */
  readonly paths: readonly string[];
  readonly message?: string;
  readonly rollbackOf?: number;
  /** No revision is made when the newest has the same documents: the run only repairs drift. */
  readonly onlyNew?: boolean;
}

export interface Planned extends MadePlan {
  /** Absent: the run leaves no revision. */
  readonly revision?: RevisionSource;
}

/** What a plan needs of a client: only reads. */
export type ReadClient = WholeClient;

/** Observes and plans. Throws after the plan's errors have been shown; its warnings are only shown. */
export async function planOf(
  context: Context<PlanningOptions>,
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

/** Everything on the server, with the files that the set owns, for exports. */
export async function observeWhole(context: Context<HostOptions>, client: ReadClient, set: string): Promise<Observed> {
  const { observeAll } = await import('../../engine/observe/observe-all.ts');
  const asked = { documents: [], set, nowMs: context.io.nowMs(), keepsContents: true };
  return observeAll(client, asked, context.stop, context.options.project);
}

interface PlanRequest {
  readonly documents: readonly Document[];
  readonly set: string;
  readonly options: PlanOptions;
  readonly mode: Plan['mode'];
  /** Default: that of `paths`. */
  readonly place?: SetPlace;
  /** Image pins in place of gantry.lock. */
  readonly images?: ReadonlyMap<string, string>;
  /** Paths of the manifests: gantry.lock is beside the first one. */
  readonly paths?: readonly string[];
  /** Adds the place in the manifests to a diagnostic. */
  readonly locate?: Loaded['locate'];
}

export async function planFor(
  context: Context<PlanningOptions>,
  client: ReadClient,
  request: PlanRequest,
): Promise<Planned> {
  const { makePlan, requireSound } = await import('../../engine/runs/make-plan.ts');
  const { locate = (found) => found } = request;
  const images = request.images ?? (await readPins(context, request.paths ?? []));
  const { project } = context.options;
  const place = request.place ?? (await setPlaceOf(context, request.paths ?? []));
  const asked = { ...request, place, images, nowMs: context.io.nowMs(), ...(project === undefined ? {} : { project }) };
  const made = await inSpan('plan', {}, () => makePlan(client, asked, context.stop));
  const { diagnostics } = made.plan;
  await context.diagnostics(diagnostics.map((diagnostic) => locate(diagnostic)));
  if (diagnostics.some(({ severity }) => severity === 'error')) {
    throw new CliError('Cannot plan until these errors are corrected', exitCodes.error);
  }
  requireSound(made);
  return made;
}

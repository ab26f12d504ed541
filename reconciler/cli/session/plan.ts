// Observes the host and makes a plan. Prints its problems and throws.
import { inSpan } from '../../../server/lib/shared/spans.ts';
import type { Document } from '../../core/documents/document.ts';
import type { Observed } from '../../core/documents/observed.ts';
import type { WrittenDocument } from '../../core/history/revisions.ts';
import type { Plan, PlanOptions } from '../../core/plan/plan.ts';
import type { SetPlace } from '../../core/ownership/place.ts';
import type { WholeClient } from '../../engine/observe/observe-all.ts';
import type { MadePlan, PlanRequest } from '../../engine/runs/make-plan.ts';
import type { Loaded } from '../../manifest/load-contract.ts';
import type { Context } from './context.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { planOptionsFor } from '../flags/label-options.ts';
import type { PlanFlagOptions } from '../flags/plan-flags.ts';
import { setPlaceOf } from './place.ts';
import { readPins } from './lock-file.ts';
import { setNameOf } from '../flags/set-name.ts';
import { commandError } from '../errors/usage-error.ts';
import type { LoadOptions } from './load-set.ts';

/** Options that decide how the documents are planned. */
export type PlanningOptions = LoadOptions & Pick<PlanFlagOptions, 'set' | 'lockFile' | 'wait'>;

/** What the revision of a run is made from. */
export interface RevisionSource {
  /** Secrets are not yet removed. */
  readonly written: readonly WrittenDocument[];
  /** Paths of the manifests, to find their git commit. */
  readonly paths: readonly string[];
  readonly message?: string;
  readonly rollbackOf?: number;
}

export interface SetPlan extends MadePlan {
  /** Absent: the run stores no revision. */
  readonly revision?: RevisionSource;
}

/** A plan only reads. */
export type ReadClient = WholeClient;

/** The input of a plan: loaded manifests, or documents of another origin, which brings its own set and options. */
export interface PlanSource extends Pick<Loaded, 'documents'>, Partial<Pick<Loaded, 'locate' | 'files' | 'written'>> {
  /** The set and options of such documents, in place of the flags. */
  readonly origin?: { readonly set: string; readonly options: PlanOptions };
  /** Default: the place of `files`. */
  readonly place?: SetPlace;
  /** Image pins in place of gantry.lock, which is beside the first of `files`. */
  readonly images?: ReadonlyMap<string, string>;
}

/** Observes and plans. Prints warnings; prints errors and throws. */
export async function planOf(
  context: Context<PlanningOptions>,
  client: ReadClient,
  source: PlanSource,
  mode: Plan['mode'],
): Promise<SetPlan> {
  const [{ observeAll }, { makePlan, requireSound }] = await Promise.all([
    import('../../engine/observe/observe-all.ts'),
    import('../../engine/runs/make-plan.ts'),
  ]);
  const { files = [], written, locate = (found) => found } = source;
  const { documents, set, options } = requestOf(context, source);
  const images = source.images ?? (await readPins(context, files));
  const place = source.place ?? (await setPlaceOf(context, files));
  const made = await inSpan('plan', {}, async () => {
    const asked = { documents, set, nowMs: context.io.nowMs() };
    const observed = await observeAll(client, asked, context.stop, context.options.project);
    return makePlan(observed, { documents, set, options, mode, images, place });
  });
  const { diagnostics } = made.plan;
  await context.diagnostics(diagnostics.map((diagnostic) => locate(diagnostic)));
  if (diagnostics.some(({ severity }) => severity === 'error'))
    throw commandError('Cannot plan until these errors are corrected');
  requireSound(made);
  return written === undefined ? made : { ...made, revision: { written, paths: files } };
}

function requestOf(
  { options }: Context<PlanningOptions>,
  { documents: given, origin }: PlanSource,
): Pick<PlanRequest, 'documents' | 'set' | 'options'> {
  if (origin !== undefined) return { documents: given, ...origin };
  const documents = options.wait === false ? given.map(withoutWaits) : given;
  return { documents, set: setNameOf(options, given), options: planOptionsFor(options, documents) };
}

const withoutWaits = (document: Document): Document => ({ ...document, manage: { ...document.manage, wait: [] } });

/** Everything on the server, with the files that the set owns, for exports. */
export async function observeWhole(context: Context<HostOptions>, client: ReadClient, set: string): Promise<Observed> {
  const { observeAll } = await import('../../engine/observe/observe-all.ts');
  const asked = { documents: [], set, nowMs: context.io.nowMs(), keepsContents: true };
  return observeAll(client, asked, context.stop, context.options.project);
}

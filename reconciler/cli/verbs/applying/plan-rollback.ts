// Plans the documents of an earlier revision like manifests, under the guards of an apply.
import { ClientError } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { Document, JsonObject } from '../../../core/documents/document.ts';
import { valueAt } from '../../../core/plan/apply-edits.ts';
import { previousOf, type Revision, type WrittenDocument } from '../../../core/history/revisions.ts';
import { liveAt } from '../../../core/kinds/index.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import { hashOf } from '../../../core/ownership/owner-records.ts';
import { isSamePlace, type SetPlace } from '../../../core/ownership/place.ts';
import { fillSecrets } from '../../../core/history/revision-secrets.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { planOptionsOf } from '../../flags/plan-flags.ts';
import type { RollbackOptions } from './applying-verbs.ts';
import { documentsOf, parseRevision, readRevisions, revisionAt, revisionNamed, type Revisions } from './revisions.ts';
import { placeOf } from '../../session/place.ts';
import { planOf, type SetPlan } from '../../session/plan.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import { resume } from '../../session/resume.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** A number, or the text of a commit or message. */
export const wantedRevision = (text: string | undefined): number | string | undefined =>
  text === undefined ? undefined : /^#?\d{1,6}$/.test(text) ? parseRevision(text) : text;

/** The revision to roll back to, by default the last successful one before the newest. Throws when there is none. */
export async function readRollbackSource(
  context: Context<RollbackOptions>,
  client: Client,
  wanted: number | string | undefined,
  given: readonly Document[],
): Promise<RollbackSource> {
  const revisions = await readRevisions(context, client);
  await refuseForeign(context, client, revisions);
  await resume(context, client, revisions.set);
  const here = await placeOf(context.options.file ?? [], context.io.env);
  const isHere = ({ place }: Revision): boolean =>
    context.options.takeOver === true || place === undefined || isSamePlace(place, here);
  const revision =
    wanted === undefined
      ? previous(revisions, isHere)
      : typeof wanted === 'number'
        ? revisionAt(revisions, wanted)
        : revisionNamed(revisions, wanted);
  if (!isHere(revision))
    throw new CliError(
      `Revision ${revision.number} of the set ${revisions.set} was declared at ${revision.place}, not here (${here}): roll back there, or go on with --take-over`,
      exitCodes.guard,
    );
  const written = documentsOf(revisions, revision);
  if (revision.isPartial === true && context.options.prune === true)
    throw usageError(`revision ${revision.number} covers only a part of the set: --prune would delete the rest`);
  if (revision.isPartial === true)
    context.note(`Revision ${revision.number} covers only a part of the set: only that part is rolled back`);
  return { revisions, revision, written, given };
}

/**
 * Documents may name files and variables of this machine. Every user of a project may write the revisions in its profile, so a
 * client with more rights (one that may write the server config) does not apply them.
 */
async function refuseForeign(context: Context<RollbackOptions>, client: Client, revisions: Revisions): Promise<void> {
  if (!revisions.isInProfile) return;
  try {
    await client.patchServer({ config: {} }, {}, context.stop);
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return;
    throw error;
  }
  throw commandError(
    `The revisions of the set ${revisions.set} were written by clients of its project, and this client has more rights than they: roll back with a client of the project, or apply manifests`,
  );
}

export interface RollbackSource {
  readonly revisions: Revisions;
  readonly revision: Revision;
  readonly written: readonly WrittenDocument[];
  /** Current manifests. */
  readonly given: readonly Document[];
}

function previous({ all, set }: Revisions, isHere: (revision: Revision) => boolean): Revision {
  const own = all.filter(isHere);
  const found = previousOf({ revisions: own });
  if (found !== undefined) return found;
  const other = own.length === 0 ? all.at(-1)?.place : undefined;
  if (other !== undefined)
    throw new CliError(
      `All revisions of the set ${set} were declared elsewhere, the newest at ${other}: roll back there, or go on with --take-over`,
      exitCodes.guard,
    );
  const why =
    own.length < 2 ? 'there is no revision before this one' : 'no earlier revision succeeded with other documents';
  throw commandError(`Nothing to roll back to: ${why} (gantry history --set ${set})`);
}

const othersOf = ({ options }: Context<RollbackOptions>): SetPlace['others'] =>
  options.takeOver === true ? 'take' : 'refuse';

export async function planRollback(
  context: Context<RollbackOptions>,
  client: Client,
  back: RollbackSource,
): Promise<SetPlan> {
  const { revisions, revision } = back;
  const [{ observe }, { ownerOf }] = await Promise.all([
    import('../../../engine/observe/observe.ts'),
    import('../../../engine/runs/found-set.ts'),
  ]);
  const observed = await observe(client, context.stop, context.options.project);
  const filled = filledSecrets(back, observed, ownerOf(revisions.set, observed).hash);
  const loaded = await load(context, revision, filled, observed);
  const { documents, locate } = loaded;
  const source = {
    documents,
    origin: { set: revisions.set, options: planOptionsOf(context.options) },
    images: new Map(Object.entries(revision.images)),
    // The objects stay with the place that declared them.
    place: {
      here: revision.place ?? (await placeOf(context.options.file ?? [], context.io.env)),
      others: othersOf(context),
    },
    locate,
  };
  const planned = await planOf(context, client, source, 'apply');
  const message = `rollback to revision ${revision.number}`;
  const noted = { written: filled, paths: [], message, rollbackOf: revision.number };
  const { plan } = planned;
  // A partial revision says nothing about the objects that it leaves out.
  return {
    ...planned,
    plan: revision.isPartial === true ? { ...plan, isPartial: true, orphans: [] } : plan,
    revision: noted,
  };
}

/** Takes secrets from the live object if it still holds the same value, else from the current manifests. */
function filledSecrets(
  { revision, written, given }: RollbackSource,
  observed: Observed,
  hash: (text: string) => string,
): readonly WrittenDocument[] {
  const byAddress = new Map<string, Document>(given.map((document) => [document.address, document]));
  const { documents, missing } = fillSecrets(written, (address, path, wanted) => {
    const live = liveAt(observed, address)?.object as JsonObject | undefined;
    const now = live === undefined ? undefined : valueAt(live, path);
    if (now !== undefined && hashOf(hash, path, now) === wanted) return now;
    const document = byAddress.get(address);
    return document === undefined ? undefined : valueAt(document.values, path);
  });
  if (missing.length === 0) return documents;
  const list = missing.map((one) => `\n  ${one}`).join('');
  const { number, commit } = revision;
  const remedy =
    commit === undefined
      ? 'Pass manifests that have them with -f'
      : `Pass manifests that have them with -f, or apply the manifests of commit ${commit}`;
  throw commandError(
    `Revision ${number} holds no secrets, and these values on the server have changed:${list}\n${remedy}`,
  );
}

async function load(
  context: Context<RollbackOptions>,
  { number }: Revision,
  written: readonly WrittenDocument[],
  observed: Observed,
): Promise<Loaded> {
  const { loadWritten } = await import('../../../manifest/load.ts');
  const { io, options } = context;
  const known = new Map(
    written.flatMap(({ address, fingerprint }) => {
      const image = fingerprint === undefined ? undefined : observed.images.get(fingerprint)?.object;
      return image === undefined ? [] : [[address, { fingerprint: image.fingerprint, sizeBytes: image.size }] as const];
    }),
  );
  const input = {
    env: io.env,
    nowMs: io.nowMs(),
    ...withoutUndefined({ project: options.project }),
  };
  const loaded = await loadWritten(number, written, input, known, context.stop);
  await context.diagnostics(loaded.diagnostics);
  if (loaded.diagnostics.some(({ severity }) => severity === 'error'))
    throw commandError(`Cannot roll back to revision ${number}: something it needs is gone or no longer allowed`);
  const others = written.filter(({ address, fingerprint }) => {
    const now = loaded.documents.find((document) => document.address === address)?.files?.fingerprint;
    return fingerprint !== undefined && now !== undefined && now !== fingerprint;
  });
  if (others.length === 0) return loaded;
  const list = others.map(({ address, fingerprint = '' }) => `\n  ${address}: ${fingerprint}`).join('');
  throw commandError(`The server no longer has images of revision ${number}, and their files have changed:${list}`);
}

// Saved plans: writes them (`plan --out`), recognises and reads them, and rebuilds a plan from one.
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Client } from '../../../../server/client/client.ts';
import type { Server } from '../../../../server/api/server/server.ts';
import type { Address, Document } from '../../../core/documents/document.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import {
  comparePlans,
  hasSecrets,
  parseSavedPlan,
  restoreSecrets,
  savedPlanFormat,
  savePlan,
  type SavedPlan,
} from '../../../core/history/saved-plan.ts';
import { isChange } from '../../../core/plan/summary.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context } from '../../session/context.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import type { ManifestOptions } from '../../flags/manifest-flags.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { inputFiles } from '../../session/input-files.ts';
import { planOptionsFor } from '../../flags/label-options.ts';
import { filledFrom } from '../../session/revision.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf, type SetPlan, type PlanningOptions } from '../../session/plan.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import { replaceWhole } from '../../../../server/lib/durable-files.ts';
import { mapAtMost } from '../../../../server/lib/shared/concurrency-limit.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Undefined unless the only argument names a saved plan. */
export async function savedPlanAt(
  args: readonly string[],
  context: Context<ManifestOptions & HostOptions>,
): Promise<SavedPlan | undefined> {
  const [path] = args;
  if (path === undefined || args.length > 1 || path === '-' || (context.options.file ?? []).length > 0)
    return undefined;
  if (context.options.hosts === undefined && (await startsAs(path, fleetPlanFormat)))
    throw usageError(`${path} is the plan of several hosts: apply it with --hosts FILE`);
  if (!(await startsAs(path, savedPlanFormat))) return undefined;
  return checkedPlan(await readFile(path, 'utf8'), path);
}

/** Throws unless the text is a complete plan. */
export function checkedPlan(text: string, path: string): SavedPlan {
  const saved = parseSavedPlan(text);
  if (saved === 'newer') throw usageError(`${path} was made by a newer gantry: make the plan again`);
  if (saved === undefined || hashOf(JSON.stringify(saved.documents)) !== saved.hash) {
    throw commandError(`${path} is damaged: make the plan again`);
  }
  return saved;
}

/** Format of plans of several hosts (fleet-plan.ts). */
export const fleetPlanFormat = 'gantry-fleet-plan';

/** Whether the file is JSON that begins with this format. */
export async function startsAs(path: string, format: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(64), 0, 64, 0);
    return buffer.toString('utf8', 0, bytesRead).startsWith(`{"format":"${format}"`);
  } catch {
    return false;
  } finally {
    await file.close();
  }
}

/** A plan, and what it was made of and for. */
interface MadePlan {
  readonly client: Client;
  readonly loaded: Loaded;
  readonly planned: SetPlan;
}

export async function writePlan(
  context: Context<PlanningOptions>,
  made: MadePlan,
  args: readonly string[],
  path: string,
): Promise<void> {
  await writeWhole(path, await planToSave(context, made, args));
}

/** The plan as it is saved. */
export async function planToSave(
  context: Context<PlanningOptions>,
  { client, loaded, planned: { plan, owner, images } }: MadePlan,
  args: readonly string[],
): Promise<SavedPlan> {
  const { paths } = await inputFiles(args, context.options);
  return savePlan(plan, {
    createdAt: new Date(context.io.nowMs()).toISOString(),
    set: owner.set,
    options: planOptionsFor(context.options, loaded.documents),
    server: await serverOf(client, context.stop),
    ...withoutUndefined({ place: owner.place }),
    paths: paths.map((one) => (one === '-' ? one : resolve(one))),
    documents: loaded.documents,
    written: (await import('../../../engine/runs/cut-written.ts')).cutWritten(loaded.written, owner.hash),
    images: Object.fromEntries(images),
    etags: await readEtags(
      client,
      plan.changes.filter((change) => isChange(change) && change.live !== undefined),
      context.stop,
    ),
    hashOf,
  });
}

export const writeWhole = (path: string, saved: object): Promise<void> =>
  replaceWhole(path, `${JSON.stringify(saved)}\n`, { isPrivate: true });

const readsAtOnce = 8;

/** Reads each object, a few at once. Deleted objects have no ETag. */
async function readEtags(
  client: Client,
  changes: readonly {
    readonly address: Address;
    readonly kind: string;
    readonly name: string;
    readonly live?: object;
  }[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, string>> {
  const etags = new Map<Address, string>();
  await mapAtMost(readsAtOnce, changes, async (one) => {
    const live: { readonly project?: string } | undefined = one.live;
    const project = live?.project;
    const there = project === undefined ? client : client.inProject(project);
    const name = plainName(nameOf(one), project);
    const reply = await there.get(one.kind as 'profile', name, signal).catch(() => undefined);
    if (reply?.etag !== undefined) etags.set(one.address, reply.etag);
  });
  return etags;
}

/** Images are named by their fingerprint. */
const nameOf = ({ live, name }: { readonly live?: object; readonly name: string }): string =>
  live !== undefined && 'fingerprint' in live && typeof live.fingerprint === 'string' ? live.fingerprint : name;

async function serverOf(client: Client, signal: AbortSignal): Promise<string> {
  const { metadata } = await client.server(signal);
  const environment = metadata.environment as Partial<Server['environment']> | undefined;
  return environment?.certificate_fingerprint ?? '';
}

/** The remaining part of the saved plan. Throws with exit code 3 when the plan is stale. */
export async function planAgain(context: Context<PlanningOptions>, client: Client, saved: SavedPlan): Promise<SetPlan> {
  const server = await serverOf(client, context.stop);
  if (server !== saved.server) throw new CliError('The plan was made for another server', exitCodes.stale);
  const documents = await withSecrets(context, saved);
  const { changedContents } = await import('../../../engine/observe/observe-inside.ts');
  const changed = await changedContents(documents);
  if (changed.length > 0) {
    const why = changed.map((line) => `\n  ${line}`).join('');
    throw new CliError(`Local files changed since the plan was made; make it again:${why}`, exitCodes.stale);
  }
  const source = {
    documents,
    origin: { set: saved.set, options: saved.options },
    images: new Map(Object.entries(saved.images)),
    ...withoutUndefined({ place: saved.place }),
  };
  const planned = await planOf(context, client, source, saved.mode);
  const { plan, stale, done, beyond } = comparePlans(saved, planned.plan);
  if (stale.length > 0) {
    const why = stale.map((line) => `\n  ${line}`).join('');
    throw new CliError(`The plan of ${saved.createdAt} is stale; make a new one:${why}`, exitCodes.stale);
  }
  if (done.length > 0) context.note(`Already as planned: ${done.join(', ')}`);
  if (beyond.length > 0) context.note(`Changed since the plan, and left alone: ${beyond.join(', ')}`);
  const written = filledFrom(saved.written ?? [], documents).documents;
  return { ...planned, plan, revision: { written, paths: saved.paths } };
}

async function withSecrets(context: Context<PlanningOptions>, saved: SavedPlan): Promise<readonly Document[]> {
  if (!hasSecrets(saved.documents)) return saved.documents;
  const { documents } = await loadSet(context, saved.paths);
  const restored = restoreSecrets(saved.documents, documents);
  if (restored.missing.length === 0) return restored.documents;
  const list = restored.missing.join(', ');
  throw new CliError(`Saved plans hold no secrets, and the manifests no longer have these: ${list}`, exitCodes.stale);
}

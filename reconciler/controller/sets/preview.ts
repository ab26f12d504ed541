// The plan of a revision on the hosts of a set, for people: nothing is changed.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { isChange } from '../../core/plan/summary.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { observeAll } from '../../engine/observe/observe-all.ts';
import { makePlan } from '../../engine/runs/make-plan.ts';
import { planAround } from '../decide/plan-around.ts';
import { cleaned } from '../decide/withhold.ts';
import type { SetConfig } from '../config/config.ts';
import type { Preview } from '../contract/index.ts';
import { ControllerError } from '../controller.ts';
import type { Source } from '../sources/source.ts';
import type { ManagedSet } from './managed-set.ts';
import type { LoadedSet } from './load-revision.ts';
import { differenceOf } from './object-detail.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type HostPreview = Preview['hosts'][number];

/** The revision that a person means. Throws ControllerError if the source has none. */
export async function revisionOf(
  { revisions, config }: ManagedSet,
  source: Source | undefined,
  ref: string,
  signal: AbortSignal,
): Promise<string> {
  const known = revisions.find((revision) => revision.startsWith(ref) && ref.length >= 7);
  const revision = known ?? (await source?.resolve?.(ref, signal))?.revision;
  if (revision !== undefined) return revision;
  const why = `the source ${config.source} has no revision ${ref}, and only git sources have branches`;
  throw new ControllerError('not-found', why);
}

export async function previewOf(
  set: ManagedSet,
  revision: string,
  hosts: readonly SetOnHost[],
  signal: AbortSignal,
): Promise<Preview> {
  const { problems, hosts: loaded } = await set.preview(revision, signal);
  const plan = (host: SetOnHost): Promise<HostPreview> => previewOn(host, loaded.get(host.name), set.config, signal);
  const plans = problems.length > 0 ? [] : await Promise.all(hosts.map(plan));
  return { revision, problems: problems.map((message) => ({ message })), hosts: plans };
}

async function previewOn(
  { name, link }: SetOnHost,
  loaded: LoadedSet | undefined,
  config: SetConfig,
  signal: AbortSignal,
): Promise<HostPreview> {
  const none: HostPreview = { host: name, changes: { create: 0, update: 0, delete: 0 }, restarts: 0, objects: [] };
  if (loaded === undefined || !link.isOnline) return { ...none, error: `${name} cannot be reached` };
  // Messages quote values of documents.
  const clean = (text: string): string => cleaned(text, loaded.loaded.documents);
  try {
    const { project } = link.host;
    const request = {
      documents: loaded.loaded.documents,
      set: setInProject(config.name, project),
      options: config.plan,
      mode: 'apply' as const,
      images: loaded.pins,
      nowMs: Date.now(),
      ...withoutUndefined({ project }),
    };
    const observed = await observeAll(link.client, request, signal, project);
    const { plan } = planAround(request.documents, (exclude) =>
      makePlan(observed, exclude.length === 0 ? request : { ...request, options: { ...request.options, exclude } }),
    );
    const { add, change, destroy, restart } = plan.summary;
    return {
      host: name,
      changes: { create: add, update: change, delete: destroy },
      restarts: restart,
      objects: plan.changes.filter(isChange).map((one) => ({
        address: one.address,
        kind: one.kind,
        name: one.name,
        action: one.action,
        ...withoutUndefined({ power: one.power }),
        effect: one.effect,
        reasons: one.reasons.map(clean),
        ...(one.guard === undefined ? {} : { guard: clean(one.guard.message) }),
        differences: one.changes.map(differenceOf),
      })),
    };
  } catch (error) {
    if (signal.aborted) throw error;
    return { ...none, error: clean(reasonOf(error)) };
  }
}

// The plan of a revision on one host, for people: nothing is changed.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { isChange } from '../../core/plan/summary.ts';
import { setInProject } from '../../core/ownership/project-notes.ts';
import { observeAll } from '../../engine/observe/observe-all.ts';
import { makePlan } from '../../engine/runs/make-plan.ts';
import { planAround } from '../decide/plan-around.ts';
import { cleaned } from '../decide/withhold.ts';
import type { SetConfig } from '../config/config.ts';
import type { Preview } from '../contract/index.ts';
import type { LoadedSet } from './load-revision.ts';
import { differenceOf } from './object-detail.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';

type HostPreview = Preview['hosts'][number];

export async function previewOn(
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
      ...(project === undefined ? {} : { project }),
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
        ...(one.power === undefined ? {} : { power: one.power }),
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

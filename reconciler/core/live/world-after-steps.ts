// The objects and their users after some steps: deleted, created and edited objects, and the settings that containers then get from
// their profiles.
import { kinds, listedKinds, type ListedKind } from '../../../server/api/kinds.ts';
import type { JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { expandContainer } from './expand-profiles.ts';
import { poolOfVolume } from '../kinds/storage-volume.ts';
import { tableOf, type Live, type Observed } from '../documents/observed.ts';
import type { Step } from '../plan/plan.ts';
import { scopesOf } from './project-scope.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type Tables = Readonly<Record<ListedKind, Map<string, Live<object>>>>;

/** Objects without a step keep their identity. */
export function projectWorld(observed: Observed, steps: readonly Step[]): Observed {
  const tables = Object.fromEntries(listedKinds.map((kind) => [kind, new Map(tableOf(observed, kind))])) as Tables;
  for (const step of steps) {
    const table = step.kind === 'server_config' ? undefined : tables[step.kind];
    if (table === undefined) continue;
    if (step.action === 'delete') table.delete(step.name);
    else if (step.action === 'create' || step.action === 'rebuild')
      table.set(step.name, {
        object: { ...blank(step), ...step.body, ...withoutUndefined({ project: step.project }) },
      });
    else if (step.action === 'update') {
      const live = table.get(step.name)?.object;
      if (live !== undefined) table.set(step.name, { object: applyEdits(live as JsonObject, step.edits) });
    }
  }
  const { keyOf } = scopesOf(observed);
  const profileOf = (name: string, project: string | undefined): JsonObject | undefined =>
    tables.profile.get(keyOf('profile', name, project))?.object as JsonObject | undefined;
  for (const [name, { object }] of tables.container) {
    const { devices } = expandContainer(object as JsonObject, profileOf);
    tables.container.set(name, { object: { ...object, expanded_devices: devices } });
  }
  return { ...observed, ...Object.fromEntries(listedKinds.map((kind) => [kinds[kind].table, tables[kind]])) };
}

function blank({ kind, name }: Step): object {
  if (kind === 'storage_volume') return { pool: poolOfVolume(name), config: {} };
  return kind === 'container' ? { profiles: ['default'], config: {}, devices: {} } : { config: {}, devices: {} };
}

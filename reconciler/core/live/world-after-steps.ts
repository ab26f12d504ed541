// The world as it will be after some steps, as far as who uses what is concerned: objects gone, made and edited, and what
// containers then get from their profiles.
import type { Container } from '../../../server/api/container/container.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { expandContainer } from './expand-profiles.ts';
import { poolOfVolume } from '../kinds/storage-volume.ts';
import type { Live, Observed } from '../documents/observed.ts';
import type { Step } from '../plan/plan.ts';
import { scopesOf } from './project-scope.ts';

type Table = Map<string, Live<object>>;

/** Objects without a step stay the very same. */
export function projectWorld(observed: Observed, steps: readonly Step[]): Observed {
  const containers: Table = new Map(observed.containers);
  const profiles: Table = new Map(observed.profiles);
  const aliases: Table = new Map(observed.aliases);
  const pools: Table = new Map(observed.pools);
  const volumes: Table = new Map(observed.volumes);
  const projects: Table = new Map(observed.projects);
  const tables: Partial<Record<KindName, Table>> = {
    container: containers,
    profile: profiles,
    image_alias: aliases,
    storage_pool: pools,
    storage_volume: volumes,
    project: projects,
  };
  for (const step of steps) {
    const table = tables[step.kind];
    if (table === undefined) continue;
    if (step.action === 'delete') table.delete(step.name);
    else if (step.action === 'create' || step.action === 'rebuild')
      table.set(step.name, {
        object: { ...blank(step), ...step.body, ...(step.project === undefined ? {} : { project: step.project }) },
      });
    else if (step.action === 'update') {
      const live = table.get(step.name)?.object;
      if (live !== undefined) table.set(step.name, { object: applyEdits(live as JsonObject, step.edits) });
    }
  }
  const { keyOf } = scopesOf(observed);
  const profileOf = (name: string, project: string | undefined): JsonObject | undefined =>
    profiles.get(keyOf('profile', name, project))?.object as JsonObject | undefined;
  for (const [name, { object }] of containers) {
    const { devices } = expandContainer(object as JsonObject, profileOf);
    containers.set(name, { object: { ...object, expanded_devices: devices } });
  }
  return {
    ...observed,
    containers: containers as ReadonlyMap<string, Live<Container>>,
    profiles: profiles as ReadonlyMap<string, Live<Profile>>,
    aliases: aliases as Observed['aliases'],
    pools: pools as Observed['pools'],
    volumes: volumes as Observed['volumes'],
    projects: projects as Observed['projects'],
  };
}

function blank({ kind, name }: Step): object {
  if (kind === 'storage_volume') return { pool: poolOfVolume(name), config: {} };
  return kind === 'container' ? { profiles: ['default'], config: {}, devices: {} } : { config: {}, devices: {} };
}

// The objects outside its projects that a restricted caller may see.
import { mayUseNetwork } from '../../api/project/project-restrictions.ts';
import { projectOf } from '../../api/project/project-names.ts';
import { areOfProjects, type Sight } from '../../auth/restricted-view.ts';
import type { Routing } from '../../membership/routing.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Records } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { containersWith } from '../shared/used-by.ts';

export interface SightDeps {
  readonly records: Records;
  readonly operations: Pick<Operations, 'about'>;
  readonly cluster: { readonly isOn: boolean; readonly routing: Pick<Routing, 'memberOfOperation'> };
}

export function sightOf({ records, operations, cluster }: SightDeps, { projects = [], requestor }: Caller): Sight {
  const isOwn = (project: string | undefined): boolean => project !== undefined && projects.includes(project);
  // Token users choose their names: such a name must not pass for a certificate.
  const fingerprint = requestor.protocol === 'tls' ? requestor.username : '';
  return {
    projects,
    fingerprint,
    network: (name) =>
      records.networks.has(name) &&
      projects.some((project) => {
        const config = records.projects.get(project)?.document.config;
        return config !== undefined && mayUseNetwork(config, name);
      }),
    address: (hwaddr) =>
      hwaddr !== '' &&
      containersWith(records, 'hwaddr', hwaddr.toLowerCase()).some(({ name }) => isOwn(projectOf(name))),
    operation: (id) => {
      const about = operations.about(id);
      if (about === undefined) return false;
      if (about.owner !== undefined && about.owner === fingerprint) return true;
      return areOfProjects(about.urls, projects);
    },
    isElsewhere: (id) =>
      cluster.isOn && operations.about(id) === undefined && cluster.routing.memberOfOperation(id) !== undefined,
  };
}

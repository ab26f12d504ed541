// The sentence above the overview, and how objects that no manifest declares are named beside it. Pure.
import type { HostStatus, ObjectCounts, SetStatus } from '../../../controller/contract/index.ts';
import { countsOf } from './counts.ts';

export function headline(sets: readonly SetStatus[], hosts: readonly Pick<HostStatus, 'status'>[]): string {
  const failed = sets.filter(({ status }) => status === 'failed').length;
  const drifted = sets.filter(({ status }) => status === 'drifted').length;
  if (sets.length === 0) return 'No sets are declared';
  if (failed > 0) return failed === 1 ? '1 set needs attention' : `${failed} sets need attention`;
  if (drifted > 0) return drifted === 1 ? '1 set has drifted' : `${drifted} sets have drifted`;
  const counts = sets.map((set) => countsOf(set));
  const apart = counts.reduce((sum, { total, synced }) => sum + total - synced, 0);
  if (apart > 0)
    return apart === 1 ? '1 object is not as declared' : `${apart.toLocaleString('en')} objects are not as declared`;
  const offline = hosts.filter(({ status }) => status === 'offline').length;
  if (offline > 0) return offline === 1 ? '1 host does not answer' : `${offline} hosts do not answer`;
  if (sets.every(({ status }) => status === 'synced')) return 'Everything is as declared';
  const hasOnlyUndeclared = counts.some(({ undeclared }) => undeclared > 0) && counts.every(({ total }) => total === 0);
  return hasOnlyUndeclared ? 'Nothing is declared for this host' : 'Nothing has failed';
}

export const undeclaredText = ({ undeclared = 0 }: Pick<ObjectCounts, 'undeclared'>): string =>
  `${undeclared.toLocaleString('en')} not declared by a manifest`;

// The releases of the members: each records its own, and once all run a newer one, the cluster requires that.
import type { ServiceParts } from '../shared/service-parts.ts';
import { compareVersions } from '../../api/text/compare-versions.ts';
import type { MemberDocument } from '../../records/cluster-documents.ts';

interface ReleasesDeps extends Pick<ServiceParts, 'records' | 'log'> {
  readonly release: string;
}

/** The oldest release among the members; undefined while one has not recorded its own. Pure. */
export function releaseOfAll(members: readonly Pick<MemberDocument, 'release'>[]): string | undefined {
  const releases = members.map(({ release }) => release);
  if (releases.length === 0 || releases.includes(undefined)) return undefined;
  return releases
    .flatMap((release) => release ?? [])
    .reduce((low, each) => (compareVersions(each, low) < 0 ? each : low));
}

/** Call after the start of this member. Until the others run its release, it writes what they can read. */
export async function noteRelease({ records, release, log }: ReleasesDeps): Promise<void> {
  const own = records.members.list().find(({ document }) => document.number === records.member);
  if (own === undefined || own.document.release === release) return;
  await records.retry((changes) => {
    const document = records.members.get(own.name)?.document;
    if (document !== undefined) changes.put('members', own.name, { ...document, release });
  });
  log.info(`This member runs the release ${release} now, before it ${own.document.release ?? 'an older one'}`);
}

/** Offline members count: they return. An older release cannot open the records afterwards. */
export async function raiseRelease({ records, log }: Pick<ReleasesDeps, 'records' | 'log'>): Promise<void> {
  const wanted = (): string | undefined => {
    const all = releaseOfAll(records.members.list().map(({ document }) => document));
    const now = records.cluster.get('config')?.document.minVersion ?? '';
    return all !== undefined && now !== '' && compareVersions(all, now) > 0 ? all : undefined;
  };
  if (wanted() === undefined) return;
  const raised = await records.retry((changes) => {
    const minVersion = wanted();
    const current = records.cluster.get('config')?.document;
    if (minVersion === undefined || current === undefined) return undefined;
    changes.put('cluster', 'config', { ...current, minVersion });
    return minVersion;
  });
  if (raised !== undefined)
    log.info(`All members run the release ${raised} or a newer one: the cluster needs it from now on`);
}

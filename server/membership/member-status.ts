// The status of a member as users read it, from its own facts and those of its peers. Pure.
import { compareVersions } from '../api/text/compare-versions.ts';
import type { Member, MemberStatus } from './members.ts';

/** A sentence. `since`: when the records last answered. */
export const silence = (since: Date | undefined): string =>
  `The records of the cluster have not answered${since === undefined ? '' : ` since ${since.toISOString()}`} (most of the etcds that keep them cannot be reached)`;

export const removed =
  'This host was removed from its cluster, so it is read-only; its containers keep running. Stop gantryd, make the host a single one with gantryd cluster leave, and start gantryd again';

interface Circumstances {
  /** The release that every member must have at least. */
  readonly minVersion: string;
  /** The store has not answered since then. */
  readonly silentSince?: Date | undefined;
}

export function statusOfMember(
  member: Member,
  all: readonly Member[],
  { minVersion, silentSince }: Circumstances,
): { readonly status: MemberStatus; readonly message: string } {
  if (member.isUnknown) return { status: 'Unknown', message: `Its status is unknown: ${silence(silentSince)}` };
  if (!member.isPresent)
    return { status: 'Offline', message: 'It has not renewed its lease: it has stopped, or cannot reach the store' };
  const version = versionOf(member);
  if (version !== undefined && compareVersions(version, minVersion) < 0)
    return { status: 'Broken', message: `Its release ${version} is older than ${minVersion}: upgrade it` };
  const older = all.filter((other) => isOlder(other, version));
  if (older.length > 0)
    return {
      status: 'Blocked',
      message: `It has the release ${version} and leaves out what ${older.map(({ name }) => name).join(', ')} cannot do: upgrade ${older.length === 1 ? 'that one' : 'those'}`,
    };
  if (member.document.evacuated === true)
    return { status: 'Evacuated', message: 'It takes no containers until it is restored' };
  const silent = member.isHere && silentSince !== undefined;
  const warnings = [
    ...(silent ? [`${silence(silentSince)}: what it shows may be out of date, and it refuses changes`] : []),
    ...(member.present?.warnings ?? []),
  ];
  return { status: 'Online', message: warnings.join('; ') || 'Fully operational' };
}

/** The version of a member; for an offline member, the last one it ran. */
const versionOf = ({ present, document }: Member): string | undefined => present?.version ?? document.release;

function isOlder(other: Member, version: string | undefined): boolean {
  const its = versionOf(other);
  return version !== undefined && its !== undefined && compareVersions(its, version) < 0;
}

// The findings of a recovery as lines for users. Pure.
import type { Recovery } from './recovery.ts';

const kinds: readonly (readonly [kind: string, one: string, many: string])[] = [
  ['pools', 'pool', 'pools'],
  ['projects', 'project', 'projects'],
  ['networkAcls', 'network ACL', 'network ACLs'],
  ['networks', 'network', 'networks'],
  ['profiles', 'profile', 'profiles'],
  ['images', 'image', 'images'],
  ['aliases', 'image alias', 'image aliases'],
  ['volumes', 'custom volume', 'custom volumes'],
  ['volumeSnapshots', 'snapshot of a custom volume', 'snapshots of custom volumes'],
  ['containers', 'container', 'containers'],
  ['snapshots', 'snapshot of a container', 'snapshots of containers'],
  ['backups', 'backup', 'backups'],
  ['server', 'group of server settings', 'groups of server settings'],
];

/** Kinds with readable names: others are stored under ids. */
const named = new Set(['pools', 'projects', 'networkAcls', 'networks', 'profiles', 'volumes', 'containers']);

export function recoveryLines({ applied, recovered, kept, unknown, problems }: Recovery): readonly string[] {
  const verb = applied ? 'Recovered' : 'Can recover';
  const lines = kinds.flatMap(([kind, one, many]) => {
    const names = recovered.filter((record) => record.kind === kind).map(({ name }) => name);
    if (names.length === 0) return [];
    return [
      `${verb} ${names.length} ${names.length === 1 ? one : many}${named.has(kind) ? `: ${names.join(', ')}` : ''}`,
    ];
  });
  const volumes = unknown.map(({ pool, type, name, snapshots, is_known: isKnown }) => {
    const list = snapshots.length === 0 ? '' : ` with the snapshots ${snapshots.join(', ')}`;
    return isKnown
      ? `Unknown snapshots of the ${type} volume ${name} in the pool ${pool}, left alone: ${snapshots.join(', ')}`
      : `Unknown ${type} volume ${name} in the pool ${pool}, left alone${list}`;
  });
  return [
    ...(lines.length === 0 ? ['Nothing is missing that the pools have a copy of'] : lines),
    ...kept.map(({ kind, name, reason }) => `Not used: the copy of ${kind} ${name}: ${reason}`),
    ...volumes,
    ...problems.map((problem) => `Problem: ${problem}`),
  ];
}

// The objects of warnings: their stored identity, and their current names, projects and URLs.
import { containerUrl, defaultProject, imageUrl, projectOf } from '../../api/project/project-names.ts';
import { volumeIdOf } from '../../records/record-names.ts';
import type { Records } from '../../records/records.ts';
import { customUrl } from '../shared/volume-urls.ts';
import type { WarningEntity } from './next-warning.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export function warnedContainer(records: Pick<Records, 'containers'>, name: string): WarningEntity {
  return withUuid('containers', name, records.containers.get(name)?.document.uuid);
}

/** `key`: POOL/VOLUME. */
export function warnedVolume(records: Pick<Records, 'volumes'>, key: string): WarningEntity {
  return withUuid('volumes', key, records.volumes.get(key)?.document.uuid);
}

const withUuid = (kind: 'containers' | 'volumes', name: string, uuid: string | undefined): WarningEntity => ({
  kind,
  name,
  ...withoutUndefined({ uuid }),
});

interface KindRow {
  /** The current name of the object in a warning of that member (undefined: this one); undefined: it is gone. */
  readonly nameNow: (records: Records, entity: WarningEntity, member: number | undefined) => string | undefined;
  /** As in LXD: networks belong to the project default, pools and members to none. */
  readonly project: (name: string) => string;
  readonly url: (name: string, records: Records) => string;
}

const rows: Readonly<Record<WarningEntity['kind'], KindRow>> = {
  containers: { nameNow: nameOfUuid('containers'), project: projectOf, url: (name) => containerUrl(name) },
  volumes: {
    nameNow: nameOfUuid('volumes'),
    project: (key) => projectOf(volumeIdOf(key).name),
    url: (key) => customUrl(volumeIdOf(key)),
  },
  networks: {
    nameNow: nameIfThere('networks', (records, name) => records.networkDefinitions.has(name)),
    project: () => defaultProject,
    url: (name) => `/1.0/networks/${encodeURIComponent(name)}`,
  },
  pools: {
    nameNow: nameIfThere('pools', (records, name) => records.poolDefinitions.has(name)),
    project: () => '',
    url: (name) => `/1.0/storage-pools/${encodeURIComponent(name)}`,
  },
  images: { nameNow: nameIfThere('images', () => false), project: projectOf, url: (name) => imageUrl(name) },
  members: {
    nameNow: (records, { name }) => (memberNamed(records, name) === undefined ? undefined : name),
    project: () => '',
    url: (number, records) => `/1.0/cluster/members/${encodeURIComponent(memberNamed(records, number) ?? number)}`,
  },
};

/** The object with its current name, the same one if nothing has changed; undefined: it is gone. */
export function presentEntity(
  records: Records,
  entity: WarningEntity,
  member: number | undefined,
): WarningEntity | undefined {
  const name = rows[entity.kind].nameNow(records, entity, member);
  if (name === undefined) return undefined;
  return name === entity.name ? entity : { ...entity, name };
}

export const projectOfEntity = (entity: WarningEntity | undefined): string =>
  entity === undefined ? '' : rows[entity.kind].project(entity.name);

export const urlOfEntity = (records: Records, entity: WarningEntity | undefined): string =>
  entity === undefined ? '' : rows[entity.kind].url(entity.name, records);

/** Finds this member's objects under a new name, too. For other members it only looks up the name, until they have stored the new one. */
function nameOfUuid(kind: 'containers' | 'volumes'): KindRow['nameNow'] {
  return (records, { name, uuid }, member) => {
    const isIt = ({ document }: { readonly document: { readonly uuid: string } }): boolean =>
      uuid === undefined || document.uuid === uuid;
    if (member !== undefined)
      return records.others.having(kind, name).some((one) => one.member === member && isIt(one)) ? name : undefined;
    const named = records[kind].get(name);
    if (named !== undefined && isIt(named)) return name;
    return uuid === undefined ? undefined : records[kind].list().find(isIt)?.name;
  };
}

/** `isDefined`: in the whole cluster, though not on that member yet. */
function nameIfThere(
  kind: 'networks' | 'pools' | 'images',
  isDefined: (records: Records, name: string) => boolean,
): KindRow['nameNow'] {
  return (records, { name }, member) => {
    const isThere =
      member === undefined
        ? records[kind].has(name)
        : records.others.having(kind, name).some((one) => one.member === member);
    return isThere || isDefined(records, name) ? name : undefined;
  };
}

function memberNamed(records: Records, number: string): string | undefined {
  return records.members.list().find(({ document }) => String(document.number) === number)?.name;
}

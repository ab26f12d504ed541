// The contents of one project, read from records. Pure.
import { rootDisk } from '../../api/devices/index.ts';
import {
  emptyContents,
  type ProjectContents,
  type ProjectMember,
  type ProjectVolume,
} from '../../api/project/project-contents.ts';
import { useOf, type LimitKey } from '../../api/project/project-limits.ts';
import { defaultProject, plainName, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { parseBytes } from '../../api/text/byte-size.ts';
import { isTrue } from '../../api/text/value-checks.ts';
import type { ContainerDocument, ProfileDocument } from '../../records/documents.ts';
import { ownedName, volumeIdOf } from '../../records/record-names.ts';
import { expand } from '../shared/expand.ts';
import { plannedBy } from './planned.ts';
import type { RecordPart, RecordView } from './view.ts';

/** Undefined: there is no such project. */
export function contentsOf(view: RecordView, project: string): ProjectContents | undefined {
  const config = configOf(view, project);
  if (config === undefined) return undefined;
  const parts = view.parts().map((part) => partOf(view, part, project));
  return {
    name: project,
    config,
    containers: parts.flatMap(({ containers }) => containers.map(({ member }) => member)),
    profiles: view
      .list('profiles')
      .filter(({ name }) => projectOf(name) === project)
      .map(({ name, document }) => ({ name: plainName(name), config: document.config, devices: document.devices })),
    volumes: parts.flatMap(({ volumes }) => volumes.map(({ volume }) => volume)),
    networks: project === defaultProject ? view.list('networks').map(({ name }) => name) : [],
    // Members have copies of the same image.
    images: Object.fromEntries(parts.flatMap(({ images }) => images)),
    snapshots: parts.flatMap(({ snapshots }) => snapshots),
    backups: parts.flatMap(({ backups }) => backups),
    snapshotSizes: parts.flatMap(({ snapshotSizes }) => snapshotSizes),
    backupBytes: parts.reduce((sum, { backupBytes }) => sum + backupBytes, 0),
  };
}

/** One member's objects of the project; the view has the profiles. */
function partOf(view: RecordView, part: RecordPart, project: string) {
  const planned = plannedBy(part);
  const containers = containersOf(view, part, project, planned.containers);
  const volumes = volumesOf(part, project, planned.volumes);
  const nameOf = new Map(containers.map(({ uuid, member }) => [uuid, member.name]));
  const placeOf = new Map(volumes.map(({ uuid, volume }) => [uuid, `${volume.pool}/${volume.name}`]));
  return {
    containers,
    volumes,
    images: part
      .list('images')
      .filter(({ name }) => projectOf(name) === project)
      .map(({ name, document }) => [plainName(name), document.sizeBytes] as const),
    snapshots: [...ownedNames(part, 'snapshots', nameOf), ...ownedNames(part, 'volumeSnapshots', placeOf)],
    backups: ownedNames(part, 'backups', new Map([...nameOf, ...placeOf])),
    snapshotSizes: [
      ...snapshotSizes(part, 'snapshots', new Map(containers.map(({ uuid, member }) => [uuid, rootOf(member)]))),
      ...snapshotSizes(part, 'volumeSnapshots', new Map(volumes.map(({ uuid, volume }) => [uuid, placed(volume)]))),
    ],
    backupBytes: part
      .list('backups')
      .filter(({ name }) => nameOf.has(ownedName(name).uuid) || placeOf.has(ownedName(name).uuid))
      .reduce((sum, { document }) => sum + document.sizeBytes, 0),
  };
}

interface PoolUse {
  readonly pool: string;
  readonly bytes: number;
}

const placed = ({ pool, config }: ProjectVolume): PoolUse => ({ pool, bytes: parseBytes(config['size'] ?? '') ?? 0 });

function rootOf({ devices }: ProjectMember): PoolUse {
  const root = rootDisk(devices);
  if (root === undefined) return { pool: '', bytes: 0 };
  return { pool: root.pool, bytes: parseBytes(devices[root.name]?.['size'] ?? '') ?? 0 };
}

/** An unmeasured snapshot may hold as much as its original; one in creation is measured at its end. */
function snapshotSizes(
  part: RecordPart,
  kind: 'snapshots' | 'volumeSnapshots',
  owners: ReadonlyMap<string, PoolUse>,
): readonly PoolUse[] {
  return part.list(kind).flatMap(({ name, document }) => {
    const owner = owners.get(ownedName(name).uuid);
    if (owner === undefined) return [];
    const unmeasured = document.lifecycle === 'creating' ? 0 : owner.bytes;
    return [{ pool: owner.pool, bytes: document.sizeBytes ?? unmeasured }];
  });
}

/** The project `default` exists before it is recorded. */
export function configOf(view: RecordView, project: string): ConfigMap | undefined {
  const document = view.get('projects', project);
  return document?.config ?? (project === defaultProject ? {} : undefined);
}

const hasOwnProfiles = (view: RecordView, project: string): boolean =>
  project === defaultProject || isTrue(configOf(view, project)?.['features.profiles']);

/** Projects whose containers use that project's profiles. */
export const usersOfProfilesIn = (view: RecordView, project: string): readonly string[] =>
  project !== defaultProject
    ? [project]
    : [
        defaultProject,
        ...view
          .list('projects')
          .map(({ name }) => name)
          .filter((name) => !hasOwnProfiles(view, name)),
      ];

/** The profile that a plain name means to containers of the project. */
export function profilesSeenFrom(view: RecordView, project: string): (name: string) => ProfileDocument | undefined {
  const owner = hasOwnProfiles(view, project) ? project : defaultProject;
  return (name) => view.get('profiles', qualifiedName(owner, name));
}

interface CountedContainer {
  readonly uuid: string;
  readonly member: ProjectMember;
}

function containersOf(
  view: RecordView,
  part: RecordPart,
  project: string,
  planned: ReadonlyMap<string, ContainerDocument>,
): readonly CountedContainer[] {
  const profileOf = profilesSeenFrom(view, project);
  const memberOf = (name: string, document: ContainerDocument): ProjectMember => {
    const { config, devices } = expand(document, profileOf);
    const root = rootDisk(devices);
    const rooted =
      root === undefined || document.pool === ''
        ? devices
        : { ...devices, [root.name]: { ...devices[root.name], pool: document.pool } };
    return { name: plainName(name), config, devices: rooted };
  };
  const now = part.list('containers').filter(({ name }) => projectOf(name) === project);
  const found = now.map(({ name, document }): CountedContainer => {
    const plan = planned.get(name);
    const member = memberOf(name, document);
    return { uuid: document.uuid, member: plan === undefined ? member : larger(member, memberOf(name, plan)) };
  });
  const there = new Set(now.map(({ name }) => name));
  const arriving = [...planned].filter(([name]) => projectOf(name) === project && !there.has(name));
  return [...found, ...arriving.map(([name, document]) => ({ uuid: document.uuid, member: memberOf(name, document) }))];
}

const amounts: readonly LimitKey[] = ['limits.cpu', 'limits.memory', 'limits.processes'];

/** The planned object, with the larger of current and planned amounts: the change may still fail. */
function larger(now: ProjectMember, planned: ProjectMember): ProjectMember {
  const alone = (member: ProjectMember): ProjectContents => ({ ...emptyContents('', {}), containers: [member] });
  const kept = amounts.filter((key) => useOf(alone(now), key) > useOf(alone(planned), key));
  const config = Object.fromEntries(kept.map((key) => [key, now.config[key] ?? '']));
  const [root, rootNow] = [rootDisk(planned.devices), rootDisk(now.devices)];
  const isSmaller = useOf(alone(now), 'limits.disk') > useOf(alone(planned), 'limits.disk');
  const devices =
    isSmaller && root !== undefined && rootNow !== undefined
      ? {
          ...planned.devices,
          [root.name]: { ...planned.devices[root.name], size: now.devices[rootNow.name]?.['size'] ?? '' },
        }
      : planned.devices;
  return { ...planned, config: { ...planned.config, ...config }, devices };
}

function volumesOf(
  part: RecordPart,
  project: string,
  planned: ReadonlyMap<string, { readonly uuid: string; readonly config: ConfigMap }>,
): readonly { readonly uuid: string; readonly volume: ProjectVolume }[] {
  const all = new Map([...part.list('volumes').map(({ name, document }) => [name, document] as const), ...planned]);
  return [...all].flatMap(([key, { uuid, config }]) => {
    const { pool, name } = volumeIdOf(key);
    return projectOf(name) === project ? [{ uuid, volume: { pool, name: plainName(name), config } }] : [];
  });
}

/** `OWNER/NAME` of the records that belong to one of the owners. */
function ownedNames(
  part: RecordPart,
  kind: 'snapshots' | 'backups' | 'volumeSnapshots',
  owners: ReadonlyMap<string, string>,
): readonly string[] {
  return part.list(kind).flatMap(({ name: key }) => {
    const { uuid, name } = ownedName(key);
    const owner = owners.get(uuid);
    return owner === undefined ? [] : [`${owner}/${name}`];
  });
}

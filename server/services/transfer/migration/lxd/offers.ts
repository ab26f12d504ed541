// Translates between the headers of LXD's migration protocol and the offers of gantryd. Pure.
import { architectureId, architectures } from '../../../../api/image/architectures.ts';
import {
  migrationProtocol,
  migrationVersion,
  type ContainerMigrationOffer,
  type VolumeMigrationOffer,
} from '../../../../api/container/migration-messages.ts';
import type { ConfigMap } from '../../../../api/schema/common-schemas.ts';
import type { PoolSpec, StorageDriver } from '../../../../drivers/storage/driver.ts';
import { isTrue } from '../../../../api/text/value-checks.ts';
import type { IdMapEntry } from '../../../../drivers/runtime/driver.ts';
import { parseIdMap, renderIdMap } from '../../../../drivers/runtime/idmap/plan.ts';
import type { RsyncFeature } from '../../../../drivers/storage/rsync.ts';
import { idMapKeys } from '../../../containers/shared/id-maps.ts';
import { criu, fsKind, type LxdHeader, type LxdSetting, type LxdSnapshot } from './messages.ts';

type Offer = ContainerMigrationOffer | VolumeMigrationOffer;

/** The format of files between gantryd and a real LXD. */
export const rsyncFormat = 'rsync';

/** `rsync.compression` of the pool: whether rsync compresses its data; both ends of a session must agree. */
const packs = ({ config }: Pick<PoolSpec, 'config'>): boolean => isTrue(config['rsync.compression'] || 'true');

/** What the pool can do: pack what rsync sends, stream subvolumes of btrfs. */
export interface PoolFacts extends Pick<PoolSpec, 'config'> {
  readonly hasSubvolumes?: boolean;
}

export const factsOf = ({ driver, pool }: { readonly driver: StorageDriver; readonly pool: PoolSpec }): PoolFacts => ({
  config: pool.config,
  hasSubvolumes: driver.subvolumes !== undefined,
});

export interface SourceFacts {
  /** `live`: memory is moved as well. */
  readonly state: 'stopped' | 'running' | 'live';
  /** Id map of its files on disk; absent or `[]`: the ids that the container sees. */
  readonly idMap?: string | undefined;
}

export function headerOf({ snapshots }: Offer, { state, idMap }: SourceFacts, pool: PoolFacts): LxdHeader {
  return {
    fs: pool.hasSubvolumes === true ? fsKind.btrfs : fsKind.rsync,
    criu: state === 'stopped' ? undefined : state === 'live' ? criu.rsync : criu.none,
    idmap: [...(parseIdMap(idMap) ?? [])],
    snapshotNames: snapshots.map(({ name }) => name),
    snapshots: snapshots.map(lxdSnapshotOf),
    predump: false,
    rsyncFeatures: { xattrs: true, delete: true, compress: packs(pool), bidirectional: true },
    refresh: undefined,
    btrfsFeatures: pool.hasSubvolumes === true ? ourBtrfs : undefined,
  };
}

/** `move`: the client deletes the source afterwards. */
export type Purpose = 'copy' | 'move' | 'refresh';

/** The answer to LXD's header: requests these snapshots, in this order, and then the container or volume. */
export function answerTo(
  header: LxdHeader,
  snapshots: readonly string[],
  purpose: Purpose,
  pool: PoolFacts,
): LxdHeader {
  const { rsyncFeatures } = header;
  const taken = new Set(snapshots);
  // LXD sends a running container as one stream of btrfs, from the moment at which it begins. A move would lose what the container
  // writes after that, so rsync sends it in two passes. A refresh by rsync brings what differs, whatever made the copy.
  const isByRsync = purpose === 'refresh' || (purpose === 'move' && isTwice(header));
  const isBtrfs = !isByRsync && pool.hasSubvolumes === true && sendsSubvolumes(header);
  return {
    fs: isBtrfs ? fsKind.btrfs : fsKind.rsync,
    criu: isTwice(header) ? criu.none : undefined,
    idmap: [],
    snapshotNames: [...snapshots],
    snapshots: header.snapshots.filter(({ name }) => taken.has(name ?? '')),
    predump: false,
    rsyncFeatures:
      rsyncFeatures === undefined
        ? undefined
        : { ...rsyncFeatures, compress: rsyncFeatures.compress === true && packs(pool) },
    refresh: purpose === 'refresh',
    btrfsFeatures: isBtrfs ? ourBtrfs : undefined,
  };
}

/** Without `header_subvolume_uuids` LXD refreshes by rsync. With it LXD 5.0.2 fails where it has a snapshot that came another way. */
const ourBtrfs = { migrationHeader: true, headerSubvolumes: true, headerSubvolumeUuids: false };

/** Each volume then comes as streams of btrfs, after a list of its subvolumes. A peer that sends no such list is older: it gets rsync. */
export const sendsSubvolumes = ({ fs, btrfsFeatures }: LxdHeader): boolean =>
  fs === fsKind.btrfs && btrfsFeatures?.migrationHeader === true && btrfsFeatures.headerSubvolumes === true;

/** The client of LXD leaves the id map of the source in the config of a move, and takes it out of that of a copy. */
export const purposeOf = (config: ConfigMap): Purpose => (config[idMapKeys.next] === undefined ? 'copy' : 'move');

/** Whether a second pass sends the changes made during the first. */
export const isTwice = (header: LxdHeader): boolean => header.criu === criu.none;
export const isLive = (header: LxdHeader): boolean => header.criu === criu.rsync;

/** Both sides must start rsync with equal options. A peer that is not `bidirectional` is older than the negotiation. */
export function featuresOf({ rsyncFeatures }: LxdHeader): readonly RsyncFeature[] {
  const all = ['xattrs', 'delete', 'compress'] as const;
  return rsyncFeatures?.bidirectional === true ? all.filter((name) => rsyncFeatures[name] === true) : all;
}

/** The id map on the disk of the other side, as config has it. */
export const idMapOf = ({ idmap }: LxdHeader): string =>
  renderIdMap(
    idmap.map(({ isuid, isgid, hostid = 0, nsid = 0, maprange = 0 }): IdMapEntry => ({
      isuid: isuid === true,
      isgid: isgid === true,
      hostid,
      nsid,
      maprange,
    })),
  );

/** LXD's header as an offer of gantryd. The client supplies the rest: name, config, devices, profiles. */
export function offerOf<K extends Offer['kind']>(header: LxdHeader, kind: K): Record<string, unknown> {
  const object = kind === 'container' ? { architecture: '', profiles: [], ephemeral: false, devices: {} } : {};
  return {
    type: 'offer',
    protocol: migrationProtocol,
    versions: [migrationVersion],
    release: 'LXD',
    kind,
    name: '',
    uuid: '',
    formats: [rsyncFormat],
    object: { ...object, description: '', config: {} },
    snapshots: namedSnapshots(header).map((one) => offeredSnapshot(one, header)),
  };
}

/** Old servers send only names. */
function namedSnapshots({ snapshotNames, snapshots }: LxdHeader): readonly LxdSnapshot[] {
  if (snapshots.length === snapshotNames.length) return snapshots;
  const bare = { localConfig: [], profiles: [], localDevices: [] };
  const rest = { ephemeral: false, stateful: false, architecture: 0 };
  const dates = { creationDate: undefined, lastUsedDate: undefined, expiryDate: undefined };
  return snapshotNames.map((name) => ({ name, ...bare, ...rest, ...dates }));
}

function offeredSnapshot(one: LxdSnapshot, header: LxdHeader): Record<string, unknown> {
  const config = configOf(one.localConfig);
  return {
    name: one.name ?? '',
    createdAt: dateOf(one.creationDate),
    lastUsedAt: dateOf(one.lastUsedDate),
    expiresAt: dateOf(expiryOf(one)),
    description: '',
    config: { ...config, [idMapKeys.files]: config[idMapKeys.files] ?? idMapOf(header) },
    architecture: architectureOf(one.architecture ?? 0),
    profiles: [...one.profiles],
    ephemeral: one.ephemeral === true,
    devices: Object.fromEntries(one.localDevices.map(({ name = '', config: device }) => [name, configOf(device)])),
    // A checkpoint of LXD cannot be restored here.
    stateful: false,
  };
}

function lxdSnapshotOf(one: Offer['snapshots'][number]): LxdSnapshot {
  const isContainer = 'devices' in one;
  return {
    name: one.name,
    localConfig: settingsOf(one.config),
    profiles: isContainer ? one.profiles : [],
    ephemeral: isContainer && one.ephemeral,
    localDevices: isContainer
      ? Object.entries(one.devices).map(([name, device]) => ({ name, config: settingsOf(device) }))
      : [],
    architecture: isContainer ? architectureId(one.architecture) : 0,
    stateful: false,
    creationDate: secondsOf(one.createdAt),
    lastUsedDate: isContainer ? secondsOf(one.lastUsedAt) : zeroDate,
    expiryDate: one.expiresAt === undefined ? zeroDate : secondsOf(one.expiresAt),
  };
}

const configOf = (settings: readonly LxdSetting[]): Record<string, string> =>
  Object.fromEntries(settings.map(({ key = '', value = '' }) => [key, value]));

const settingsOf = (config: Readonly<Record<string, string>>): LxdSetting[] =>
  Object.entries(config).map(([key, value]) => ({ key, value }));

const architectureOf = (id: number): string =>
  Object.entries(architectures).find(([, known]) => known.id === id)?.[0] ?? '';

/** Year 1: how LXD writes "never". */
const zeroDate = -62_135_596_800;
const lastDate = 253_402_300_799;

/** LXD sends 0 for a snapshot of a volume without expiry. As a time it would be past, and the snapshot would be deleted. */
const expiryOf = ({ expiryDate = 0 }: LxdSnapshot): number => (expiryDate <= 0 ? zeroDate : expiryDate);

const dateOf = (seconds = 0): string =>
  new Date(Math.min(Math.max(seconds, zeroDate), lastDate) * 1000).toISOString().replace('.000Z', 'Z');

const secondsOf = (date: string): number => Math.floor(Date.parse(date) / 1000);

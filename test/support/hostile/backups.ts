// Handwritten hostile backups: an index chosen by the test, and its files.
import { tarOf, type TarPiece } from '../images/hostile.ts';

export interface SavedByHand {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly devices?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly profiles?: readonly string[];
}

export interface ByHand extends SavedByHand {
  readonly name?: string;
  readonly pool?: string;
  readonly snapshots?: Readonly<Record<string, SavedByHand>>;
  /** More members of index.yaml, of its container, and files after those of the container. */
  readonly index?: object;
  readonly container?: object;
  readonly files?: readonly TarPiece[];
  /** The form of old releases, which describe the container only beside its files. */
  readonly isOld?: boolean;
}

const machine = ({ config = {}, devices = {}, profiles = ['default'] }: SavedByHand) => ({
  architecture: 'x86_64',
  config,
  devices,
  profiles,
});
const directory = (name: string): TarPiece => ({ name, flag: '5' });

export function backupByHand(name: string, backup: ByHand): Buffer {
  const snapshots = Object.entries(backup.snapshots ?? {});
  const config = {
    container: { ...machine(backup), ...backup.container },
    snapshots: snapshots.map(([snapshot, saved]) => ({ ...machine(saved), name: snapshot })),
  };
  const index = {
    name: backup.name ?? name,
    backend: 'dir',
    pool: backup.pool ?? 'default',
    snapshots: snapshots.map(([snapshot]) => snapshot),
    optimized: false,
    ...(backup.isOld === true ? {} : { config }),
    ...backup.index,
  };
  const parts = [...snapshots.map(([snapshot]) => `backup/snapshots/${snapshot}`), 'backup/container'];
  const beside = { name: 'backup/container/backup.yaml', content: JSON.stringify(config) };
  return tarOf(
    { name: 'backup/index.yaml', content: JSON.stringify(index) },
    ...parts.flatMap((part) => [directory(`${part}/`), directory(`${part}/rootfs/`)]),
    ...(backup.isOld === true ? [beside] : []),
    ...(backup.files ?? []),
  );
}

export interface VolumeByHand {
  readonly name?: string;
  /** More members of its volume, and of index.yaml; files after its directories. */
  readonly volume?: object;
  readonly index?: object;
  readonly snapshots?: readonly string[];
  readonly files?: readonly TarPiece[];
}

export function volumeBackupByHand(name: string, backup: VolumeByHand): Buffer {
  const snapshots = backup.snapshots ?? [];
  const config = {
    volume: { name: backup.name ?? name, config: {}, ...backup.volume },
    volume_snapshots: snapshots.map((snapshot) => ({ name: snapshot })),
  };
  const index = { name: backup.name ?? name, backend: 'dir', pool: 'default', snapshots, type: 'custom', config };
  return tarOf(
    { name: 'backup/index.yaml', content: JSON.stringify({ ...index, ...backup.index }) },
    ...snapshots.map((snapshot) => directory(`backup/volume-snapshots/${snapshot}/`)),
    directory('backup/volume/'),
    ...(backup.files ?? []),
  );
}

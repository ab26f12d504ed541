// Names of records that are stored under another object: volumes as `<pool>/<name>`, snapshots and backups as `<uuid of the owner>/<name>`.

export interface VolumeId {
  readonly pool: string;
  /** The qualified name. */
  readonly name: string;
}

export const volumeKey = ({ pool, name }: VolumeId): string => `${pool}/${name}`;

/** Pool names have no slash. */
export function volumeIdOf(key: string): VolumeId {
  const slash = key.indexOf('/');
  return { pool: key.slice(0, slash), name: key.slice(slash + 1) };
}

export interface OwnedName {
  /** The uuid of the owner. */
  readonly uuid: string;
  readonly name: string;
}

export const isOwnedBy = (key: string, uuid: string): boolean => key.startsWith(`${uuid}/`);

export const ownedKey = (uuid: string, name: string): string => `${uuid}/${name}`;

export function ownedName(key: string): OwnedName {
  const slash = key.indexOf('/');
  return { uuid: key.slice(0, slash), name: key.slice(slash + 1) };
}

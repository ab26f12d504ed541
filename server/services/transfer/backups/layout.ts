// Where the parts of a backup are in its archive. Pure.

export type BackupType = 'container' | 'custom';

export const backupTypes: readonly BackupType[] = ['container', 'custom'];

interface Layout {
  readonly itself: string;
  readonly snapshots: string;
}

export const layouts: Readonly<Record<BackupType, Layout>> = {
  container: { itself: 'backup/container', snapshots: 'backup/snapshots' },
  custom: { itself: 'backup/volume', snapshots: 'backup/volume-snapshots' },
};

/** The common prefix of a part's member names. Undefined: not a snapshot. */
export const prefixOf = (type: BackupType, snapshot: string | undefined): string =>
  snapshot === undefined ? layouts[type].itself : `${layouts[type].snapshots}/${snapshot}`;

/** A part of the archive: the container or volume, or a snapshot of it. */
export interface Section {
  readonly snapshot: string | undefined;
  readonly prefix: string;
}

const formOf = ({ itself, snapshots }: Layout, end: string): RegExp =>
  new RegExp(`^(${itself}|${snapshots}/([^/]+))${end}$`, 's');

const forms: Readonly<Record<BackupType, { readonly files: RegExp; readonly streams: RegExp }>> = {
  container: { files: formOf(layouts.container, '(?:/.*)?'), streams: formOf(layouts.container, '\\.bin') },
  custom: { files: formOf(layouts.custom, '(?:/.*)?'), streams: formOf(layouts.custom, '\\.bin') },
};

/** Undefined: the member belongs to no part. */
export function sectionOf(
  name: string,
  { type, optimized }: { readonly type: BackupType; readonly optimized: boolean },
): Section | undefined {
  const [, prefix, snapshot] = forms[type][optimized ? 'streams' : 'files'].exec(name) ?? [];
  if (prefix === undefined || snapshot === '.' || snapshot === '..') return undefined;
  return { prefix, snapshot };
}

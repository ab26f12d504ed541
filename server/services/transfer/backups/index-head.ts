// What the indexes of all backups have in common, written and read. Pure.
import { isTimestamp } from '../../../api/text/timestamp.ts';
import type { PoolDocument } from '../../../records/documents.ts';
import type { BackupType } from './layout.ts';

export interface RenderedIndex {
  readonly index: string;
  /** Beside the files of a container: the same without the head, as real backups have it. */
  readonly beside?: string;
}

/** What every description of a backup says. */
export interface DescribedContent {
  readonly pool: { readonly name: string; readonly document: PoolDocument };
  readonly snapshots: readonly { readonly name: string }[];
  readonly optimized: boolean;
}

/** Field names and their order are those of the real system (section 11), which reads it. */
export const headOf = (name: string, type: BackupType, { pool, snapshots, optimized }: DescribedContent) => ({
  name,
  backend: pool.document.driver,
  pool: pool.name,
  ...(snapshots.length === 0 ? {} : { snapshots: snapshots.map((one) => one.name) }),
  optimized,
  optimized_header: false,
  type,
});

/** YAML takes `true` and `1` for what they look like. */
export const textsOf = (texts: Readonly<Record<string, string | boolean | number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, String(value)]));

export const timeOf = (text: string | null | undefined): string | undefined =>
  typeof text === 'string' && isTimestamp(text) ? text : undefined;

/** Old releases name a snapshot with what it is of. */
export const plainSnapshot = (name: string): string => name.slice(name.indexOf('/') + 1);

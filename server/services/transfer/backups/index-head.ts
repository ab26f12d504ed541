// The common part of all backup indexes, written and read. Pure.
import { isTimestamp } from '../../../api/text/timestamp.ts';
import type { PoolDocument } from '../../../records/documents.ts';
import type { BackupType } from './layout.ts';

export interface RenderedIndex {
  readonly index: string;
  /** Stored beside a container's files: the same without the head, as in LXD's backups. */
  readonly beside?: string;
}

/** The common part of every backup's description. */
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

/** Turns values that YAML reads as booleans or numbers back into texts. */
export const textsOf = (texts: Readonly<Record<string, string | boolean | number>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, String(value)]));

export const timeOf = (text: string | null | undefined): string | undefined =>
  typeof text === 'string' && isTimestamp(text) ? text : undefined;

/** Old releases prefix a snapshot's name with its owner's. */
export const plainSnapshot = (name: string): string => name.slice(name.indexOf('/') + 1);

// An image that is about to be added. Types only.
import type { ImageSourceDocument } from '../../records/documents.ts';
import type { ImageStoreDeps } from './image-deps.ts';

export type AddImageDeps = Pick<
  ImageStoreDeps,
  'records' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'dir' | 'damage'
>;

/** An image to be: its files, and what is said of it beside what metadata.yaml says. */
export interface NewImage {
  readonly metadataPath: string;
  readonly rootfsPath?: string;
  readonly filename: string;
  readonly public: boolean;
  /** Over those of metadata.yaml. */
  readonly properties: Readonly<Record<string, string>>;
  readonly aliases: readonly { readonly name: string; readonly description: string }[];
  /** Fetched because something needed it: goes when nothing does for long. */
  readonly cached?: boolean;
  readonly autoUpdate?: boolean;
  readonly source?: ImageSourceDocument;
  /** Over that of metadata.yaml. */
  readonly expiresAt?: string;
  /** The number of the member of the cluster that it comes from: it is not new. */
  readonly copyOf?: number;
}

export interface Upload extends NewImage {
  /** What the sender says it must be. */
  readonly fingerprint?: string;
}

// An image that is about to be added. Types only.
import type { ImageSourceDocument } from '../../records/documents.ts';
import type { ImageStoreDeps } from './image-deps.ts';

export type AddImageDeps = Pick<
  ImageStoreDeps,
  'records' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock' | 'dir' | 'damage'
>;

/** A new image: its files, and settings beyond metadata.yaml. */
export interface NewImage {
  readonly metadataPath: string;
  readonly rootfsPath?: string;
  readonly filename: string;
  readonly public: boolean;
  /** Override those of metadata.yaml. */
  readonly properties: Readonly<Record<string, string>>;
  readonly aliases: readonly { readonly name: string; readonly description: string }[];
  /** Fetched for a container: removed when unused for long. */
  readonly cached?: boolean;
  readonly autoUpdate?: boolean;
  readonly source?: ImageSourceDocument;
  /** Overrides that of metadata.yaml. */
  readonly expiresAt?: string;
  /** The number of the cluster member it is copied from: it is not new. */
  readonly copyOf?: number;
}

export interface Upload extends NewImage {
  /** The fingerprint that the sender expects. */
  readonly fingerprint?: string;
}

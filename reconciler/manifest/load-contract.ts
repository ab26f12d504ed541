// The input and the result of loading manifests, as types.
import type { Diagnostic } from '../core/documents/diagnostic.ts';
import type { Address, Document, ImageFiles, Location } from '../core/documents/document.ts';
import type { WrittenDocument } from '../core/history/revisions.ts';
import type { SopsKeys } from './secrets/decrypt-file.ts';
import type { DecryptedFiles } from './variables/secret-references.ts';
import type { ReadSecret } from './secrets/vault-secrets.ts';
import type { Evaluate } from './terraform/evaluation.ts';
import type { LiveData } from './terraform/load-with-data.ts';
import type { HostFacts } from '../core/documents/host-pattern.ts';

/** A file of `NAME: value` lines, or given values. */
export type VariableSource = { readonly file: string } | { readonly vars: Readonly<Record<string, string>> };

/** Facts about the hosts, for a load for one of several. */
export interface HostView {
  readonly facts: HostFacts;
  readonly all: readonly HostFacts[];
  /** Variables of any host; other hosts declare them without a value. */
  readonly names: readonly string[];
  /** Fingerprints of image files, read once for all hosts. */
  readonly images: ImageCache;
}

export type ImageCache = Map<string, Promise<Pick<ImageFiles, 'fingerprint' | 'sizeBytes'>>>;

export interface LoadInput {
  /** Files, directories (their *.yaml, *.yml and *.tf.json, sorted, not recursive; the stacks of a cdktf.out) and `-` for stdin, in order. */
  readonly paths: readonly string[];
  readonly vars?: Readonly<Record<string, string>>;
  /** Weaker than `vars`, stronger than `kind: vars`; later ones win. */
  readonly variables?: readonly VariableSource[];
  /** The host, if there are several. */
  readonly host?: HostView;
  /** The environment that holds TF_VAR_NAME. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The only keys that decrypt files of sops; absent: those of the environment and the keyring. */
  readonly sopsKeys?: SopsKeys;
  /** Shared by the loads of one revision. */
  readonly decrypted?: DecryptedFiles;
  /** Reads secrets of Vault; absent: with what the environment says of it. */
  readonly vault?: ReadSecret;
  /** Read image files to know their fingerprint (default true); false for offline validation of big sets. */
  readonly readImages?: boolean;
  /** Follow references to secrets (default true); false for offline validation. */
  readonly readSecrets?: boolean;
  /** Project of the connection, which documents need not name; default `default`. */
  readonly project?: string;
  /** Project for documents that name none, unless its `config` shares their kind. */
  readonly into?: { readonly name: string; readonly config?: Readonly<Record<string, string>> };
  /** Reads directories recursively. */
  readonly recursive?: boolean;
  /** Reads the data sources of Terraform JSON from the server; without it their values are unknown. */
  readonly live?: LiveData;
  /** How Terraform JSON is evaluated; default: in this thread, which does nothing else for up to 20 s. */
  readonly evaluate?: Evaluate;
  /** Text of `-`; without it process.stdin is read. */
  readonly stdin?: string;
  /** The time for rules with an end; default: the clock. */
  readonly nowMs?: number;
}

export interface Loaded {
  /** Documents that have no errors: plan only when `diagnostics` has no error. */
  readonly documents: readonly Document[];
  /** The documents as written, with variables replaced and references to secrets unresolved: a revision stores them. */
  readonly written: readonly WrittenDocument[];
  /** Addresses of documents with errors, as far as kind and name could be read. */
  readonly broken: readonly Address[];
  /** All problems of all files, sorted by file and position. */
  readonly diagnostics: readonly Diagnostic[];
  /** Files read, for watching. */
  readonly files: readonly string[];
  /** Adds file, line, column and excerpt to a diagnostic of the core (it has an address and a path). */
  readonly locate: (diagnostic: Diagnostic) => Diagnostic;
  readonly locationOf: (address: Address, path: string) => Location | undefined;
}

// The blocks of a configuration before evaluation, with small helpers for their shapes.
import type { Json, JsonObject } from '../../../core/documents/document.ts';

export interface ConfigFile {
  readonly file: string;
  readonly folder: string;
  readonly value: Json;
}

/** A part of the files, with its path. */
export interface Piece {
  readonly file: string;
  readonly folder: string;
  readonly steps: readonly string[];
  readonly body: JsonObject;
  /** The construct that made it. */
  readonly construct?: string;
}

export interface Resource extends Piece {
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  /** `gantry_network.web`, `data.gantry_network.lan`; of a module `module.net.gantry_network.web`. */
  readonly address: string;
  /** True for a data source inside a check block: a failed read is a warning. */
  readonly check?: string;
}

export interface Local {
  readonly file: string;
  readonly steps: readonly string[];
  readonly value: Json;
}

export interface ModuleCall extends Piece {
  readonly name: string;
}

export interface Check extends Piece {
  readonly name: string;
}

/** The blocks of one module: the root, or a module that a block calls. */
export interface Config {
  readonly variables: ReadonlyMap<string, Piece>;
  readonly locals: ReadonlyMap<string, Local>;
  readonly resources: ReadonlyMap<string, Resource>;
  /** By `gantry_network.lan`. */
  readonly data: ReadonlyMap<string, Resource>;
  readonly modules: ReadonlyMap<string, ModuleCall>;
  readonly outputs: ReadonlyMap<string, Piece>;
  readonly checks: readonly Check[];
  readonly imports: readonly Piece[];
  readonly removed: readonly Piece[];
  /** `gantry`, or `gantry.alias`. */
  readonly providers: ReadonlyMap<string, Piece>;
  /** Local names of the gantry provider. */
  readonly folder: string;
  /** Intentionally ignored parts, for a notice. */
  readonly ignored: readonly string[];
}

export function below<T extends Pick<Piece, 'steps'>>(piece: T, step: string): T {
  return { ...piece, steps: [...piece.steps, step] };
}

/** Blocks are written as one object or as a list of them. */
export const listOf = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : [value ?? null]).filter(
    (item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item),
  );

/** Terraform takes the text as well. */
export const isTrue = (value: Json | undefined): boolean => value === true || value === 'true';

/** `provider` and `depends_on` take names as they are, or as the only thing in a template. */
export const bareName = (text: string): string => text.trim().replace(/^\$\{\s*(.*?)\s*\}$/, '$1');

/** Meta-arguments of resources. */
export const metaArguments: ReadonlySet<string> = new Set([
  '//',
  'count',
  'for_each',
  'depends_on',
  'provider',
  'lifecycle',
  'provisioner',
  'connection',
]);

/** Meta-arguments of module blocks. */
export const moduleArguments: ReadonlySet<string> = new Set([
  '//',
  'source',
  'version',
  'count',
  'for_each',
  'depends_on',
  'providers',
]);

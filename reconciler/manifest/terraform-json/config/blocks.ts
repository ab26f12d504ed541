// What a configuration consists of, block by block, before anything is evaluated. No code but the small helpers of its shapes.
import type { Json, JsonObject } from '../../../core/documents/document.ts';

export interface ConfigFile {
  readonly file: string;
  readonly folder: string;
  readonly value: Json;
}

/** A piece of the files, with the way to it. */
export interface Piece {
  readonly file: string;
  readonly folder: string;
  readonly steps: readonly string[];
  readonly body: JsonObject;
  /** Of the construct that made it. */
  readonly construct?: string;
}

export type Place = Pick<Piece, 'file' | 'steps' | 'construct'>;

export interface Resource extends Piece {
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  /** `gantry_network.web`, `data.gantry_network.lan`; of a module `module.net.gantry_network.web`. */
  readonly address: string;
  /** Of a data source inside of a check block: what cannot be read is a warning. */
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

/** Of one module: of the root, or of what a module block calls. */
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
  /** What was left out on purpose, for a notice. */
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

/** `provider` and `depends_on` take names as they are, or as the only thing in a template. */
export const bareName = (text: string): string => text.trim().replace(/^\$\{\s*(.*?)\s*\}$/, '$1');

/** Arguments of any resource that are about Terraform, not about the object. */
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

/** The same of a module block. */
export const moduleArguments: ReadonlySet<string> = new Set([
  '//',
  'source',
  'version',
  'count',
  'for_each',
  'depends_on',
  'providers',
]);

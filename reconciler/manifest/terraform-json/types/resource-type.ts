// The interface of resource types: they turn arguments into documents, or into parts of a container's document. resource-types.ts
// lists the types.
import type { KindName } from '../../../../server/api/kinds.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { ReferableType } from '../evaluation/instance.ts';
import type { ProviderSettings } from '../provider-blocks.ts';

/** Plain arguments of one resource instance; null where nothing is written. */
export type Arguments = JsonObject;

/** An argument that documents cannot express, by its path. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
  readonly argument: string;
  constructor(argument: string, message: string) {
    super(message);
    this.argument = argument;
  }
}

export interface ObjectType extends ReferableType {
  readonly kind: KindName;
  /** Keys of the document other than `kind` and `manage`. Throws ArgumentError. */
  readonly document: (args: Arguments, resourceName: string, settings: ProviderSettings) => JsonObject;
  readonly manage?: (args: Arguments) => JsonObject;
  /** Document paths that are written elsewhere in the resource. */
  readonly writtenAs?: (args: Arguments) => Readonly<Record<string, string>>;
}

/** A part of a container or volume: an entry of a list in its document. */
export interface PartType extends ReferableType {
  readonly partOf: 'files' | 'exec' | 'snapshots';
  /** The argument that names the container; `container` when left out. */
  readonly holder?: string;
  /** A part of a volume: its pool is the argument `pool`. */
  readonly isOfVolume?: true;
  /** Throws ArgumentError. */
  readonly entry: (args: Arguments, resourceName: string) => JsonObject;
}

export type ResourceType = ObjectType | PartType;

export const isPart = (type: ResourceType): type is PartType => 'partOf' in type;

/** The arguments that are keys of the document too. */
export const same =
  (...names: readonly string[]) =>
  (args: Arguments): JsonObject =>
    Object.fromEntries(names.flatMap((name) => (isSet(args[name]) ? [[name, args[name]] as const] : [])));

export const isSet = (value: Json | undefined): value is Exclude<Json, null> => value !== undefined && value !== null;

/** For messages. */
export const wordOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

/** `web["a/b"]` -> `web-a-b`. */
export function commandName(address: string): string {
  const name = address.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replace(/-$/, '');
  return /^[A-Za-z]/.test(name) ? name : `run-${name}`;
}

export const objects = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : isMap(value) ? [value] : []).filter(isMap);

export const withoutNull = (map: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));

/** The rules of a network ACL: Terraform's arguments leave the state out, documents have it. */
export const rulesOf = (args: Arguments): JsonObject =>
  Object.fromEntries(
    ['ingress', 'egress'].flatMap((name) =>
      isSet(args[name])
        ? [[name, objects(args[name]).map((rule) => ({ state: 'enabled', ...withoutNull(rule) }))] as const]
        : [],
    ),
  );

export function configOf(args: Arguments, more: JsonObject): JsonObject {
  const config = { ...(isMap(args['config']) ? args['config'] : {}), ...more };
  return Object.keys(config).length === 0 ? {} : { config };
}

/** Refuses these arguments when they have a value. */
export function refuse(args: Arguments, reasons: Readonly<Record<string, string>>): void {
  for (const [name, reason] of Object.entries(reasons)) {
    const value = args[name];
    const isEmpty = !isSet(value) || (typeof value === 'object' && Object.keys(value).length === 0);
    if (!isEmpty) throw new ArgumentError(name, `${name}: ${reason}`);
  }
}

// Documents written in TypeScript: typed, with checked references, printed as the YAML that gantry reads. Applies nothing.
import type { KindTypes } from '../../server/api/kind-schemas.ts';
import { kindNames, type KindName } from '../../server/api/kinds.ts';
import type { JsonObject } from '../core/documents/document.ts';
import { exactYaml } from './text/yaml-text.ts';
import { scopedName } from '../core/text/scoped-name.ts';

type Text = string | number | boolean;
/** A value, the source of a secret, or null when the key must be absent. */
type Value =
  | Text
  | { readonly from_env: string }
  | { readonly from_file: string }
  | { readonly from_sops: string }
  | { readonly from_vault: string }
  | null;
type Config = Readonly<Record<string, Value>>;
type Devices = Readonly<Record<string, Readonly<Record<string, Value | Named>> | null>>;

/** `manage:` of a document, as a manifest has it. */
export type ManageBlock = JsonObject;

/** A declared object; it can be used wherever its name is expected. */
export interface Named {
  readonly kind: KindName;
  readonly name: string;
}
type Ref<K extends KindName> = string | (Named & { readonly kind: K });

interface Common {
  readonly description?: string;
  readonly labels?: Readonly<Record<string, Text>>;
  readonly manage?: ManageBlock;
}

/** Options of objects that can be in a project. */
interface Scoped extends Common {
  readonly project?: Ref<'project'>;
}

/** Config of single members of a cluster. */
interface OnMembers {
  readonly member_overrides?: Readonly<Record<string, { readonly config: Config }>>;
}

interface WithConfig {
  readonly config?: Config;
}

/** The options of each kind; a kind that is missing here takes the members of its creation. */
interface Specs {
  readonly certificate: Common & { readonly certificate: string };
  readonly project: Common & WithConfig;
  readonly storage_pool: Common & OnMembers & WithConfig & { readonly driver: string };
  readonly storage_volume: Scoped & WithConfig & { readonly pool: Ref<'storage_pool'> };
  readonly network: Scoped & OnMembers & WithConfig & { readonly type?: string };
  readonly profile: Scoped & WithConfig & { readonly devices?: Devices };
  readonly image: Scoped &
    (
      | { readonly file: string }
      | { readonly metadata: string; readonly rootfs: string }
      | { readonly source: JsonObject; readonly auto_update?: boolean }
    ) & { readonly aliases?: readonly string[]; readonly public?: boolean; readonly properties?: Config };
  readonly container: ContainerSpec;
}

/** Texts may be references to objects of the stack. */
type Referring<T> = { readonly [K in keyof T]: string extends T[K] ? T[K] | Named : T[K] };
type SpecOf<K extends KindName> = K extends keyof Specs
  ? Specs[K]
  : Omit<Scoped, 'description'> & Referring<Omit<KindTypes[K]['create'], 'name'>>;

type Camel<T extends string> = T extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : T;
type Declare<K extends KindName> = K extends 'server_config'
  ? (config: Config) => void
  : object extends SpecOf<K>
    ? (name: string, spec?: SpecOf<K>) => Named & { readonly kind: K }
    : (name: string, spec: SpecOf<K>) => Named & { readonly kind: K };

/** A method for each kind: `storagePool(name, spec)`, `container(name, spec)`. */
export type Stack = { readonly [K in KindName as Camel<K>]: Declare<K> };

export interface ContainerSpec extends Scoped {
  /** In a cluster: the member that creates it. */
  readonly target?: string;
  /** An alias or an image of the stack, or a source in the form of the API. */
  readonly source: Ref<'image_alias'> | Ref<'image'> | JsonObject;
  readonly profiles?: readonly Ref<'profile'>[];
  readonly config?: Config;
  readonly devices?: Devices;
  readonly ephemeral?: boolean;
  readonly architecture?: string;
  readonly state?: 'running' | 'stopped';
  readonly files?: readonly FileSpec[];
  readonly exec?: readonly ExecSpec[];
  readonly snapshots?: readonly SnapshotSpec[] | SnapshotPolicy;
}

interface Owner {
  /** Octal text: `0644`. */
  readonly mode?: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** An entry inside, at an absolute path. */
export type FileSpec = { readonly path: string } & (
  | (Owner & { readonly content: Exclude<Value, null> })
  | (Owner & { readonly content_base64: string })
  /** A local file or directory, relative to the folder of the manifest. */
  | (Owner & { readonly source: string })
  | (Owner & { readonly type: 'directory' })
  | { readonly target: string }
);

/** List: command and arguments. Text: for `/bin/sh -c`. */
type Command = string | readonly Text[];

export interface ExecSpec {
  readonly name: string;
  readonly command: Command;
  readonly environment?: Config;
  readonly cwd?: string;
  readonly user?: number;
  readonly group?: number;
  readonly once?: boolean;
  readonly on_change?: readonly string[];
  readonly on_start?: boolean;
  /** The command runs again when one of these changes. */
  readonly triggers?: Config;
  readonly unless?: Command;
  readonly creates?: string;
  readonly exit_code?: number | readonly number[] | 'any';
  readonly timeout?: string | number;
}

export interface SnapshotSpec {
  readonly name: string;
  readonly description?: string;
  readonly expires_at?: string;
  readonly stateful?: boolean;
}

export interface SnapshotPolicy {
  readonly schedule?: string;
  readonly pattern?: string;
  readonly expiry?: string;
  readonly stopped?: boolean;
  readonly named?: readonly SnapshotSpec[];
}

export interface Documents {
  /** Flat documents, in the order in which they were declared. */
  readonly documents: readonly JsonObject[];
  /** The manifest: pipe it into `gantry apply -f -`. */
  toYaml(): string;
}

/** Throws when a name is declared twice. */
export function defineStack(define: (stack: Stack) => void): Documents {
  const documents: JsonObject[] = [];
  const seen = new Set<string>();
  function add(kind: KindName, name: string, spec: object): Named {
    const pool = (spec as { readonly pool?: string | Named }).pool;
    const scope = (spec as { readonly project?: string | Named }).project;
    const path = `${kind}/${pool === undefined ? '' : `${nameOf(pool)}/`}${name}`;
    const address = scopedName(path, scope === undefined ? undefined : nameOf(scope));
    if (seen.has(address)) throw new Error(`${address} is declared twice`);
    seen.add(address);
    const named = kind === 'server_config' ? {} : { name };
    documents.push({ kind, ...named, ...(plain(spec) as JsonObject) });
    return { kind, name };
  }
  const methods = kindNames.map((kind) => {
    const declare = (name: string, spec: object = {}): Named =>
      add(kind, name, kind === 'container' ? made(spec) : spec);
    return [camel(kind), kind === 'server_config' ? (config: Config) => void add(kind, 'server', { config }) : declare];
  });
  define(Object.fromEntries(methods) as Stack);
  return { documents, toYaml: () => documents.map((document) => exactYaml(document)).join('---\n') };
}

const isNamed = (value: object): value is Named =>
  'kind' in value && 'name' in value && Object.keys(value).length === 2;
const nameOf = (value: string | Named): string => (typeof value === 'string' ? value : value.name);

const camel = (kind: string): string => kind.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const made = (spec: object): object => ({ ...spec, source: sourceOf((spec as ContainerSpec).source) });

function sourceOf(source: ContainerSpec['source']): JsonObject {
  if (typeof source === 'string') return { type: 'image', alias: source };
  if (!isNamed(source)) return source;
  return source.kind === 'image' ? { type: 'image', fingerprint: source.name } : { type: 'image', alias: source.name };
}

/** Replaces declared objects by their names; drops undefined members. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  if (isNamed(value)) return value.name;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, plain(item)] as const])),
  );
}

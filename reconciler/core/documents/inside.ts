// The inside of a container in a document: files, commands and snapshots, in the form that plans read. The manifest room reads them,
// the engine applies them.
import { posix } from '../text/posix-paths.ts';
import type { Json, JsonObject } from './json.ts';
import { isMap, mapOf } from './json-values.ts';

/** The source of a file's bytes. The document stores it separately: its values hold only the hash. */
export type Content =
  | { readonly text: string }
  | { readonly base64: string }
  /** A local file, by its absolute path. */
  | { readonly file: string };

/** By path inside. */
export type Contents = Readonly<Record<string, Content>>;

/**
 * One entry under `values.files`; live entries have the same form. Only the written attributes of a directory are compared.
 * `content`: `sha256:` and 64 hexadecimal digits. `mode`: octal with a leading zero.
 */
export type FileEntry = {
  readonly type: 'file' | 'directory' | 'symlink';
  readonly content?: string;
  readonly target?: string;
  readonly mode?: string;
  readonly uid?: number;
  readonly gid?: number;
};

/** One entry under `values.exec`, which keeps the order in which commands run. */
export interface ExecSpec {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: number;
  readonly group?: number;
  readonly once?: boolean;
  readonly on_change?: readonly string[];
  readonly on_start?: boolean;
  /** Any texts: the command runs again when one changes. */
  readonly triggers?: Readonly<Record<string, string>>;
  /** Another command: when it exits with 0, this one is skipped. */
  readonly unless?: readonly string[];
  /** The command is skipped when this path exists. */
  readonly creates?: string;
  /** Absent: 0. Empty: any. */
  readonly exit_codes?: readonly number[];
  readonly timeout_ms: number;
}

/** One entry under `values.snapshots`. */
export interface SnapshotSpec {
  readonly description?: string;
  /** RFC 3339 in UTC, with milliseconds. */
  readonly expires_at?: string;
  readonly stateful?: boolean;
}

/** The attributes of an existing snapshot that follow its document. Sorted. */
export const snapshotFields = ['description', 'expires_at'] as const;

/** Members of a container's values that only gantry knows. */
export const insideFields = ['files', 'exec', 'snapshots'] as const;
export const isInside = (segments: readonly string[]): boolean => insideFields.some((field) => field === segments[0]);

export const filesIn = (values: JsonObject): Readonly<Record<string, FileEntry>> =>
  mapOf(values['files']) as Readonly<Record<string, FileEntry>>;
export const execsIn = (values: JsonObject): readonly (readonly [string, ExecSpec])[] =>
  Object.entries(mapOf(values['exec']) as unknown as Readonly<Record<string, ExecSpec>>);
export const snapshotsIn = (values: JsonObject): readonly (readonly [string, SnapshotSpec])[] =>
  Object.entries(mapOf(values['snapshots']) as unknown as Readonly<Record<string, SnapshotSpec>>);

/** `config.limits.memory`, `files["/etc/motd"].mode`, `exec["setup"]`. */
export function pathText(segments: readonly string[]): string {
  if (!isInside(segments) || segments.length < 2) return segments.join('.');
  const [field = '', name = '', ...rest] = segments;
  return [`${field}[${JSON.stringify(name)}]`, ...rest].join('.');
}

/** The text that an owner's record hashes: all attributes of a file, only the type of a directory. */
export function fileIdentity(entry: Json | undefined): string {
  if (!isMap(entry)) return '';
  const { type, content, target, mode, uid, gid } = entry as Partial<FileEntry>;
  if (type === 'file') return `file ${content} ${mode} ${uid} ${gid}`;
  return type === 'symlink' ? `symlink ${target}` : (type ?? '');
}

/** The values that a command's `on_change` names: a path inside with all paths below it, or dotted keys of the document. */
export function triggerOf(values: JsonObject, name: string): Json {
  if (!name.startsWith('/')) {
    const [field = '', ...rest] = name.split('.');
    const value = values[field];
    return rest.length === 0 ? (value ?? null) : (mapOf(value)[rest.join('.')] ?? null);
  }
  return Object.entries(filesIn(values)).filter(([path]) => posix.isWithin(path, name));
}

/** True when `on_change` names the change. */
export function isTriggeredBy(name: string, segments: readonly string[]): boolean {
  if (name.startsWith('/')) return segments[0] === 'files' && posix.isWithin(segments[1] ?? '', name);
  const path = segments.join('.');
  return path === name || path.startsWith(`${name}.`);
}

/** A file, directory, link, command or snapshot as readable text; undefined for values without a special form. */
export function shownInside(segments: readonly string[], value: Json, isSecret: boolean): string | undefined {
  const [field, , member] = segments;
  if (field === 'exec') return !isSecret && typeof value === 'string' ? value : undefined;
  if (field !== 'files') return undefined;
  if (member !== undefined) return isSecret ? undefined : shortHash(value);
  const { type, content, target, mode, uid, gid } = mapOf(value) as Partial<FileEntry>;
  const parts = [
    type === 'file'
      ? `file ${isSecret ? '(secret)' : (shortHash(content) ?? '')}`
      : type === 'symlink'
        ? `link to ${target}`
        : type,
    mode === undefined ? '' : `mode ${mode}`,
    uid === undefined && gid === undefined ? '' : `owner ${uid ?? ''}:${gid ?? ''}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

const shortHash = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value.startsWith('sha256:') ? value.slice(0, 'sha256:'.length + 12) : undefined;

/** A command line as a user would type it, where that is unambiguous. */
export const shownCommand = (words: readonly string[]): string =>
  words.length === 3 && words[0] === '/bin/sh' && words[1] === '-c'
    ? (words[2] ?? '')
    : words.map((word) => (/^[\w./:=@%+,()-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');

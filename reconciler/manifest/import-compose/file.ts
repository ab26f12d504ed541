// One compose file during its import: its values, the names made of it, and notes about parts that are not converted.
import type { JsonObject } from '../../core/documents/document.ts';
import { mapOf } from '../../core/documents/json-values.ts';
import { Names } from './names.ts';

export interface ImportNote {
  readonly line: number;
  readonly text: string;
}

/** What the server has for the containers. */
export interface ServerParts {
  /** Its volumes are there. Absent: `default`. */
  readonly pool?: string | undefined;
  /** Has the root disk, and the nic of services without networks. Absent: that of a document without `profiles`. */
  readonly profile?: string | undefined;
}

export class ComposeFile {
  readonly root: JsonObject;
  readonly pool: string;
  /** The profiles of each container; empty: those that the server gives one. */
  readonly profiles: readonly string[];
  /** Where the file is; relative paths in it begin there. */
  readonly folder: string;
  readonly notes: ImportNote[] = [];
  /** Volumes that services mount, by their compose names. */
  readonly mounted = new Set<string>();
  /** Addresses that an earlier service listens at. */
  readonly listened = new Set<string>();
  readonly containers = new Names(63);
  readonly volumes = new Names(63);
  /** A network is an interface of the host, whose name has 2 to 15 characters. */
  readonly networks = new Names(15, 2);
  readonly #noted = new Set<string>();
  readonly #lineAt: (path: readonly string[]) => number;

  constructor(
    root: JsonObject,
    folder: string,
    lineAt: (path: readonly string[]) => number,
    { pool = 'default', profile }: ServerParts,
  ) {
    this.root = root;
    this.pool = pool;
    this.profiles = profile === undefined ? [] : [profile];
    this.folder = folder;
    this.#lineAt = lineAt;
  }

  section(name: string): JsonObject {
    return mapOf(this.root[name]);
  }

  note(path: readonly string[], text: string): void {
    const line = this.#lineAt(path);
    if (this.#noted.has(`${line} ${text}`)) return;
    this.#noted.add(`${line} ${text}`);
    this.notes.push({ line, text });
  }

  /** Notes that the part at this path is not converted. */
  lost(path: readonly string[], remedy = 'there is nothing like it'): void {
    this.note(path, `${path.join('.')} does not move: ${remedy}`);
  }
}

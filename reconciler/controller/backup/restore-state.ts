// Restores the state directory of a controller from a backup, atomically. The newest revision in the backup may be outdated, so
// each set begins with that of its source.
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { SetState } from '../decide/set-state.ts';
import { backupFormat, backupVersion, type BackupHead, type BackupPart } from './backup-format.ts';
import { sha256 } from './backup-state.ts';
import { makeFolder } from '../../../server/lib/shared/make-folder.ts';

export interface RestoreResult {
  readonly at: string;
  readonly files: number;
  /** Sets with a rollback in force, at the time of the backup and again now. */
  readonly held: readonly string[];
}

/** Rejects without changes if the backup is damaged, newer or of another controller, or if there is state already. */
export async function restoreState(file: string, stateDir: string, controller: string): Promise<RestoreResult> {
  const there = await readdir(stateDir).catch(() => []);
  if (there.length > 0)
    throw new Error(`${stateDir} is not empty: stop the controller, move the directory away, and restore again`);
  const parent = dirname(stateDir);
  await makeFolder(parent, 0o700);
  const begin = `${basename(stateDir)}.restore-`;
  // Removes the rest of an interrupted attempt.
  for (const name of await readdir(parent))
    if (name.startsWith(begin)) await rm(join(parent, name), { recursive: true });
  const folder = join(parent, `${begin}${process.pid}`);
  await mkdir(folder, { mode: 0o700 });
  try {
    const restored = await unpack(file, folder, controller);
    await rename(folder, stateDir);
    return restored;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function unpack(file: string, folder: string, controller: string): Promise<RestoreResult> {
  const damaged = (why: string): Error => new Error(`${file} cannot be restored: ${why}`);
  let head: BackupHead | undefined;
  let isWhole = false;
  let files = 0;
  const held: string[] = [];
  for await (const line of linesIn(file, damaged)) {
    const value = parsed(line, damaged);
    if (head === undefined) {
      head = headOf(value, controller, damaged);
      continue;
    }
    if ('files' in value) {
      isWhole = value['files'] === files;
      continue;
    }
    const { path, data } = partOf(value, damaged);
    const set = /^sets\/([^/]+)\/state\.json$/.exec(path)?.[1];
    const state = set === undefined ? undefined : (JSON.parse(data.toString('utf8')) as SetState);
    if (set !== undefined && state?.pin !== undefined) held.push(set);
    const text = state === undefined ? data : `${JSON.stringify(withoutCurrent(state))}\n`;
    await makeFolder(dirname(join(folder, path)), 0o700);
    await writeFile(join(folder, path), text, { mode: 0o600, flush: true });
    files += 1;
  }
  if (head === undefined || !isWhole) throw damaged('its end is missing');
  return { at: head.at, files, held };
}

async function* linesIn(file: string, damaged: (why: string) => Error): AsyncGenerator<string, void, void> {
  const input = createReadStream(file);
  const unzipped = createGunzip();
  input.on('error', (error) => unzipped.destroy(error));
  try {
    yield* createInterface({ input: input.pipe(unzipped), crlfDelay: Infinity });
  } catch (error) {
    throw damaged(reasonOf(error));
  } finally {
    input.destroy();
    unzipped.destroy();
  }
}

function parsed(line: string, damaged: (why: string) => Error): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Readonly<Record<string, unknown>>;
  } catch {
    throw damaged('it is no backup of a controller');
  }
}

function headOf(
  value: Readonly<Record<string, unknown>>,
  controller: string,
  damaged: (why: string) => Error,
): BackupHead {
  const head = value as unknown as BackupHead;
  if (head.format !== backupFormat) throw damaged('it is no backup of a controller');
  if (head.version > backupVersion)
    throw damaged(`Gantry ${head.gantry} made it, which is newer: restore it with that version or a later one`);
  if (head.controller !== controller)
    throw damaged(`it is of the controller ${head.controller}, and gantry.yaml is that of ${controller}`);
  return head;
}

function partOf(value: Readonly<Record<string, unknown>>, damaged: (why: string) => Error) {
  const { path, sha256: digest, data } = value as Readonly<Partial<Record<keyof BackupPart, unknown>>>;
  if (
    typeof path !== 'string' ||
    !/^[\w.@+-]+(\/[\w.@+-]+)*$/.test(path) ||
    path.split('/').some((one) => /^\.+$/.test(one))
  )
    throw damaged(`it has a file ${JSON.stringify(path)}`);
  const bytes = Buffer.from(typeof data === 'string' ? data : '', 'base64');
  if (sha256(bytes) !== digest) throw damaged(`${path} in it is damaged`);
  return { path, data: bytes };
}

/** Keeps the revisions for a rollback; hosts keep theirs until the source reports the newest. */
function withoutCurrent({ current, ...state }: SetState): SetState {
  return current === undefined ? state : { ...state, earlier: [current, ...state.earlier] };
}

// Copies the state of a running controller into one file: suspensions, history, audit log, revisions of hosts. Checkouts are fetched again.
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createGzip } from 'node:zlib';
import { replaceWhole } from '../../../server/lib/durable-files.ts';
import { ifMissing } from '../../../server/lib/shared/missing-files.ts';
import { version } from '../../../server/api/version.ts';
import { backupFormat, backupVersion, type BackupHead, type BackupPart } from './backup-format.ts';

/** Sources are fetched again; journals only concern running processes. */
const leftOut: ReadonlySet<string> = new Set(['sources', 'hosts']);
/** Some six seconds. */
const maxTries = 50;

interface StateCopy {
  readonly path: string;
  readonly data: Buffer;
}

/** Returns the count of files. Rejects without state, or if the state never stops changing. */
export async function backupState(stateDir: string, controller: string, file: string, at: string): Promise<number> {
  const copies = await copyOf(stateDir);
  if (copies.length === 0) throw new Error(`${stateDir} has no state of a controller`);
  const head: BackupHead = { format: backupFormat, version: backupVersion, controller, at, gantry: version };
  const zipped = Readable.from(linesOf(head, copies)).pipe(createGzip());
  await replaceWhole(file, zipped, { isPrivate: true });
  return copies.length;
}

function* linesOf(head: BackupHead, copies: readonly StateCopy[]): Generator<string, void, void> {
  yield `${JSON.stringify(head)}\n`;
  for (const { path, data } of copies) {
    const part: BackupPart = { path, sha256: sha256(data), data: data.toString('base64') };
    yield `${JSON.stringify(part)}\n`;
  }
  yield `${JSON.stringify({ files: copies.length })}\n`;
}

export const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

/** Copies a consistent state. Append-only logs are read after it, since reading long logs would take too long for one snapshot. */
async function copyOf(stateDir: string): Promise<readonly StateCopy[]> {
  const state = await readUnchanged(stateDir, (path) => isWhole(path), factsOfState);
  // A log that is truncated or rotated during the copy would be copied twice or not at all.
  const logs = await readUnchanged(
    stateDir,
    (path) => !isWhole(path),
    ({ ino }) => String(ino),
  );
  // Leaves out an incomplete last line.
  return [...state, ...logs.map(({ path, data }) => ({ path, data: data.subarray(0, data.lastIndexOf(0x0a) + 1) }))];
}

type Facts = (found: BigIntStats) => string;

const isWhole = (path: string): boolean => path.endsWith('.json');
const factsOfState: Facts = ({ ino, mtimeNs, size }) => `${ino} ${mtimeNs} ${size}`;

/** Repeats the read until none of these files was replaced during it. */
async function readUnchanged(
  stateDir: string,
  isMeant: (path: string) => boolean,
  facts: Facts,
): Promise<readonly StateCopy[]> {
  const look = () => factsBelow(stateDir, isMeant, facts);
  for (let attempt = 0; attempt < maxTries; attempt += 1) {
    await setTimeout(attempt * 5);
    const before = await look();
    const copies = await read(stateDir, [...before.keys()]).catch(ifMissing);
    if (copies !== undefined && isDeepStrictEqual(await look(), before)) return copies;
  }
  throw new Error(`the state in ${stateDir} keeps changing: try again when the controller has less to do`);
}

async function read(stateDir: string, paths: readonly string[]): Promise<readonly StateCopy[]> {
  const copies: StateCopy[] = [];
  for (const path of paths) copies.push({ path, data: await readFile(join(stateDir, path)) });
  return copies;
}

async function factsBelow(
  stateDir: string,
  isMeant: (path: string) => boolean,
  facts: Facts,
): Promise<ReadonlyMap<string, string>> {
  const paths = (await filesBelow(stateDir, stateDir)).filter(isMeant);
  const found = await Promise.all(paths.map((path) => stat(join(stateDir, path), { bigint: true }).catch(ifMissing)));
  return new Map(paths.map((path, at) => [path, found[at] === undefined ? '' : facts(found[at])]));
}

async function filesBelow(folder: string, stateDir: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => ifMissing(error) ?? []);
  const found: string[] = [];
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !(folder === stateDir && leftOut.has(entry.name)))
      found.push(...(await filesBelow(path, stateDir)));
    if (entry.isFile() && !entry.name.endsWith('.new')) found.push(relative(stateDir, path));
  }
  return found;
}

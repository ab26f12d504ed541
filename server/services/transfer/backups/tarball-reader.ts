// Reads the archive of a client's backup: its index, and whether all of it is safe and complete. Nothing in it is trusted.
import { DriverError, driverErrors } from '../../../drivers/driver-error.ts';
import { withTar } from '../../../drivers/image/archive.ts';
import { createEntryCheck, type EntryCheck, type EntryLimits } from '../../../drivers/image/check-entries.ts';
import { detectFormat } from '../../../drivers/image/format.ts';
import { ProgramError } from '../../../drivers/image/run-program.ts';
import { shownName } from '../../../drivers/image/tar-header.ts';
import { readTar, type TarMember } from '../../../drivers/image/tar-reader.ts';
import { errors } from '../../../api/errors.ts';
import { onlyListed, parseBackupYaml, parseIndex, type BackupIndex, type SavedParts } from './index-yaml.ts';
import { layouts, prefixOf, sectionOf, type Section } from './layout.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

const maxTextBytes = 8 * 1024 * 1024;
/** Beyond the content of files: headers, padding and the end of the archive. */
const overheadBytes = 64 * 1024 * 1024;
const overheadOfEntry = 4096;
/** The index comes first; in archives of others a few members may precede it. */
const indexWithin = 8;

/** Reads only up to the index. Throws AppError or DriverError Invalid. */
export async function readIndex(path: string, signal: AbortSignal): Promise<BackupIndex> {
  return eachMember(
    path,
    () => Number.MAX_SAFE_INTEGER,
    signal,
    async (members) => {
      let count = 0;
      for await (const member of members) {
        if (member.name === 'backup/index.yaml') return parseIndex(await textOf(member));
        count += 1;
        if (count >= indexWithin || !member.name.startsWith('backup')) break;
      }
      throw errors.badRequest('The upload is not a backup: it does not begin with backup/index.yaml');
    },
  );
}

export interface BackupLimits extends EntryLimits {
  /** The same for a single part. */
  readonly partBytes?: number | undefined;
}

/** Inspects the whole archive. Resolves to the description of container and snapshots. */
export async function inspectBackup(
  path: string,
  index: BackupIndex,
  limits: BackupLimits,
  signal: AbortSignal,
): Promise<SavedParts> {
  const backupYaml = await inspectFiles(path, index, limits, signal);
  const parts = index.parts ?? (backupYaml === undefined ? undefined : await parseBackupYaml(backupYaml));
  if (parts === undefined) throw invalid('it has no description of the container: no config in backup/index.yaml');
  checkSnapshotNames(index, parts.snapshots);
  return onlyListed(parts, index.snapshots);
}

/** The same for a backup without a description beside its files. Resolves to the text beside a container's files: old releases have it only
 *  there. */
export async function inspectFiles(
  path: string,
  index: BackupIndex,
  limits: BackupLimits,
  signal: AbortSignal,
): Promise<string | undefined> {
  let entries = 0;
  const allowed = (): number => limits.bytes + overheadBytes + entries * overheadOfEntry;
  return eachMember(path, allowed, signal, async (members) => {
    const look = createLook(index, limits);
    for await (const member of members) {
      entries += 1;
      await look.add(member);
    }
    return look.finish();
  });
}

function createLook(index: BackupIndex, limits: BackupLimits) {
  const done = new Set<string>();
  let current: { readonly section: Section; readonly check: EntryCheck } | undefined;
  let backupYaml: string | undefined;
  let bytesLeft = limits.bytes;
  let entriesLeft = limits.entries;
  // Each part is checked separately, but they share the available room.
  const shared: EntryLimits = {
    get bytes() {
      return Math.min(bytesLeft, limits.partBytes ?? bytesLeft);
    },
    get entries() {
      return entriesLeft;
    },
    ...withoutUndefined({ in: limits.in }),
  };

  function close(): void {
    if (current === undefined) return;
    if (!index.optimized) {
      const { bytes, entries } = current.check.finish();
      [bytesLeft, entriesLeft] = [bytesLeft - bytes, entriesLeft - entries];
    }
    done.add(current.section.prefix);
    current = undefined;
  }

  function enter(section: Section): NonNullable<typeof current> {
    if (current?.section.prefix === section.prefix) return current;
    close();
    if (done.has(section.prefix)) throw invalid(`the members of ${section.prefix} are not together`);
    current = { section, check: createEntryCheck(index.type === 'custom' ? 'files' : 'volume', shared) };
    return current;
  }

  return {
    async add(member: TarMember): Promise<void> {
      const section = sectionOf(member.name, index);
      if (section === undefined) return checkOther(member, index);
      const part = enter(section);
      const entry = inSection(member, section);
      if (index.optimized) {
        if (member.kind !== 'file') throw invalid(`${shownName(member.name)} is a ${member.kind}`);
        if (member.size > bytesLeft) throw noSpace(member.name, limits.in);
        bytesLeft -= member.size;
        return;
      }
      const path = part.check.add(entry);
      if (path === '' && member.kind !== 'directory') throw invalid(`${shownName(member.name)} is a ${member.kind}`);
      if (
        index.type === 'container' &&
        path === 'backup.yaml' &&
        section.snapshot === undefined &&
        member.kind === 'file'
      )
        backupYaml = await textOf(member);
    },
    finish(): string | undefined {
      close();
      checkComplete(index, done);
      return backupYaml;
    },
  };
}

/** Index and files must name the same snapshots. */
function checkComplete(index: BackupIndex, done: ReadonlySet<string>): void {
  const itself = prefixOf(index.type, undefined);
  if (!done.has(itself)) throw invalid(`it has no ${itself}${index.optimized ? '.bin' : ''}`);
  const known = new Set(index.snapshots.map((name) => prefixOf(index.type, name)));
  for (const name of index.snapshots)
    if (!done.has(prefixOf(index.type, name))) throw invalid(`the files of the snapshot ${name} are missing`);
  for (const prefix of done)
    if (prefix !== itself && !known.has(prefix)) throw invalid(`${prefix} is not in its list of snapshots`);
}

/** The description must contain all snapshots. */
export function checkSnapshotNames(index: BackupIndex, expected: readonly { readonly name: string }[]): void {
  const silent = index.snapshots.find((name) => !expected.some((one) => one.name === name));
  if (silent !== undefined) throw invalid(`the snapshot ${silent} has no description`);
}

function checkOther(member: TarMember, index: BackupIndex): void {
  const plain = ['backup/index.yaml', 'backup/optimized_header.yaml'];
  const folders = ['backup', layouts[index.type].snapshots];
  const name = member.name.replace(/\/$/, '');
  if (plain.includes(name) && member.kind === 'file') return;
  if (folders.includes(name) && member.kind === 'directory') return;
  const isNested = index.optimized && /^backup\/(?:container|volume|(?:volume-)?snapshots\/[^/]+)_.+\.bin$/.test(name);
  throw invalid(
    isNested
      ? 'it has btrfs subvolumes of its own; export it without optimized storage'
      : `${shownName(member.name)} is no part of a backup`,
  );
}

function inSection(member: TarMember, { prefix }: Section): TarMember {
  const own = `.${member.name.slice(prefix.length)}`;
  if (member.kind !== 'hard link') return { ...member, name: own };
  if (!member.link.startsWith(`${prefix}/`))
    throw invalid(`hard link ${shownName(member.name)} leads to ${shownName(member.link)}, outside of its part`);
  return { ...member, name: own, link: `.${member.link.slice(prefix.length)}` };
}

export async function eachMember<T>(
  path: string,
  allowed: () => number,
  signal: AbortSignal,
  use: (members: AsyncGenerator<TarMember>) => Promise<T>,
): Promise<T> {
  try {
    const format = await detectFormat(path, 'tarball');
    if (format === 'squashfs') throw invalid('it is a squashfs, not a tarball');
    return await withTar(path, format, signal, ({ bytes }) => use(readTar(bytes, allowed)));
  } catch (error) {
    signal.throwIfAborted();
    throw inBackupWords(error);
  }
}

/** The archive reader's messages say image. */
function inBackupWords(error: unknown): unknown {
  if (!(error instanceof DriverError)) return error;
  const message = error.message.replaceAll('the image', 'the backup');
  // If a program cannot unpack the file, the file is damaged.
  const code = error.code === 'Failed' && error instanceof ProgramError ? 'Invalid' : error.code;
  return new DriverError(code, message, error.cause);
}

async function textOf(member: TarMember): Promise<string> {
  if (member.kind !== 'file' || member.size > maxTextBytes)
    throw invalid(`${shownName(member.name)} is a ${member.kind} of ${member.size} bytes`);
  return (await member.read()).toString('utf8');
}

const invalid = (why: string): DriverError => driverErrors.invalid(`cannot accept the backup: ${why}`);
const noSpace = (name: string, where = 'the pool'): DriverError =>
  driverErrors.noSpace(`cannot accept the backup: there is no room for ${shownName(name)} in ${where}`);

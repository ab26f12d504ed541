// Checks the members of an image one by one: none outside, none through links, no more than fits. Pure.
import { type DriverError, driverErrors } from '../driver-error.ts';
import type { ArchiveEntry, EntryKind } from './entry.ts';
import { shownName } from './tar-header.ts';

export interface EntryLimits {
  readonly bytes: number;
  readonly entries: number;
  /** Words for errors: where the room is, such as `pool default`. */
  readonly in?: string;
}

/** `unified`: everything in one archive; `metadata` and `rootfs`: the two archives of a split image; `volume`: a container's volume, which
 *  may lack metadata and may have device nodes; `files`: a custom volume's files, in any order. */
export type ArchiveRole = 'unified' | 'metadata' | 'rootfs' | 'volume' | 'files';

/** The caller checks the device nodes of a backup. */
const isBackup = (role: ArchiveRole): boolean => role === 'volume' || role === 'files';

export interface EntryTotals {
  readonly entries: number;
  readonly bytes: number;
}

export interface EntryCheck {
  /** Throws Invalid or NoSpace naming the entry. Returns its path without `./` and the like; '' is the root. */
  add(entry: ArchiveEntry): string;
  /** Throws Invalid if a part is missing. */
  finish(): EntryTotals;
}

/** Device nodes are never unpacked: the guest could use them on the host. */
const maxDevices = 10_000;
/** Linux's limit; each directory in the path costs time. */
const maxPathBytes = 4096;

export function createEntryCheck(role: ArchiveRole, limits: EntryLimits): EntryCheck {
  const seen = new Map<string, EntryKind>();
  /** By path: symbolic links that would replace a later member. */
  const lateLinks = new Map<string, string>();
  let [entries, bytes, devices] = [0, 0, 0];
  const where = limits.in === undefined ? '' : ` in ${limits.in}`;

  function checkRoom(entry: ArchiveEntry): void {
    entries += 1;
    bytes += entry.size;
    if (entries > limits.entries)
      throw driverErrors.noSpace(
        `the image has more than ${limits.entries} entries, which is more than there is room for${where}`,
      );
    if (bytes > limits.bytes)
      throw driverErrors.noSpace(
        `${shownName(entry.name)} of ${entry.size} bytes brings the image to ${bytes} bytes; there is room for ${limits.bytes}${where}`,
      );
  }

  /** Parents become directories, if only because they contain something. */
  function checkParents(path: string, name: string): void {
    for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
      const parent = path.slice(0, slash);
      const kind = seen.get(parent);
      if (kind === undefined) seen.set(parent, 'directory');
      else if (kind !== 'directory')
        throw invalid(`${shownName(name)} passes through the ${kind} ${shownName(parent)}`);
    }
  }

  /** The later of two members wins, as with tar, which does not remove a non-empty directory. */
  function isReplaceable(path: string, before: EntryKind, entry: ArchiveEntry): boolean {
    if (isBackup(role)) return false;
    const late = lateLinks.get(path);
    if (late !== undefined) return entry.kind === 'symbolic link' && entry.link === late;
    return before !== 'directory' || ![...seen.keys()].some((other) => other.startsWith(`${path}/`));
  }

  function checkHardLink(path: string, entry: ArchiveEntry): EntryKind {
    const what = `hard link ${shownName(entry.name)} leads to ${shownName(entry.link)}`;
    const target = cleanPath(unrooted(entry.link, role));
    if (target === undefined) throw invalid(`${what}, outside of the image`);
    const kind = seen.get(target);
    if (kind === undefined) {
      const link = prefixesOf(target).find((prefix) => seen.get(prefix) === 'symbolic link');
      throw invalid(
        link === undefined ? `${what}, which is not before it in the image` : `${what}, through a symbolic link`,
      );
    }
    if (kind === 'directory') throw invalid(`${what}, a directory`);
    if (role !== 'rootfs' && role !== 'files' && partOf(target) !== partOf(path))
      throw invalid(`${what}, in another part of the image`);
    return kind;
  }

  function checkPart(path: string, kind: EntryKind, entry: ArchiveEntry): void {
    if (role === 'rootfs' || role === 'files') {
      if (path === '' && kind !== 'directory') throw invalid(`its root is a ${kind}`);
      return;
    }
    const wanted = path === 'metadata.yaml' ? 'file' : path === 'rootfs' || path === 'templates' ? 'directory' : kind;
    if (kind !== wanted || (path === 'metadata.yaml' && entry.kind !== 'file'))
      throw invalid(`${shownName(entry.name)} is a ${entry.kind} and must be a ${wanted}`);
    if (partOf(path) === 'templates' && entry.kind !== 'file' && entry.kind !== 'directory')
      throw invalid(`template ${shownName(entry.name)} is a ${entry.kind} and must be a plain file`);
  }

  return {
    add(entry) {
      checkRoom(entry);
      for (const name of [entry.name, entry.link])
        if (name.length > maxPathBytes) throw invalid(`${shownName(name)} is a path of ${name.length} bytes`);
      const path = cleanPath(unrooted(entry.name, role));
      if (path === undefined) throw invalid(`${shownName(entry.name)} leads out of the image`);
      checkParents(path, entry.name);
      const kind = entry.kind === 'hard link' ? checkHardLink(path, entry) : entry.kind;
      checkPart(path, kind, entry);
      const before = seen.get(path);
      if (
        before !== undefined &&
        (before !== 'directory' || kind !== 'directory') &&
        !isReplaceable(path, before, entry)
      )
        throw invalid(`${shownName(entry.name)} is there twice, as ${before} and as ${entry.kind}`);
      seen.set(path, kind);
      if (entry.kind === 'symbolic link' && isMadeLast(entry.link)) lateLinks.set(path, entry.link);
      if (!isBackup(role) && (kind === 'character device' || kind === 'block device')) devices += 1;
      if (devices > maxDevices) throw invalid(`it has more than ${maxDevices} device nodes`);
      return path;
    },
    finish() {
      if ((role === 'unified' || role === 'metadata') && !seen.has('metadata.yaml'))
        throw invalid('it has no metadata.yaml');
      if ((role === 'unified' || role === 'volume') && !seen.has('rootfs')) throw invalid('it has no rootfs');
      if (role === 'rootfs' && entries === 0) throw invalid('its root file system is empty');
      return { entries, bytes };
    },
  };
}

/** tar makes links that may lead outside after all other members. */
const isMadeLast = (link: string): boolean => link.startsWith('/') || link.split('/').includes('..');

/** Like tar, drops slashes at the beginning of a member's name. */
const unrooted = (name: string, role: ArchiveRole): string => (isBackup(role) ? name : name.replace(/^\/+(?=.)/, ''));

/** Without empty and `.` components; undefined if it is absolute, empty or contains `..`. */
function cleanPath(name: string): string | undefined {
  if (name === '' || name.startsWith('/') || name.includes('\0')) return undefined;
  const components = name.split('/').filter((component) => component !== '' && component !== '.');
  return components.includes('..') ? undefined : components.join('/');
}

function prefixesOf(path: string): readonly string[] {
  const components = path.split('/');
  return components.slice(1).map((_, index) => components.slice(0, index + 1).join('/'));
}

function partOf(path: string): string {
  return path.split('/', 1)[0] ?? '';
}

function invalid(message: string): DriverError {
  return driverErrors.invalid(`cannot accept the image: ${message}`);
}

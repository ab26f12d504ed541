// Finds the differences between two trees and applies them to the older one, so that unchanged files are not sent. Both trees are tar
// streams; a member counts as unchanged if kind, owners, mode, time, size, attributes and target are equal.
import { rm } from 'node:fs/promises';
import { type DriverError, driverErrors } from '../../../drivers/driver-error.ts';
import type { ChangingTree, PoolSpec, StorageDriver, TreeRef } from '../../../drivers/storage/driver.ts';
import { maxNameBytes, readMembers, type TarMember } from './tar-members.ts';

/** Name → print of every member of a tree. */
export type Listing = ReadonlyMap<string, string>;

const directory = '5';
const hardLink = '1';
/** Protects the memory of the daemon; enough for some two million files. */
const maxListingBytes = 256 * 1024 * 1024;
/** A print and a name. */
const maxWordsBytes = maxNameBytes + 64;
const printBytes = 25;

/** Reads all files of the tree once. */
export async function listTree(
  driver: StorageDriver,
  pool: PoolSpec,
  from: TreeRef,
  signal: AbortSignal,
): Promise<Listing> {
  const listing = new Map<string, string>();
  let bytes = 0;
  const consume = async (archive: AsyncIterable<Buffer>): Promise<void> => {
    for await (const { name, print } of readMembers(archive)) {
      bytes += name.length + print.length;
      checkSize(bytes);
      listing.set(name, print);
    }
  };
  await driver.exportVolume(pool, from, { kind: 'tar' }, consume, signal);
  return listing;
}

/** `print NUL name NUL` for each. */
export async function* packListing(entries: Iterable<readonly [name: string, print: string]>): AsyncGenerator<Buffer> {
  let text = '';
  for (const [name, print] of entries) {
    text += `${print}\0${name}\0`;
    if (text.length < 65_536) continue;
    yield Buffer.from(text, 'latin1');
    text = '';
  }
  if (text !== '') yield Buffer.from(text, 'latin1');
}

export async function unpackListing(bytes: AsyncIterable<Buffer>): Promise<Map<string, string>> {
  const listing = new Map<string, string>();
  let rest = '';
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    checkSize(size);
    const words = (rest + chunk.toString('latin1')).split('\0');
    // The last word may be incomplete, and a name waits for its print.
    const whole = words.length - 1 - ((words.length - 1) % 2);
    for (let at = 0; at < whole; at += 2) listing.set(words[at + 1] ?? '', words[at] ?? '');
    rest = words.slice(whole).join('\0');
    // Else each piece of a word without end would be joined to all before it.
    if (rest.length > maxWordsBytes) throw driverErrors.failed(`the list of files has a name of ${rest.length} bytes`);
  }
  if (rest !== '') throw driverErrors.failed('the list of files is cut off');
  return listing;
}

function checkSize(bytes: number): void {
  if (bytes > maxListingBytes)
    throw driverErrors.notSupported('the tree has too many files to be compared; copy it without refresh');
}

/** The changed members of the archive, without an end mark, always including directories and hard links. All members are added to `seen`. */
export async function* changedMembers(
  archive: AsyncIterable<Buffer>,
  base: Listing,
  seen: Set<string>,
): AsyncGenerator<Buffer> {
  for await (const { name, flag, print, head, body } of readMembers(archive)) {
    seen.add(name);
    if (flag !== directory && flag !== hardLink && base.get(name) === print) continue;
    yield head;
    yield* body();
  }
}

/** Members that the tree had and the archive lacks. */
export const removedNames = (base: Listing, seen: ReadonlySet<string>): readonly string[] =>
  [...base.keys()].filter((name) => !seen.has(name));

/** Makes `tree`, described by `base`, equal to the tree of the sender: `changed` comes from `changedMembers`, and `removed` is called once
 *  all of that has arrived. Neither is trusted: files outside the tree stay untouched, whatever they contain. */
export async function applyChanges(
  tree: ChangingTree,
  base: Listing,
  changed: AsyncIterable<Buffer>,
  removed: () => Promise<Iterable<string>>,
): Promise<void> {
  const known = new Map([...base].map(([name, print]) => [name, print.startsWith(directory)]));
  const seen = new Set<string>();
  let bytes = 0;
  async function* checked(): AsyncGenerator<Buffer> {
    for await (const member of membersWithoutEnd(changed)) {
      bytes += member.name.length + printBytes;
      checkSize(bytes);
      await makeRoom(tree.path, known, seen, member);
      yield member.head;
      yield* member.body();
    }
    // Runs before the end of the archive, when tar sets the times of directories.
    for (const name of await removed()) {
      if (base.has(name) && !seen.has(name) && name !== '') await removeEntry(tree.path, known, name);
    }
    yield Buffer.alloc(1024);
  }
  await tree.unpack(checked());
}

/** The members of an archive without an end mark. */
export function membersWithoutEnd(changed: AsyncIterable<Buffer>): AsyncGenerator<TarMember> {
  async function* whole(): AsyncGenerator<Buffer> {
    yield* changed;
    yield Buffer.alloc(1024);
  }
  return readMembers(whole());
}

/** Deletes anything that blocks a member. All its parents are directories, so no link can redirect it. */
async function makeRoom(
  root: string,
  known: Map<string, boolean>,
  seen: Set<string>,
  { name, flag, link }: TarMember,
): Promise<void> {
  if (seen.has(name)) throw malformed(name, 'comes twice');
  seen.add(name);
  if (name !== '' && known.get(parentOf(name)) !== true) throw malformed(name, 'is in no directory');
  if (name === '' && flag !== directory) throw malformed(name, 'is no directory');
  if (flag === hardLink && (known.get(link) !== false || link === name)) throw malformed(name, 'links to no file');
  const isDirectory = flag === directory;
  const before = known.get(name);
  // An unchanged hard link stays; tar replaces any other.
  if (before !== undefined && (before !== isDirectory || (!isDirectory && flag !== hardLink)))
    await removeEntry(root, known, name);
  known.set(name, isDirectory);
}

async function removeEntry(root: string, known: Map<string, boolean>, name: string): Promise<void> {
  const isDirectory = known.get(name);
  if (isDirectory === undefined || known.get(parentOf(name)) !== true) return;
  const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
  await rm(path, { recursive: isDirectory, force: true });
  known.delete(name);
  if (!isDirectory) return;
  const below = `${name}/`;
  for (const other of known.keys()) if (other.startsWith(below)) known.delete(other);
}

function parentOf(name: string): string {
  const slash = name.lastIndexOf('/');
  return slash < 0 ? '' : name.slice(0, slash);
}

const malformed = (name: string, what: string): DriverError =>
  driverErrors.failed(`the archive of files cannot be right: ${JSON.stringify(name.slice(0, 200))} ${what}`);

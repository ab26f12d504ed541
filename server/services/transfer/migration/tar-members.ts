// The members of a tar archive that this release wrote (PAX), each with a print that reveals changes.
import { createHash } from 'node:crypto';
import { DriverError, driverErrors } from '../../../drivers/driver-error.ts';
import { readTar, type TarMember as ArchiveMember } from '../../../drivers/image/tar-reader.ts';

export interface TarMember {
  /** Relative, without `./`; empty: the root. One character per byte. */
  readonly name: string;
  /** The type flag of the header: 5 directory, 1 hard link, 0 file ... */
  readonly flag: string;
  /** The target of a hard link, in the form of `name`. */
  readonly link: string;
  /** Equal for members that can differ only in content; since size and time are in the print, equal prints mean equal content. The first
   *  character is the flag. */
  readonly print: string;
  readonly head: Buffer;
  /** Its content with padding; can be read once. */
  readonly body: () => AsyncIterable<Buffer>;
}

const flags = '0123456';
/** The longest path that the kernel takes. */
export const maxNameBytes = 4096;
/** Access and change times, and the storage format of a file, are not differences between files. */
const ignored = /^(path|linkpath|size|atime|ctime|GNU\.sparse\..*)$/;

/** Reads to the end, where a failure of the source appears. Throws DriverError Failed for any other archive. */
export async function* readMembers(source: AsyncIterable<Buffer>): AsyncGenerator<TarMember> {
  try {
    for await (const member of readTar(source, () => Number.MAX_SAFE_INTEGER, true)) yield migrated(member);
  } catch (error) {
    if (!(error instanceof DriverError) || error.code !== 'Invalid') throw error;
    throw driverErrors.failed(error.message.replaceAll('the image', 'the archive of files'), error.cause);
  }
}

function migrated({ header, records, head, padded, ...entry }: ArchiveMember): TarMember {
  const flag = String.fromCharCode(header[156] ?? 0);
  if (!flags.includes(flag)) throw damaged(`has a member of kind ${JSON.stringify(flag)}`);
  return {
    name: plainName(entry.name),
    flag,
    link: flag === '1' ? plainName(entry.link) : '',
    print: printOf(flag, header, records, [String(entry.size), entry.link]),
    head: Buffer.concat(head),
    body: padded,
  };
}

function printOf(flag: string, block: Buffer, records: ReadonlyMap<string, string>, more: readonly string[]): string {
  const compared = [...records].filter(([key]) => !ignored.test(key)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256');
  // Mode and owners, time, device numbers.
  for (const [from, to] of [
    [100, 124],
    [136, 148],
    [329, 345],
  ] as const)
    hash.update(block.subarray(from, to));
  hash.update(JSON.stringify([compared, more]), 'latin1');
  return flag + hash.digest('base64').slice(0, 24);
}

/** Refuses a name that could point outside a directory. */
function plainName(name: string): string {
  if (name.length > maxNameBytes) throw damaged(`has a name of ${name.length} bytes, more than ${maxNameBytes}`);
  const parts = name.split('/').filter((part, index) => part !== '' && !(part === '.' && index === 0));
  if (name.startsWith('/') || parts.some((part) => part === '.' || part === '..'))
    throw damaged(`has a member that is called ${JSON.stringify(name.slice(0, 200))}`);
  return parts.join('/');
}

const damaged = (why: string): DriverError => driverErrors.failed(`the archive of files ${why}`);

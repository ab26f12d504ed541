// Mounts a block device's file system for one container: the mount is a descriptor, and not visible on the host until it is placed.
import { closeSync, readSync } from 'node:fs';
import { driverErrors } from '../../driver-error.ts';
import type { Libc } from '../host/syscalls.ts';

export interface BlockMount {
  readonly source: string;
  /** The kernel's name of it. */
  readonly fileSystem: string;
  /** Options of the file system itself: NAME or NAME=VALUE. */
  readonly options: readonly string[];
  readonly readonly: boolean;
}

const setFlag = 0;
const setString = 1;
const cloexec = 1;

/** The kernel shares an existing mount's superblock, so if others have it writable, only the mount itself can be read-only. */
export async function mountBlock(libc: Libc, mount: BlockMount): Promise<number> {
  if (!mount.readonly) return mountOnce(libc, mount, mount.options);
  return mountOnce(libc, mount, ['ro', ...mount.options]).catch((error: unknown) =>
    mountOnce(libc, mount, mount.options).catch(() => {
      throw error;
    }),
  );
}

async function mountOnce(libc: Libc, mount: BlockMount, options: readonly string[]): Promise<number> {
  const { source, fileSystem } = mount;
  const refuse = (why: string): never => {
    throw driverErrors.failed(`The file system ${fileSystem} on ${source} cannot be mounted`, new Error(why));
  };
  const context = libc.fsopen(fileSystem, cloexec);
  if (context < 0) refuse('the kernel does not know it');
  try {
    const set = (option: string): void => {
      const at = option.indexOf('=');
      const done =
        at < 0
          ? libc.fsconfig(context, setFlag, option, null)
          : libc.fsconfig(context, setString, option.slice(0, at), option.slice(at + 1));
      if (done < 0) refuse(`it does not take the option ${option}: ${saidBy(context)}`);
    };
    if (libc.fsconfig(context, setString, 'source', source) < 0) refuse(saidBy(context));
    for (const option of options) set(option);
    if ((await libc.fsCreate(context)) < 0) refuse(saidBy(context));
    const tree = libc.fsmount(context, cloexec);
    return tree < 0 ? refuse(saidBy(context)) : tree;
  } finally {
    closeSync(context);
  }
}

/** The kernel's messages, one line per read. */
function saidBy(context: number): string {
  const lines: string[] = [];
  const line = Buffer.alloc(1024);
  try {
    for (let each = 0; each < 16; each++) lines.push(line.toString('utf8', 0, readSync(context, line)).trim());
  } catch {
    // Nothing more to read.
  }
  const said = lines.map((text) => text.replace(/^[ewi] /, '')).join('; ');
  return said === ''
    ? 'the kernel gives no reason (its log may): it may be in use, damaged or protected against writing'
    : said;
}

// What is mounted below a folder of a test, and the loop devices of its files.
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../until.ts';

/** Mount points below the folder, an outer one before those in it. */
export function mountsBelow(folder: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${folder}/`));
}

/** Loop devices go with their mounts. Throws when something is mounted afterwards. */
export function unmountBelow(folder: string): void {
  // One call may take several mounts away, where they are shared.
  const said = mountsBelow(folder)
    .toReversed()
    .map((target) => spawnSync('umount', ['--lazy', target], { encoding: 'utf8' }).stderr);
  if (mountsBelow(folder).length > 0) throw new Error(`still mounted below ${folder}: ${said.join('')}`);
}

/** Files below the folder that are loop devices. */
export function loopsBelow(folder: string): readonly string[] {
  return execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file.trim().startsWith(`${folder}/`));
}

/**
 * Waits until no file below the folder is a loop device. Throws an error that names the processes that may keep one. Where the root mount
 * is private, a process of another test in a mount namespace of its own (`ip netns exec` makes one) has a copy of each mount of its
 * start, until it ends: such a loop device is not waited for.
 */
export async function loopsGone(folder: string): Promise<void> {
  const areOnlyCopies = (): boolean =>
    mountsBelow(folder).length === 0 && usersOf(folder).length > 0 && usersOf(folder).every(({ isCopy }) => isCopy);
  await until(() => loopsBelow(folder).length === 0 || areOnlyCopies()).catch(() => {
    const users = usersOf(folder).map(({ program }) => program);
    throw new Error(`still loop devices: ${loopsBelow(folder).join(', ')}; in use by: ${users.join('; ')}`);
  });
}

interface FolderUser {
  /** Its id and command line. */
  readonly program: string;
  /** It has only a copy of a mount, in another mount namespace than this process. */
  readonly isCopy: boolean;
}

/** Processes that have something below the folder mounted, in whichever namespace, or have a file or directory of it open. */
function usersOf(folder: string): readonly FolderUser[] {
  const read = <T>(from: () => T, otherwise: T): T => {
    try {
      return from();
    } catch {
      return otherwise;
    }
  };
  const namespaceOf = (home: string): string => read(() => readlinkSync(join(home, 'ns/mnt')), '');
  const here = namespaceOf('/proc/self');
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      const home = join('/proc', pid);
      const fds = read(() => readdirSync(join(home, 'fd')), []).map((fd) => join('fd', fd));
      const open = ['cwd', 'root', ...fds].map((name) => read(() => readlinkSync(join(home, name)), ''));
      const isOpen = open.some((path) => path.startsWith(`${folder}/`));
      const isMounted = read(() => readFileSync(join(home, 'mountinfo'), 'utf8'), '').includes(`${folder}/`);
      if (!isMounted && !isOpen) return [];
      const program = `${pid} ${read(() => readFileSync(join(home, 'cmdline'), 'utf8'), '').replaceAll('\0', ' ')}`;
      return [{ program, isCopy: !isOpen && namespaceOf(home) !== here }];
    });
}

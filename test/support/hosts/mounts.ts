// What is mounted below a folder of a test, and the loop devices of its files.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

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

// linux.kernel_modules: ensures that modules of the host's kernel are loaded. Unloads none.
import { existsSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { driverErrors } from '../../driver-error.ts';
import { findProgram } from './programs.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

export interface ModulePaths {
  /** /sys/module: loaded modules, and built-in ones with parameters. */
  readonly loaded: string;
  /** /proc/filesystems; built-in file systems appear nowhere else. */
  readonly fileSystems: string;
  /** Path of modprobe; undefined: the host has none. */
  readonly modprobe: string | undefined;
}

export const hostModules = (): ModulePaths => ({
  loaded: '/sys/module',
  fileSystems: '/proc/filesystems',
  modprobe: findProgram('modprobe'),
});

/** The names in a comma list, dashes as the kernel shows them. Pure. */
export function moduleNames(value: string | undefined): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((name) => name.trim().replaceAll('-', '_'))
    .filter((name) => name !== '');
}

/** Throws DriverError Failed naming the first module that cannot be loaded, and why. */
export async function loadModules(value: string | undefined, paths: ModulePaths): Promise<void> {
  for (const name of moduleNames(value)) {
    if (!isThere(name, paths)) await load(name, paths);
  }
}

const isThere = (name: string, { loaded, fileSystems }: ModulePaths): boolean =>
  existsSync(`${loaded}/${name}`) ||
  textOrNothing(fileSystems)
    .split('\n')
    .some((line) => line.split('\t').at(-1) === name);

async function load(name: string, { modprobe }: ModulePaths): Promise<void> {
  const fail = (why: string): never => {
    throw driverErrors.failed(`linux.kernel_modules: the kernel module ${name} cannot be loaded: ${why}`);
  };
  if (modprobe === undefined) return fail('this host has no modprobe (package kmod)');
  try {
    await exec([modprobe, '-b', '--', name], { timeoutMs: 30_000 });
  } catch (error) {
    fail(error instanceof ExecError && error.stderr.trim() !== '' ? error.stderr.trim() : errorText(error));
  }
}

// Starts host programs without copying this process. Node forks: for a process of a hundred megabytes that blocks Node for 4 ms and more;
// libc's posix_spawn shares the memory until the child's program runs, 0.1 ms. Does not wait for the child.
import { constants } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import type { LibraryHandle } from 'koffi';
import { hasCode } from '../../../lib/shared/error-code.ts';

export interface SpawnPlan {
  /** A full path. */
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The program's descriptors 0, 1 and 2; it gets no others. */
  readonly fds: readonly number[];
  /** Path of a terminal without a session: the program leads a new session on it, and has it as 0, 1 and 2 instead. */
  readonly terminal?: string;
}

/** The program's pid. Throws an Error that names the program and the kernel's error. */
export type PosixSpawn = (plan: SpawnPlan) => number;

/** More than any libc's structures take (glibc: 80 and 336 bytes). */
const room = 1024;
/** Signals as in a fresh process: none ignored, none blocked. */
const freshSignals = 0x04 | 0x08;
const ownSession = 0x80;

/** Undefined if libc cannot set a directory (before glibc 2.29). */
export function loadPosixSpawn(libc: LibraryHandle): PosixSpawn | undefined {
  try {
    const spawn = libc.func(
      'int posix_spawn(_Out_ int *pid, const char *file, const uint8_t *actions, const uint8_t *settings, const char **argv, const char **env)',
    );
    const initSettings = libc.func('int posix_spawnattr_init(_Inout_ uint8_t *settings)');
    const setFlags = libc.func('int posix_spawnattr_setflags(_Inout_ uint8_t *settings, short flags)');
    const setDefaults = libc.func('int posix_spawnattr_setsigdefault(_Inout_ uint8_t *settings, const uint8_t *set)');
    const init = libc.func('int posix_spawn_file_actions_init(_Inout_ uint8_t *actions)');
    const destroy = libc.func('int posix_spawn_file_actions_destroy(_Inout_ uint8_t *actions)');
    const addDup = libc.func('int posix_spawn_file_actions_adddup2(_Inout_ uint8_t *actions, int from, int to)');
    const addDir = libc.func('int posix_spawn_file_actions_addchdir_np(_Inout_ uint8_t *actions, const char *path)');
    const addOpen = libc.func(
      'int posix_spawn_file_actions_addopen(_Inout_ uint8_t *actions, int to, const char *path, int flags, uint mode)',
    );
    const settingsWith = (flags: number): Uint8Array => {
      const settings = new Uint8Array(room);
      initSettings(settings);
      setFlags(settings, flags);
      setDefaults(settings, new Uint8Array(room).fill(0xff));
      return settings;
    };
    const usual = settingsWith(freshSignals);
    const leading = settingsWith(freshSignals | ownSession);
    return ({ file, args, env, cwd, fds, terminal }) => {
      const actions = new Uint8Array(room);
      init(actions);
      try {
        addDir(actions, cwd);
        // A session leader without a terminal acquires the one that it opens.
        if (terminal !== undefined) addOpen(actions, 0, terminal, constants.O_RDWR, 0);
        for (const [to, from] of terminal === undefined ? spread(fds).entries() : onTerminal) addDup(actions, from, to);
        const pid = new Int32Array(1);
        const variables = Object.entries(env).map(([key, value]) => `${key}=${value}`);
        const code = spawn(
          pid,
          file,
          actions,
          terminal === undefined ? usual : leading,
          [file, ...args, null],
          [...variables, null],
        ) as number;
        if (code !== 0) throw startFailure(file, code);
        return pid[0] ?? 0;
      } finally {
        destroy(actions);
      }
    };
  } catch {
    return undefined;
  }
}

/** The error of a program that did not start, with its code. Pure. */
export function startFailure(file: string, errno: number): Error {
  const code = getSystemErrorName(-errno);
  const why =
    code === 'EAGAIN'
      ? `${code}: the limit of processes and threads is reached (TasksMax of gantryd's unit, pids.max of its cgroup, RLIMIT_NPROC, kernel.pid_max)`
      : code;
  return Object.assign(new Error(`Cannot run ${file}: ${why}`), { code });
}

/** The host has no room for a process now: says nothing about the program. */
export const isOutOfProcesses = (error: unknown): boolean => hasCode(error, 'EAGAIN') || hasCode(error, 'ENOMEM');

const onTerminal: readonly (readonly [to: number, from: number])[] = [
  [1, 0],
  [2, 0],
];

/** They are duplicated in order: none may have a number that an earlier one gets. */
function spread(fds: readonly number[]): readonly number[] {
  const blocked = fds.find((fd, index) => fd < index);
  if (blocked !== undefined) throw new Error(`Descriptor ${blocked} cannot be given to a program in this order`);
  return fds;
}

// Finds the processes of one test by a variable in their environment, however deep and whatever their current parent.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

export interface Mark {
  /** For the environment of the first process; the others inherit it. */
  readonly env: Readonly<Record<string, string>>;
  /** The processes that are alive now, zombies left out: `PID COMMAND LINE`. */
  alive(): readonly string[];
  killAll(): void;
}

const variable = 'GANTRY_TEST_MARK';

export function newMark(): Mark {
  const value = randomUUID();
  const pids = (): readonly number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => pid !== process.pid && read(pid, 'environ').split('\0').includes(`${variable}=${value}`));
  return {
    env: { [variable]: value },
    alive: () =>
      pids().flatMap((pid) => {
        const words = read(pid, 'cmdline').replaceAll('\0', ' ').trim();
        return words === '' ? [] : [`${pid} ${words}`];
      }),
    killAll() {
      for (const pid of pids()) process.kill(pid, 'SIGKILL');
    },
  };
}

/** Empty when the process has ended meanwhile. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

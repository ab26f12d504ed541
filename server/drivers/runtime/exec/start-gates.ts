// Gates at which host programs wait until released: FIFOs, which open for writing only once there is a reader. No data ever passes.
import { closeSync, constants, existsSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import type { Libc } from '../host/syscalls.ts';

export interface Gate {
  readonly path: string;
  /** Opens the gate for good. False if it cannot: the file is gone, or too many files are open. */
  open(this: void): boolean;
  /** Call it when the waiting program has ended: a later program would create a plain file there, and pass. Idempotent. */
  remove(this: void): void;
}

/** No encoded container name begins so. */
const prefix = '.gate-';
let count = 0;

export class StartGates {
  readonly #libc: Libc;
  readonly #dir: string;

  /** `dir` is ours alone; removes an earlier daemon's gates, after the programs that waited there. */
  constructor(libc: Libc, dir: string) {
    this.#libc = libc;
    this.#dir = dir;
    this.sweep();
  }

  make(): Gate | undefined {
    count += 1;
    const path = `${this.#dir}/${prefix}${process.pid}-${count}`;
    if (this.#libc.mkfifo(path, 0o600) !== 0) return undefined;
    let reader: number | undefined;
    let isRemoved = false;
    return {
      path,
      open: () => {
        try {
          if (isRemoved) return false;
          reader ??= openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
          return true;
        } catch {
          return false;
        }
      },
      remove: () => {
        if (isRemoved) return;
        isRemoved = true;
        if (reader !== undefined) closeSync(reader);
        removeFile(path);
      },
    };
  }

  sweep(): void {
    for (const name of existsSync(this.#dir) ? readdirSync(this.#dir) : []) {
      if (name.startsWith(prefix)) removeFile(`${this.#dir}/${name}`);
    }
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Swept already.
  }
}

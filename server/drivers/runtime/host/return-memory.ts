// Returns memory to the host from time to time: memory that the C library has freed but kept (SQLite's pages, request buffers), and garbage
// that V8 would collect at its next work, which an idle daemon may not have for hours.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { loadLibc, type Libc } from './syscalls.ts';

/** One call of the C library takes under a millisecond. */
const everyMs = 15_000;
/** A daemon that used less processor time since the last check is idle: a collection, which blocks for some 40 ms, delays nobody. */
const idleMicros = 150_000;
/** The second collection frees what only the first released. */
const collections = 2;

export interface MemoryDeps {
  readonly load: () => Promise<Libc | undefined>;
  /** Processor time of this process until now. */
  readonly usedMicros: () => number;
  readonly collect: () => void;
}

/** Starts the timer, which keeps no process alive. Skips a C library without malloc_trim, such as musl. */
export async function returnFreedMemory(overrides: Partial<MemoryDeps> = {}): Promise<() => void> {
  const { load, usedMicros, collect } = {
    load: loadLibc,
    usedMicros: processorMicros,
    collect: collector(),
    ...overrides,
  };
  const trim = (await load())?.mallocTrim;
  let last = usedMicros();
  let idleLooks = 0;
  const timer = setInterval(() => {
    const now = usedMicros();
    idleLooks = now - last < idleMicros ? idleLooks + 1 : 0;
    if (idleLooks >= 1 && idleLooks <= collections) collect();
    last = usedMicros();
    trim?.(0);
  }, everyMs).unref();
  return () => clearInterval(timer);
}

function processorMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** V8 exposes its collector to contexts made after the flag was set. */
function collector(): () => void {
  let collect: (() => void) | undefined;
  return () => {
    if (collect === undefined) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
      setFlagsFromString('--no-expose-gc');
    }
    collect();
  };
}

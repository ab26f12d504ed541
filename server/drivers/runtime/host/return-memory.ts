// Gives memory that the C library has freed but kept (SQLite's pages, buffers of requests) back to the host, now and then.
import { loadLibc, type Libc } from './syscalls.ts';

/** One call takes under a millisecond. */
const everyMs = 15_000;

/** Starts the timer, which keeps no process alive. Does nothing where the C library has no malloc_trim, as on musl. */
export async function returnFreedMemory(load: () => Promise<Libc | undefined> = loadLibc): Promise<() => void> {
  const trim = (await load())?.mallocTrim;
  if (trim === undefined) return () => {};
  const timer = setInterval(() => trim(0), everyMs).unref();
  return () => clearInterval(timer);
}

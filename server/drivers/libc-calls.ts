// Declares functions of the C library through koffi, once. Every caller can do without them.
import type { LibraryHandle } from 'koffi';

export interface Errno {
  /** The error of the last call. */
  (): number;
  /** The last error with its code, such as EIO. */
  readonly failed: (call: string) => Error & { readonly code: string };
}

/** The returned function gives undefined on other systems than Linux, without koffi, or if `declare` finds a function missing. */
export function libcCalls<T>(
  declare: (libc: LibraryHandle, errno: Errno) => T | undefined,
): () => Promise<T | undefined> {
  let loaded: Promise<T | undefined> | undefined;
  return () => (loaded ??= load(declare));
}

async function load<T>(declare: (libc: LibraryHandle, errno: Errno) => T | undefined): Promise<T | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const koffi = (await import('koffi')).default;
    const codes = new Map(Object.entries(koffi.os.errno).map(([code, value]) => [value, code]));
    const failed = (call: string) => {
      const code = codes.get(koffi.errno()) ?? 'EIO';
      return Object.assign(new Error(`${code}: ${call}`), { code });
    };
    return declare(
      koffi.load(null),
      Object.assign(() => koffi.errno(), { failed }),
    );
  } catch {
    return undefined;
  }
}

// Unpacked images of a pool: each unpacked once, and not deleted while a volume is being copied from it.
import { KeyedMutex } from '../../lib/keyed-mutex.ts';

export interface ImageCache {
  /** Runs `use` while the image is there, calling `unpack` first when `has` says that it is not. Resolves when it was used: keeping what
   *  was unpacked may take longer, and only others wait for that. */
  withImage(key: string, steps: ImageSteps, signal: AbortSignal): Promise<void>;
  /** Runs `remove` when the image is unused. */
  whenUnused(key: string, remove: () => Promise<void>): Promise<void>;
}

export interface ImageSteps {
  readonly has: () => Promise<boolean>;
  /** Calls `use` once the files are there, and keeps them for later. */
  readonly unpack: (use: (path: string) => Promise<void>) => Promise<void>;
  /** `path`: where the image is now. */
  readonly use: (path: string) => Promise<void>;
}

export function createImageCache(): ImageCache {
  const mutex = new KeyedMutex();
  const users = new Map<string, Set<Promise<void>>>();

  function track(key: string, work: Promise<void>): void {
    const set = users.get(key) ?? new Set();
    users.set(key, set);
    const settled = work.then(
      () => forget(),
      () => forget(),
    );
    set.add(settled);
    function forget(): void {
      set.delete(settled);
      if (set.size === 0) users.delete(key);
    }
  }

  return {
    async withImage(key, steps, signal) {
      let isWaiting = true;
      const started = new Promise<{ readonly work: Promise<void> }>((resolve, reject) => {
        const use = (path: string): Promise<void> => {
          const work = steps.use(path);
          track(key, work);
          resolve({ work });
          return work;
        };
        const locked = mutex.run(key, async () => {
          isWaiting = false;
          signal.throwIfAborted();
          if (await steps.has()) void use(key);
          else await steps.unpack((path) => use(path).catch(() => {}));
        });
        locked.catch(reject);
      });
      const { work } = await orAborted(started, () => isWaiting, signal);
      await work;
    },
    async whenUnused(key, remove) {
      await mutex.run(key, async () => {
        await Promise.all(users.get(key) ?? new Set<Promise<void>>());
        await remove();
      });
    },
  };
}

/** A waiter behind another's unpacking rejects at once when aborted; the unpacker finishes its clean-up first. */
async function orAborted<T>(work: Promise<T>, isWaiting: () => boolean, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => {
      if (isWaiting()) reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    // Aborted before the listener: the event will not come.
    if (signal.aborted) stop();
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

// Reports when entries of host directories appear or vanish, including directories that do not exist yet.
import { existsSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';

/** Events come in bursts; one check at the end of a burst is enough. */
const calmMs = 100;

export class DirectoryWatch {
  readonly #changed: (key: string) => void;
  readonly #wanted = new Map<string, readonly string[]>();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** `changed` is called with the key whose directories have changed. */
  constructor(changed: (key: string) => void) {
    this.#changed = changed;
  }

  /** Replaces the directories of a key; an empty list removes the key. */
  set(key: string, dirs: readonly string[]): void {
    if (dirs.length === 0) this.#wanted.delete(key);
    else this.#wanted.set(key, dirs);
    this.#arm();
  }

  close(): void {
    this.#wanted.clear();
    this.#arm();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #arm(): void {
    const places = new Set([...this.#wanted.values()].flat().map(nearest));
    for (const [dir, watcher] of this.#watchers) {
      if (places.has(dir)) continue;
      watcher.close();
      this.#watchers.delete(dir);
    }
    for (const dir of places) {
      if (this.#watchers.has(dir)) continue;
      try {
        const watcher = watch(dir, { persistent: false }, () => this.#wake());
        watcher.on('error', () => {
          watcher.close();
          this.#watchers.delete(dir);
          this.#wake();
        });
        this.#watchers.set(dir, watcher);
      } catch {
        // Removed in between: the watch of its parent reports its return.
      }
    }
  }

  #wake(): void {
    for (const key of this.#wanted.keys()) {
      if (this.#timers.has(key)) continue;
      const timer = setTimeout(() => {
        this.#timers.delete(key);
        this.#arm();
        if (this.#wanted.has(key)) this.#changed(key);
      }, calmMs);
      timer.unref();
      this.#timers.set(key, timer);
    }
  }
}

/** The directory itself, or its nearest existing parent. */
function nearest(dir: string): string {
  let place = dir;
  while (place !== '/' && !existsSync(place)) place = dirname(place);
  return place;
}

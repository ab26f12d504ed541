// Makes the members of a long list in parts, and lets other work of the event loop in between.
import { setImmediate as turn } from 'node:timers/promises';

/** A shorter list costs the event loop less than its parts would. */
const shortest = 2_000;
const partLength = 250;

export const isLong = ({ length }: { readonly length: number }): boolean => length > shortest;

/** A list whose members are made each time it is read, one part at a time. */
export class LongList<T = unknown> {
  readonly #make: () => AsyncIterable<readonly T[]>;

  private constructor(make: () => AsyncIterable<readonly T[]>) {
    this.#make = make;
  }

  static of<S, T>(source: readonly S[], make: (item: S) => T | Promise<T>): LongList<T> {
    return new LongList(async function* () {
      for (let at = 0; at < source.length; at += partLength) {
        if (at > 0) await turn();
        yield await Promise.all(source.slice(at, at + partLength).map(make));
      }
    });
  }

  map<R>(change: (item: T) => R): LongList<R> {
    const make = this.#make;
    return new LongList(async function* () {
      for await (const part of make()) yield part.map(change);
    });
  }

  parts(): AsyncIterable<readonly T[]> {
    return this.#make();
  }

  whole(): Promise<readonly T[]> {
    return this.filter(() => true);
  }

  async filter(fits: (item: T) => boolean): Promise<readonly T[]> {
    const found: T[] = [];
    for await (const part of this.parts()) found.push(...part.filter(fits));
    return found;
  }
}

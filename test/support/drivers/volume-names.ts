// Names that storage drivers make of the ids of volumes: random ids never share one.
import { expect } from 'vitest';
import { seededRandom } from '../random.ts';

export interface VolumeNames {
  /** The words in the ids have these. */
  readonly letters: readonly string[];
  readonly nameOf: (id: string) => string;
  readonly idOf: (name: string, id: string) => string | undefined;
}

export function expectDistinctNames({ letters, nameOf, idOf }: VolumeNames): void {
  const random = seededRandom();
  const pick = (count: number): number => Math.floor(random.next() * count);
  const seen = new Map<string, string>();
  for (let round = 0; round < 5_000; round += 1) {
    const word = (): string => Array.from({ length: 1 + pick(5) }, () => letters[pick(letters.length)]).join('');
    const id = pick(4) === 0 ? `custom/${word()}` : `custom-snapshots/${word()}/${word()}`;
    const name = nameOf(id);
    expect(seen.get(name) ?? id, `seed ${random.seed}`).toBe(id);
    seen.set(name, id);
    expect(idOf(name, id)).toBe(id);
  }
}

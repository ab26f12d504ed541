// Waves: an order within one set beyond the dependencies. All objects of a lower wave are done and ready before a higher wave
// begins; a destroy goes the other way. Pure.
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Address, Document } from '../documents/document.ts';
import { compareText } from '../text/listing-order.ts';
import { sortByNeeds } from './graph.ts';
import { reverseEdges, type Edges } from './targets.ts';

/**
 * Objects without a wave belong to wave 0, unless a dependency is in a later wave or a dependent in an earlier one: then they join it.
 * Empty when all objects are in wave 0, as in most sets, so that callers finish at once.
 */
export function wavesOf(objects: readonly Document[], needs: Edges): ReadonlyMap<Address, number> {
  const written = new Set(objects.filter(({ manage }) => manage.wave !== undefined).map(({ address }) => address));
  if (written.size === 0) return noWaves;
  const waves = new Map(objects.map(({ address, manage }) => [address, manage.wave ?? 0]));
  draw(written, reverseEdges(needs), waves, (user, own) => !written.has(user) && (waves.get(user) ?? 0) < own);
  const early = [...waves].sort(([, a], [, b]) => a - b).map(([address]) => address);
  draw(early, needs, waves, (need, own) => !written.has(need) && (waves.get(need) ?? 0) > own);
  return [...waves.values()].some((wave) => wave !== 0) ? waves : noWaves;
}

export const noWaves: ReadonlyMap<Address, number> = new Map();

/** Propagates the wave of each object along its edges where `follows` allows it. */
function draw(
  from: Iterable<Address>,
  edges: Edges,
  waves: Map<Address, number>,
  follows: (next: Address, wave: number) => boolean,
): void {
  const queue = [...from];
  for (const address of queue) {
    const wave = waves.get(address) ?? 0;
    for (const next of edges.get(address) ?? []) {
      if (!waves.has(next) || !follows(next, wave)) continue;
      waves.set(next, wave);
      queue.push(next);
    }
  }
}

/** Errors for objects whose wave comes before the wave of a dependency. */
export function waveProblems(
  objects: readonly Document[],
  needs: Edges,
  waves: ReadonlyMap<Address, number>,
): readonly Diagnostic[] {
  if (waves.size === 0) return [];
  const waveOf = (address: Address): number => waves.get(address) ?? 0;
  return objects.flatMap((object) =>
    (needs.get(object.address) ?? [])
      .filter((need) => waveOf(need) > waveOf(object.address))
      .map((need): Diagnostic => ({
        severity: 'error',
        code: 'wave-order',
        address: object.address,
        path: object.manage.wave === undefined ? '' : 'manage.wave',
        message: `${object.address} is in wave ${waveOf(object.address)} and needs ${need}, which comes later, in wave ${waveOf(need)}`,
        remedy: `give it wave ${waveOf(need)} or a later one, or ${need} an earlier one`,
        ...object.location,
      })),
  );
}

/** Lower waves first, otherwise in the given order; `isDestroy`: higher waves first. */
export function inWaves(
  order: readonly Document[],
  waves: ReadonlyMap<Address, number>,
  isDestroy = false,
): readonly Document[] {
  if (waves.size === 0) return order;
  const sign = isDestroy ? -1 : 1;
  const rank = new Map(order.map(({ address }, index) => [address, index]));
  return [...order].sort(
    (a, b) =>
      sign * ((waves.get(a.address) ?? 0) - (waves.get(b.address) ?? 0)) ||
      (rank.get(a.address) ?? 0) - (rank.get(b.address) ?? 0),
  );
}

/** Users before what they use, and higher waves first, unless a use contradicts the waves. `everything`: the objects that draw one another into waves. */
export function deletionOrder(
  selected: readonly Document[],
  users: Edges,
  everything = selected,
): { readonly order: readonly Document[]; readonly waves: ReadonlyMap<Address, number> } {
  const byAddress = new Map(selected.map((object) => [object.address, object]));
  const order = sortByNeeds(selected, users).order.flatMap((address) => byAddress.get(address) ?? []);
  const needs = reverseEdges(users);
  const waves = wavesOf(everything, needs);
  const isSound = waveProblems(selected, needs, waves).length === 0;
  return isSound ? { order: inWaves(order, waves, true), waves } : { order, waves: noWaves };
}

/** Takes the last step of each object in the order of their waves, and gives the steps that the next object has to wait for. */
export class WaveBarrier {
  #wave: number | undefined;
  #behind: readonly string[] = [];
  #own: string[] = [];

  /** Ids of the last steps of the wave before this one. */
  enter(wave: number): readonly string[] {
    if (this.#wave !== wave && this.#own.length > 0) {
      this.#behind = this.#own.sort(compareText);
      this.#own = [];
    }
    this.#wave = wave;
    return this.#behind;
  }

  add(id: string): void {
    this.#own.push(id);
  }
}

/** `needs` and the barrier as one list. Steps that need nothing else share the barrier's own list. */
export const behind = (needs: readonly string[], barrier: readonly string[]): readonly string[] =>
  barrier.length === 0 ? needs : needs.length === 0 ? barrier : [...new Set([...needs, ...barrier])].sort(compareText);

/** Undefined when all objects are in wave 0, so that the plan does not mention waves. */
export const waveShown = (
  address: Address,
  waves: ReadonlyMap<Address, number>,
): { readonly wave: number } | undefined => (waves.size === 0 ? undefined : { wave: waves.get(address) ?? 0 });

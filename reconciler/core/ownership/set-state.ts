// The state of a set in `user.gantry.set.<set>` of the server config: its key, the records of objects without config, and the open
// restarts and waits of an interrupted run. Encodes and decodes it; the engine writes it.
import type { Address, Json, JsonObject } from '../documents/document.ts';
import { isMap, mapOf, presentTexts, textOf, textsOf } from '../documents/json-values.ts';
import type { SetState } from '../documents/ownership-records.ts';
export type { SetState } from '../documents/ownership-records.ts';
import { compareText } from '../text/listing-order.ts';
import { joinedParts, partsOf } from './long-notes.ts';
import { notePrefix, readRecord, renderRecord, type OwnerRecord } from './owner-records.ts';

export const emptySetState = (key: string): SetState => ({
  key,
  runs: 0,
  inventory: new Map(),
  restarts: new Map(),
  sources: new Map(),
  unready: new Set(),
});

const statePrefix = `${notePrefix}set.`;
export const stateKey = (set: string): string => `${statePrefix}${set}`;
export const lockKey = (set: string): string => `${notePrefix}lock.${set}`;
/** The claim of the controller that applies the set here. */
export const claimKey = (set: string): string => `${notePrefix}claim.${set}`;
/** People's requests to a controller. */
export const askedKey = (set: string): string => `${notePrefix}asked.${set}`;
export const historyPrefix = `${notePrefix}history.`;
export const historyKey = (set: string): string => `${historyPrefix}${set}`;

/** The parts of a config patch. It empties surplus keys of an earlier, longer text. */
export function renderSetState(
  set: string,
  state: SetState,
  config: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const text = JSON.stringify({
    v: 1,
    key: state.key,
    runs: state.runs,
    ...(state.inventory.size === 0
      ? {}
      : {
          own: Object.fromEntries(
            byName(state.inventory).map(([address, record]) => [address, JSON.parse(renderRecord(record)) as Json]),
          ),
        }),
    ...(state.sources.size === 0 ? {} : { sources: Object.fromEntries(byName(state.sources)) }),
    ...(state.restarts.size === 0 ? {} : { restarts: Object.fromEntries(byName(state.restarts)) }),
    ...(state.unready.size === 0 ? {} : { unready: [...state.unready].sort() }),
  });
  return partsOf(stateKey(set), text, config);
}

const byName = <T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...map].sort(([a], [b]) => compareText(a, b));

/** All sets with a readable state in this server config. */
export function readSetStates(config: Readonly<Record<string, unknown>>): ReadonlyMap<string, SetState> {
  const states = new Map<string, SetState>();
  for (const key of Object.keys(config)) {
    if (!key.startsWith(statePrefix)) continue;
    const set = key.slice(statePrefix.length);
    const state = set.includes('.') ? undefined : readSetState(config, set);
    if (state !== undefined) states.set(set, state);
  }
  return states;
}

function readSetState(config: Readonly<Record<string, unknown>>, set: string): SetState | undefined {
  let value: Json;
  try {
    value = JSON.parse(joinedParts(stateKey(set), config)) as Json;
  } catch {
    return undefined;
  }
  const key = isMap(value) ? textOf(value['key']) : undefined;
  return !isMap(value) || value['v'] !== 1 || key === undefined ? undefined : stateOf(key, value);
}

function stateOf(key: string, value: JsonObject): SetState {
  const inventory = new Map<Address, OwnerRecord>();
  for (const [address, item] of Object.entries(mapOf(value['own']))) {
    const record = readRecord(item);
    if (record !== undefined) inventory.set(address as Address, record);
  }
  const restarts = Object.entries(mapOf(value['restarts'])).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return {
    key,
    runs: typeof value['runs'] === 'number' ? value['runs'] : 0,
    inventory,
    restarts: new Map(restarts),
    sources: new Map(Object.entries(presentTexts(value['sources']))),
    unready: new Set(textsOf(value['unready'])),
  };
}

// The current view: the path and query behind the # of the address, so that the server needs to serve only one file.
import { computed, signal } from '@preact/signals';

export interface Route {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const hash = signal(window.location.hash);

export function startRouter(): void {
  window.addEventListener('hashchange', () => (hash.value = window.location.hash));
}

export const place = computed<Route>(() => parsePlace(hash.value));

function parsePlace(text: string): Route {
  const [path = '', query = ''] = text.replace(/^#\/?/, '').split('?', 2);
  return { path: path.split('/').filter(Boolean).map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place; parts without a value are left out of the query. */
export function to(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  return `#/${path.map(encodeURIComponent).join('/')}${search}`;
}

export function go(address: string): void {
  window.location.hash = address;
}

/** Changes the query of this place without a new entry in the history: for filters while they are typed. */
export function refine(query: Readonly<Record<string, string | undefined>>): void {
  const address = to(place.value.path, { ...place.value.query, ...query });
  window.history.replaceState(null, '', address);
  hash.value = address;
}

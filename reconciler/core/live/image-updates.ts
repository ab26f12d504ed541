// Containers whose image has moved on: which image they are to be made of, by the lock file or by where their alias points,
// and whether they are made anew of it. How that is done is in the engine.
import type { Container } from '../../../server/api/container/container.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf, textOf } from '../documents/json-values.ts';
import { isNote, notePrefix } from '../ownership/owner-records.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';

/** Fingerprints by alias, as gantry.lock holds them. */
export type ImagePins = ReadonlyMap<string, string>;

/** The local alias that a container is made from and whose moves it follows; undefined: it follows none. */
export function followedAlias(document: Document): string | undefined {
  if (document.kind !== 'container' || document.manage.image === 'none') return undefined;
  const source = mapOf(document.values['source']);
  return source['type'] === 'image' && source['server'] === undefined
    ? scopedAlias(textOf(source['alias']), document.project)
    : undefined;
}

const scopedAlias = (alias: string | undefined, project: string | undefined): string | undefined =>
  alias === undefined ? undefined : scopedName(alias, project);

const rolls = ({ manage }: Document): boolean => manage.image === 'rebuild' || manage.image === 'recreate';

/** Pinned containers are made from the fingerprint, not the alias. Existing ones only when they follow it. */
export function pinImages(documents: readonly Document[], pins: ImagePins, observed: Observed): readonly Document[] {
  if (pins.size === 0) return documents;
  return documents.map((document) => {
    const fingerprint = pins.get(followedAlias(document) ?? '');
    if (fingerprint === undefined || (observed.containers.has(document.name) && !rolls(document))) return document;
    const { alias: _alias, ...source } = mapOf(document.values['source']);
    return { ...document, values: { ...document.values, source: { ...source, fingerprint } } };
  });
}

/** The image that an existing container is to be made of anew; undefined: it is of the right one, or nobody can tell. */
export function nextImage(
  document: Document,
  live: JsonObject,
  targetOf: (alias: string) => string | undefined,
): { readonly from: string; readonly to: string } | undefined {
  if (document.kind !== 'container' || !rolls(document)) return undefined;
  const source = mapOf(document.values['source']);
  const alias = textOf(source['alias']);
  const to = textOf(source['fingerprint']) ?? (alias === undefined ? undefined : targetOf(alias));
  const from = textOf(mapOf(live['config'])['volatile.base_image']);
  if (source['type'] !== 'image' || to === undefined || to === '' || from === undefined) return undefined;
  return from.startsWith(to) ? undefined : { from, to };
}

/** On a container that stands aside while its successor is made: what to put back, should that fail. */
export const asideKey = `${notePrefix}aside`;

/** Container names end at 63 characters. */
export const asideName = (name: string): string => `${name.slice(0, 52)}-gantry-old`;

/** The container that stands aside for one of this name, or was about to. */
export function asideFor(
  { name, project }: Pick<Document, 'name' | 'project'>,
  observed: Observed,
): Container | undefined {
  const isNoted = (one: Container | undefined): one is Container => one?.config[asideKey] !== undefined;
  const aside = observed.containers.get(scopedName(asideName(plainName(name, project)), project))?.object;
  if (isNoted(aside)) return aside;
  const own = observed.containers.get(name)?.object;
  return isNoted(own) ? own : undefined;
}

/** The note under `asideKey`. */
export interface AsideNote {
  readonly devices: JsonObject;
  /** Of config, what standing aside changes: whether it starts by itself, and addresses that servers forget with their cards. */
  readonly config: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
}

const isKept = (key: string): boolean => key === 'boot.autostart' || /^volatile\..+\.hwaddr$/.test(key);

export const keptConfig = (config: Readonly<Record<string, string>>): AsideNote['config'] =>
  Object.fromEntries(Object.entries(config).filter(([key]) => isKept(key)));

/** Config as it was before, of a container that stands aside. */
export function configBefore(aside: Pick<Container, 'config' | 'devices'>): Record<string, string> {
  const now = Object.entries(aside.config).filter(([key]) => key !== asideKey && !isKept(key));
  return { ...Object.fromEntries(now), ...readAside(aside).config };
}

/** The container under its own name, as it was before it stood aside. */
export function asideAsItWas(aside: Container, document: Document): Live<Container> {
  const { devices, isRunning } = readAside(aside);
  const status = isRunning ? { status: 'Running', status_code: 103 } : {};
  const parts = { devices: devices as Container['devices'], config: configBefore(aside) };
  return { object: { ...aside, ...status, name: plainName(document.name, document.project), ...parts } };
}

export function readAside(aside: Pick<Container, 'config' | 'devices'>): AsideNote {
  try {
    const note = JSON.parse(aside.config[asideKey] ?? '') as Partial<AsideNote>;
    return { devices: note.devices ?? aside.devices, config: note.config ?? {}, isRunning: note.isRunning === true };
  } catch {
    return { devices: aside.devices, config: keptConfig(aside.config), isRunning: false };
  }
}

export const isAside = (live: object): boolean => asideKey in mapOf((live as JsonObject)['config']);

/** Settings of the old container as its successor gets them: without notes about standing aside. */
export const withoutNotes = (config: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !isNote(key) || key.startsWith(`${notePrefix}own.`)));

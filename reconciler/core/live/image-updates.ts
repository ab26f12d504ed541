// Decides about containers with an outdated image: finds the image of the lock file or alias, and whether to rebuild or recreate
// them from it. The engine carries it out.
import type { Container } from '../../../server/api/container/container.ts';
import { fnv1a } from '../../../server/api/text/fnv1a.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf, textOf } from '../documents/json-values.ts';
import { isNote, notePrefix } from '../ownership/owner-records.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { plainName, scopedName } from '../text/scoped-name.ts';

/** Fingerprints by alias, as gantry.lock holds them. */
export type ImagePins = ReadonlyMap<string, string>;

/** The local alias that a container follows when it moves; undefined: it follows none. */
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

/** Pinned containers are created from the fingerprint, not the alias. Existing ones change only when they follow it. */
export function pinImages(documents: readonly Document[], pins: ImagePins, observed: Observed): readonly Document[] {
  if (pins.size === 0) return documents;
  return documents.map((document) => {
    const fingerprint = pins.get(followedAlias(document) ?? '');
    if (fingerprint === undefined || (observed.containers.has(document.name) && !rolls(document))) return document;
    const { alias: _alias, ...source } = mapOf(document.values['source']);
    return { ...document, values: { ...document.values, source: { ...source, fingerprint } } };
  });
}

/** The new image of an existing container; undefined when it has the right one or its image is unknown. */
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

/** The config key of a replaced container that is kept until its successor is ready: it holds what to restore on failure. */
export const asideKey = `${notePrefix}aside`;

const asideEnd = '-gantry-old';
const maxName = 63;

/** Container names end at 63 characters: a long one is shortened, and a digest keeps it apart from others that begin alike. */
export const asideName = (name: string): string =>
  name.length + asideEnd.length <= maxName ? `${name}${asideEnd}` : `${name.slice(0, 43)}-${digestOf(name)}${asideEnd}`;

const digestOf = (text: string): string => fnv1a(text).toString(16).padStart(8, '0');

/** The container that was renamed, or was about to be, for a successor of this name. */
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
  /** The config values that setting it aside changes: autostart, and addresses that servers drop with the nics. */
  readonly config: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
}

const isKept = (key: string): boolean => key === 'boot.autostart' || /^volatile\..+\.hwaddr$/.test(key);

export const keptConfig = (config: Readonly<Record<string, string>>): AsideNote['config'] =>
  Object.fromEntries(Object.entries(config).filter(([key]) => isKept(key)));

/** The original config of a container that was set aside. */
export function configBefore(aside: Pick<Container, 'config' | 'devices'>): Record<string, string> {
  const now = Object.entries(aside.config).filter(([key]) => key !== asideKey && !isKept(key));
  return { ...Object.fromEntries(now), ...readAside(aside).config };
}

/** The container under its own name, as it was before it was set aside. */
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

/** The settings of the old container for its successor, without the note about setting it aside. */
export const withoutNotes = (config: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([key]) => !isNote(key) || key.startsWith(`${notePrefix}own.`)));

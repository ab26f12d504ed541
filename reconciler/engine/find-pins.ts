// Finds the current fingerprints of followed aliases and sources, for gantry.lock. The server fetches images from sources.
import type { Client } from '../../server/client/client.ts';
import { isNotFound } from '../../server/client/client-error.ts';
import { pause, within } from '../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';
import type { Document } from '../core/documents/document.ts';
import { normalizeDocuments } from '../core/graph/normalize.ts';
import { followedSource } from '../core/live/image-sources.ts';
import { followedAlias } from '../core/live/image-updates.ts';
import { createBody } from '../core/plan/creation-bodies.ts';
import type { CreateStep } from '../core/plan/plan.ts';
import { plainName } from '../core/text/scoped-name.ts';

export interface PinsDeps {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly onProgress: (text: string) => void;
}

/** By alias or source: a document that follows it. */
export interface PinSources {
  readonly objects: readonly Document[];
  readonly aliases: ReadonlyMap<string, Document>;
  readonly sources: ReadonlyMap<string, Document>;
}

export function followedBy(documents: readonly Document[]): PinSources {
  const { objects } = normalizeDocuments(documents);
  return {
    objects,
    aliases: new Map(objects.flatMap((one) => keyed(followedAlias(one), one))),
    sources: new Map(objects.flatMap((one) => keyed(followedSource(one), one))),
  };
}

const keyed = <T>(key: string | undefined, one: T): readonly (readonly [string, T])[] =>
  key === undefined ? [] : [[key, one]];

/** The newest images. The server fetches those from sources; containers and aliases change at the next apply. */
export async function findPins(
  deps: PinsDeps,
  { objects, aliases, sources }: PinSources,
): Promise<ReadonlyMap<string, string>> {
  const pins = new Map<string, string>();
  const byName = new Map<string, string>();
  for (const [source, document] of byText(sources)) {
    const fingerprint = await fetchImage(deps, document);
    pins.set(source, fingerprint);
    byName.set(document.name, fingerprint);
  }
  const declared = declaredAliases(objects, byName);
  for (const [alias, follower] of byText(aliases))
    pins.set(alias, declared.get(alias) ?? (await resolve(deps, alias, follower)));
  return pins;
}

const byText = <T>(map: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : 1));

/** Fingerprints that declared aliases will point to; `images`: fetched images by the names of their documents. */
function declaredAliases(
  objects: readonly Document[],
  images: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { kind, name, project, values } of objects) {
    const { target } = values;
    if (kind !== 'image_alias' || typeof target !== 'string') continue;
    const image = project === undefined ? target : `${target}@${project}`;
    found.set(name, images.get(image) ?? images.get(target) ?? target);
  }
  return found;
}

async function resolve({ client, signal }: PinsDeps, alias: string, { project }: Document): Promise<string> {
  const there = project === undefined ? client : client.inProject(project);
  try {
    return (await there.get('image_alias', plainName(alias, project), signal)).metadata.target;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const remedy =
      'declare it, or make it on the server; to follow one of another server, declare an image with source';
    throw new Error(`the image alias ${alias} is neither declared nor on the server: ${remedy}`, { cause: error });
  }
}

/** Makes the server fetch the image of a document from its source. Returns the fingerprint. */
async function fetchImage({ client, signal, nowMs, onProgress }: PinsDeps, document: Document): Promise<string> {
  const { createRemoteImage } = await import('./steps/create-remote-image.ts');
  const { address, name, project, manage } = document;
  const step: CreateStep = {
    id: `${address}#create`,
    address,
    kind: 'image',
    name,
    needs: [],
    timeoutMs: manage.timeoutMs,
    action: 'create',
    body: createBody(document),
  };
  let made = '';
  const context = {
    client: project === undefined ? client : client.inProject(project),
    onMade: (fingerprint: string) => {
      made = fingerprint;
    },
    onOperation: () => {},
    onProgress: (text: string) => onProgress(`${address}: ${text}`),
    nowMs,
    pause,
  };
  const create = (limited: AbortSignal): Promise<unknown> => createRemoteImage(context, step, limited);
  await within(step.timeoutMs, create, signal).catch((error: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw new Error(`cannot fetch ${address} from its source: ${reasonOf(error)}`, { cause: error });
  });
  return made;
}

// `gantry update`: pins followed image aliases and sources to their current fingerprints in gantry.lock. The server resolves a
// source by fetching it; containers and aliases change at the next apply.
import type { Run } from '../../session/context.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import type { Document } from '../../../core/documents/document.ts';
import { followedAlias } from '../../../core/live/image-updates.ts';
import { followedSource } from '../../../core/live/image-sources.ts';
import { normalizeDocuments } from '../../../core/graph/normalize.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { CliContext } from '../../session/context.ts';
import type { UpdateOptions } from './image-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { fetchImage } from './fetch-image.ts';
import type { Pins } from '../../../manifest/image-pins.ts';
import { lockFilePath, readPins, writePins } from '../../session/lock-file.ts';
import { loadSet } from '../../session/load-set.ts';
import { withClient } from '../../session/connect.ts';
import { CliError } from '../../errors/usage-error.ts';

export const update: Run<UpdateOptions> = async (context, args) => {
  const loaded = await loadSet(context, args);
  const { objects } = normalizeDocuments(loaded.documents);
  const followers = new Map(objects.flatMap((one) => keyed(followedAlias(one), one)));
  const sources = new Map(objects.flatMap((one) => keyed(followedSource(one), one)));
  if (followers.size + sources.size === 0) {
    context.out('Nothing to pin: no container follows an alias (manage.image), and no image has a source.');
    return exitCodes.ok;
  }
  const path = lockFilePath(context, loaded.files);
  const before = await readPins(context, loaded.files, true);
  const after = new Map<string, string>();
  await withClient(context, async (client) => {
    const byName = new Map<string, string>();
    for (const [source, document] of byText(sources)) {
      const fingerprint = await fetchImage(context, client, document);
      after.set(source, fingerprint);
      byName.set(document.name, fingerprint);
    }
    const declared = declaredAliases(objects, byName);
    for (const [alias, follower] of byText(followers))
      after.set(alias, declared.get(alias) ?? (await resolve(client, alias, follower, context.stop)));
  });
  const changed = [...after.keys()].filter((key) => before.get(key) !== after.get(key)).sort();
  const dropped = [...before.keys()].filter((key) => !after.has(key));
  if (changed.length + dropped.length > 0) await writePins(path, after);
  report(context, before, after, changed, dropped);
  if (changed.length + dropped.length === 0) context.out(`${path} is up to date: ${after.size} images`);
  return context.options.detailedExitcode === true && changed.length > 0 ? exitCodes.changes : exitCodes.ok;
};

const keyed = <T>(key: string | undefined, one: T): readonly (readonly [string, T])[] =>
  key === undefined ? [] : [[key, one]];

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

function report(
  context: CliContext,
  before: Pins,
  after: Pins,
  changed: readonly string[],
  dropped: readonly string[],
): void {
  for (const key of changed) {
    const from = before.get(key);
    const old = from === undefined ? '' : `${from.slice(0, 12)} -> `;
    context.out(`${key}: ${old}${after.get(key)?.slice(0, 12) ?? ''}`);
  }
  for (const key of dropped) context.out(`${key}: no longer used`);
}

async function resolve(client: Client, alias: string, { project }: Document, signal: AbortSignal): Promise<string> {
  const there = project === undefined ? client : client.inProject(project);
  try {
    return (await there.get('image_alias', plainName(alias, project), signal)).metadata.target;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const remedy =
      'declare it, or make it on the server; to follow one of another server, declare an image with source';
    throw new CliError(`the image alias ${alias} is neither declared nor on the server: ${remedy}`, exitCodes.error);
  }
}

// Reads the contents of containers that documents and records name: files by their hash, paths that commands create, snapshots. Reads
// no other containers; observe.ts reads the rest of the server.
import { stat } from 'node:fs/promises';
import { statusCodes } from '../../../server/api/status.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import type { Snapshot } from '../../../server/api/container/snapshot.ts';
import { isRefused, isNotFound, withMessage } from '../../../server/client/client-error.ts';
import { discard, readIfThere, sha256Of } from '../../../server/client/files/file-helpers.ts';
import { filesOf, type FileEntry as LiveEntry, type Files } from '../../../server/client/files/container-files.ts';
import { hidingMount } from '../../../server/client/files/hidden-files.ts';
import type { Http } from '../../../server/client/transport/http.ts';
import type { Container } from '../../../server/api/container/container.ts';
import { isUnread } from '../../../server/api/container/unread.ts';
import { coreKind } from '../../core/kinds/index.ts';
import type { Document, Json, JsonObject } from '../../core/documents/document.ts';
import { execsIn, filesIn, snapshotsIn, type Content, type FileEntry } from '../../core/documents/inside.ts';
import type { Live, Observed } from '../../core/documents/observed.ts';
import { ownedAt, recordsIn } from '../../core/ownership/owner-records.ts';
import { posix } from '../../core/text/posix-paths.ts';
import { projectOfLive } from '../../core/live/project-scope.ts';
import { chooseVolumes, memberOfVolume } from '../../core/live/volumes-of-one-name.ts';
import { plainName } from '../../core/text/scoped-name.ts';
import { waitForRunning, type OperationsClient } from '../running-operations.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { mapAtMost } from '../../../server/lib/shared/concurrency-limit.ts';

export interface InsideClient extends OperationsClient {
  readonly http: Http;
  inProject(project: string): InsideClient;
}

/** The paths and snapshots to read in one container. */
interface ContainerReads {
  readonly files: ReadonlySet<string>;
  /** Declared files that a start mounts over: nobody can see them now, so they count as they are declared. */
  readonly hidden: readonly string[];
  readonly made: ReadonlySet<string>;
  readonly document: Document | undefined;
}

const containersAtOnce = 4;
const readsAtOnce = 2;

export interface ContentsRequest {
  readonly documents: readonly Document[];
  readonly set: string;
  readonly nowMs: number;
  /** Also reads `contents` of files that are small enough for a manifest. */
  readonly keepsContents?: boolean;
}

/** An operation on a container has ended, so everything observed before is outdated. */
export class MovedError extends Error {
  override readonly name = 'MovedError';
}

/**
 * The observed state with `files`, `made` and `snapshots` on the containers that `documents` or the set's records name. Throws when a
 * container cannot be read, because a plan without that knowledge would be wrong. MovedError: the caller must observe the server again.
 */
export async function observeInside(
  client: InsideClient,
  observed: Observed,
  { documents, set, nowMs, keepsContents = false }: ContentsRequest,
  signal: AbortSignal,
): Promise<Observed> {
  const declared = new Map(
    documents.filter(({ kind }) => kind === 'container').map((one) => [coreKind('container').apiName(one), one]),
  );
  const containers = new Map(observed.containers);
  const queue = [...containers].flatMap(([key, live]) => {
    // The containers of an offline member cannot be read.
    const isOffline = observed.members?.get(live.object.location)?.status === 'Offline';
    const isAway = isOffline || isUnread(live.object);
    const wanted = isAway ? undefined : wantedOf(live, declared.get(key), set);
    return wanted === undefined ? [] : [{ key, live, wanted }];
  });
  const read = async ({ key, live, wanted }: (typeof queue)[number]): Promise<void> => {
    const project = projectOfLive(observed, live.object);
    const own = project === undefined ? client : client.inProject(project);
    const name = plainName(key, project);
    const inside = await readContainer({ http: own.http, name, wanted, nowMs, keepsContents }, signal).catch(
      async (error: unknown) => {
        // A missing file is no error here: the container itself is gone.
        if (!isRefused(error, 'busy') && !isNotFound(error)) throw error;
        await waitForRunning(own, 'container', name, signal);
        throw new MovedError(`container/${name} was busy, or was deleted`, { cause: error });
      },
    );
    containers.set(key, { ...live, object: Object.assign({}, live.object, inside) });
  };
  const volumes = await volumesWithSnapshots(client, observed, { documents, set }, signal);
  if (queue.length === 0) return volumes === observed.volumes ? observed : { ...observed, volumes };
  await mapAtMost(containersAtOnce, queue, read);
  return { ...observed, containers, volumes };
}

/** The volumes, with snapshots where their documents declare some. */
async function volumesWithSnapshots(
  client: InsideClient,
  observed: Observed,
  { documents, set }: Pick<ContentsRequest, 'documents' | 'set'>,
  signal: AbortSignal,
): Promise<Observed['volumes']> {
  const asking = documents.filter(({ kind, values }) => kind === 'storage_volume' && snapshotsIn(values).length > 0);
  if (asking.length === 0) return observed.volumes;
  const chosen = chooseVolumes(observed, documents, set).observed;
  const volumes = new Map(observed.volumes);
  for (const document of asking) {
    const key = coreKind('storage_volume').apiName(document);
    const live = chosen.volumes.get(key);
    if (live === undefined) continue;
    const { project } = document;
    const target = memberOfVolume(chosen, key);
    const own = project === undefined ? client : client.inProject(project);
    const path = `${pathOf('storage_volume', plainName(key, project))}/snapshots`;
    const snapshots = await readSnapshots(own.http, { path, target }, snapshotsIn(document.values), 0, signal);
    volumes.set(key, { ...live, object: Object.assign({}, live.object, { snapshots }) });
  }
  return volumes;
}

function wantedOf(live: Live<Container>, document: Document | undefined, set: string): ContainerReads | undefined {
  const values = document?.values ?? {};
  const owned = ownedAt(recordsIn(live.object).get(set)?.keys, ['files']);
  const declared = Object.keys(filesIn(values));
  const isHidden = (path: string): boolean => hidingMount(path, live.object) !== undefined;
  const files = new Set([...declared, ...(typeof owned === 'object' ? Object.keys(owned) : [])]);
  const hidden = [...files].filter(isHidden);
  for (const path of hidden) files.delete(path);
  const made = new Set(execsIn(values).flatMap(([, { creates }]) => creates ?? []));
  const isAsked = files.size + hidden.length + made.size + snapshotsIn(values).length > 0;
  if (!isAsked || live.object.status_code === statusCodes.error) return undefined;
  return { files, hidden: hidden.filter((path) => declared.includes(path)), made, document };
}

interface ContainerRead {
  readonly http: Http;
  readonly name: string;
  readonly wanted: ContainerReads;
  readonly nowMs: number;
  readonly keepsContents: boolean;
}

async function readContainer(
  { http, name, wanted, nowMs, keepsContents }: ContainerRead,
  signal: AbortSignal,
): Promise<JsonObject> {
  const files = filesOf(http, name);
  const declared = filesIn(wanted.document?.values ?? {});
  const seen: Record<string, Json> = {};
  const contents: Record<string, Content> = {};
  const made: Record<string, Json> = {};
  const paths = [...wanted.files].sort();
  const others = [...wanted.made].filter((path) => !wanted.files.has(path));
  await mapAtMost(readsAtOnce, paths, async (path) => {
    const keep = keepsContents ? (content: Content): void => void (contents[path] = content) : undefined;
    const entry = await named(name, path, readEntry(files, path, declared[path], keep, signal));
    if (entry !== undefined) seen[path] = { ...entry };
  });
  for (const path of wanted.hidden) seen[path] = { ...declared[path] };
  for (const path of others) {
    const entry = await named(name, path, readIfThere(files, path, signal));
    if (entry !== undefined) discard(entry);
    made[path] = entry !== undefined;
  }
  for (const path of wanted.made) made[path] ??= path in seen;
  const snapshots = snapshotsIn(wanted.document?.values ?? {});
  return {
    // Sorts, since the answers arrive in any order.
    files: Object.fromEntries(Object.entries(seen).sort(([a], [b]) => (a < b ? -1 : 1))),
    made,
    ...(keepsContents ? { contents } : {}),
    ...(snapshots.length === 0
      ? {}
      : {
          snapshots: await readSnapshots(
            http,
            { path: `${pathOf('container', name)}/snapshots` },
            snapshots,
            nowMs,
            signal,
          ),
        }),
  };
}

async function named<T>(name: string, path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    const why = reasonOf(error);
    throw withMessage(error, `cannot read ${path} in container/${name}: ${why}`);
  }
}

async function readEntry(
  files: Files,
  path: string,
  wanted: FileEntry | undefined,
  keep: KeepContent | undefined,
  signal: AbortSignal,
): Promise<FileEntry | undefined> {
  const live = await readIfThere(files, path, signal);
  return live === undefined ? undefined : entryOf(path, live, wanted, keep);
}

type KeepContent = (content: Content) => void;

async function entryOf(
  path: string,
  live: LiveEntry,
  wanted: FileEntry | undefined,
  keep: KeepContent | undefined,
): Promise<FileEntry> {
  if (live.type === 'symlink') {
    // Real LXD returns the resolved target of a relative link.
    const isAsWanted = wanted?.target !== undefined && posix.resolve(path, wanted.target) === live.target;
    return { type: 'symlink', target: isAsWanted ? wanted.target : live.target };
  }
  const owner = { mode: `0${(live.mode & 0o7777).toString(8).padStart(3, '0')}`, uid: live.uid, gid: live.gid };
  if (live.type === 'directory') return { type: 'directory', ...owner };
  const body = keep === undefined ? live.body : collected(live.body, keep);
  return { type: 'file', content: `sha256:${await sha256Of(body)}`, ...owner };
}

const maxKeptBytes = 256 * 1024;

/** Passes all bytes on, and returns the whole content at the end unless it is too large. */
async function* collected(body: AsyncIterable<Buffer>, keep: KeepContent): AsyncIterable<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= maxKeptBytes) chunks.push(chunk);
    yield chunk;
  }
  if (size > maxKeptBytes) return;
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const isText = !text.includes('\0') && Buffer.from(text).equals(bytes);
  keep(isText ? { text } : { base64: bytes.toString('base64') });
}

/** Only declared snapshots. An expired one does not count as missing. */
async function readSnapshots(
  http: Http,
  { path, target }: { readonly path: string; readonly target?: string | undefined },
  declared: ReturnType<typeof snapshotsIn>,
  nowMs: number,
  signal: AbortSignal,
): Promise<JsonObject> {
  const { metadata } = await http.send<readonly Partial<Snapshot>[]>(
    { method: 'GET', path, query: { recursion: '1', target } },
    signal,
  );
  // Older servers name them CONTAINER/SNAPSHOT.
  const taken = new Map(metadata.map((one) => [one.name?.slice(one.name.indexOf('/') + 1), one]));
  const entries = declared.flatMap(([snapshot, { expires_at: until }]): readonly (readonly [string, Json])[] => {
    const found = taken.get(snapshot);
    if (found !== undefined) return [[snapshot, describe(found)]];
    return until !== undefined && Date.parse(until) <= nowMs ? [[snapshot, { expired: true }]] : [];
  });
  return Object.fromEntries(entries);
}

function describe(found: Partial<Snapshot>): JsonObject {
  const until = Date.parse(found.expires_at ?? '');
  const isLasting = Number.isNaN(until) || until <= 0;
  return {
    description: found.description ?? '',
    ...(isLasting ? {} : { expires_at: new Date(until).toISOString() }),
    stateful: found.stateful === true,
  };
}

/** Local files that changed since their documents were read; a saved plan holds hashes, not contents. */
export async function changedContents(documents: readonly Document[]): Promise<readonly string[]> {
  const { createReadStream } = await import('node:fs');
  const changed: string[] = [];
  for (const { address, values, contents = {} } of documents) {
    for (const [path, content] of Object.entries(contents)) {
      if (!('file' in content)) continue;
      const found = await stat(content.file).catch(() => undefined);
      const hash = found?.isFile() === true ? await sha256Of(createReadStream(content.file)) : '';
      if (`sha256:${hash}` !== filesIn(values)[path]?.content) changed.push(`${address} ${path}: ${content.file}`);
    }
  }
  return changed;
}

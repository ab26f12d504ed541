// A tar archive at a URL as a source: its digest is the revision, checked before anything is unpacked.
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Source, type SourceRevision, sourceErrors } from '../source.ts';
import type { ArchiveSettings } from '../source-schema.ts';
import type { SourceContext } from '../source-context.ts';
import { keptFiles, withoutHistory } from '../files/kept-files.ts';
import { authorizationOf, dispatcherFor, get } from '../http/download.ts';
import { keep } from '../http/keep.ts';
import { unpack } from './unpack.ts';

export function openArchiveSource(name: string, settings: ArchiveSettings, context: SourceContext): Source {
  const url = readArchiveUrl(name, settings.url);
  const shown = `${url.protocol}//${url.host}${url.pathname}`;
  const files = keptFiles(name, settings, context, { noun: 'archive', shown, id: url.href });
  const { what, path, limits, folder, checkouts } = files;
  let last: { readonly etag: string | undefined; readonly revision: SourceRevision } | undefined;

  const describe = (revision: string, at: string): SourceRevision => ({
    revision,
    at,
    ...(settings.digest === undefined ? {} : { verified: { by: 'digest', key: settings.digest } as const }),
  });
  const unpacked = async (file: string, revision: string, signal: AbortSignal): Promise<void> => {
    await checkouts.make(revision, (dir) => unpack(createReadStream(file), { path, what, limits }, dir, signal));
  };
  const fetchNow = async (signal: AbortSignal): Promise<SourceRevision> => {
    // Content with a pinned digest cannot change.
    if (
      last !== undefined &&
      settings.digest === last.revision.revision &&
      (await checkouts.find(settings.digest)) !== undefined
    )
      return last.revision;
    const file = join(folder, 'download');
    const dispatcher = await dispatcherFor(settings.credentials, context.absolute);
    try {
      const isKnown = last?.etag !== undefined && (await checkouts.find(last.revision.revision)) !== undefined;
      const authorization = await authorizationOf(settings.credentials, context.absolute);
      const headers = isKnown ? { 'if-none-match': last?.etag ?? '' } : {};
      const response =
        url.protocol === 'file:'
          ? undefined
          : await get(url, { what, authorization, headers, dispatcher, okStatuses: [304] }, signal);
      if (response?.status === 304 && last !== undefined) return last.revision;
      const bytes = response === undefined ? bytesOf(fileURLToPath(url)) : (response.body ?? []);
      const revision = await keep(bytes, file, { what, limits, digest: settings.digest });
      await unpacked(file, revision, signal);
      const isSame = last?.revision.revision === revision;
      const modified = Date.parse(response?.headers.get('last-modified') ?? '');
      const at = isSame
        ? (last?.revision.at ?? '')
        : Number.isNaN(modified)
          ? context.now()
          : new Date(modified).toISOString();
      last = { etag: response?.headers.get('etag') ?? undefined, revision: describe(revision, at) };
      return last.revision;
    } finally {
      await rm(file, { force: true });
      await dispatcher.destroy();
    }
  };

  return { name, kind: 'archive', url: shown, ...withoutHistory(files, fetchNow) };
}

function readArchiveUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const why =
    url === undefined || !['https:', 'http:', 'file:'].includes(url.protocol)
      ? 'write an https, http or file URL'
      : url.username !== '' || url.password !== ''
        ? 'it holds a user name or a password; write them to credentials'
        : url.protocol === 'file:' && url.host !== ''
          ? 'a file URL has no host: file:///PATH'
          : undefined;
  if (url === undefined || why !== undefined)
    throw sourceErrors.refused(`source ${name}: the URL of the archive is not used: ${why ?? ''}`);
  return url;
}

/** Opens the file at the first read: an unread stream would crash the process if the file is absent. */
async function* bytesOf(file: string): AsyncIterable<Buffer> {
  yield* createReadStream(file) as AsyncIterable<Buffer>;
}

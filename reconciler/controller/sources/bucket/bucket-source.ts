// An S3 bucket as a source: the objects below a prefix are the files, a digest of them is the revision.
import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { SourceError, type Source, type SourceRevision } from '../source.ts';
import type { BucketSettings } from '../source-schema.ts';
import type { SourceContext } from '../source-context.ts';
import { keptFiles, withoutHistory } from '../files/kept-files.ts';
import { problemOfPath } from '../files/entry-path.ts';
import { tooLarge } from '../files/limits.ts';
import { readSecret } from '../files/secret.ts';
import { TreeWriter } from '../files/tree-writer.ts';
import { bodyText, dispatcherFor, get } from '../http/download.ts';
import { readListing, type BucketObject } from './read-listing.ts';
import { encoded, signedGet, type S3Login } from './sign-request.ts';

const maxPage = 8 * 1024 * 1024;

export function openBucketSource(name: string, settings: BucketSettings, context: SourceContext): Source {
  const { endpoint, bucket, region = 'us-east-1', credentials } = settings;
  const shown = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  const files = keptFiles(name, settings, context, { noun: 'bucket', shown });
  const { what, path, limits, checkouts } = files;
  const prefix = path === '' ? '' : `${path}/`;
  let last: { readonly marks: string; readonly revision: SourceRevision } | undefined;

  const login = async (): Promise<S3Login | undefined> => {
    if (credentials?.username === undefined || credentials.passwordFile === undefined) return undefined;
    const secretKey = await readSecret('credentials.passwordFile', context.absolute(credentials.passwordFile));
    return { accessKey: credentials.username, secretKey, region };
  };
  const ask = async (url: URL, own: S3Login | undefined, dispatcher: Dispatcher, signal: AbortSignal, more = {}) => {
    const signed = own === undefined ? { headers: more } : signedGet(url, own, new Date(context.now()), more);
    return get(url, { what, dispatcher, ...signed }, signal);
  };
  const list = async (own: S3Login | undefined, dispatcher: Dispatcher, signal: AbortSignal) => {
    const found: BucketObject[] = [];
    for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
      const url = new URL(`${shown}/`);
      const query = { 'list-type': '2', 'encoding-type': 'url', ...(prefix === '' ? {} : { prefix }) };
      for (const [key, value] of Object.entries({
        ...query,
        ...(next === undefined ? {} : { 'continuation-token': next }),
      }))
        url.searchParams.set(key, value);
      const response = await ask(url, own, dispatcher, signal);
      const page = readListing((await bodyText(response, maxPage, what)).toString('utf8'), what);
      found.push(...page.objects);
      ({ next } = page);
      const bytes = found.reduce((sum, { size }) => sum + size, 0);
      if (found.length > limits.files || bytes > limits.bytes) throw tooLarge(what, limits);
    }
    // Consoles make empty objects that stand for folders.
    const there = found.filter(({ key }) => key.startsWith(prefix) && !key.endsWith('/'));
    // Checked before the name goes into a URL, where `..` has a meaning.
    for (const { key } of there) {
      const problem = problemOfPath(key);
      if (problem !== undefined)
        throw new SourceError('refused', `${what} holds ${JSON.stringify(key)}, which is refused: ${problem}`);
    }
    return there;
  };
  const fetchNow = async (signal: AbortSignal): Promise<SourceRevision> => {
    const own = await login();
    const dispatcher = await dispatcherFor(credentials, context.absolute);
    try {
      const objects = (await list(own, dispatcher, signal)).sort((a, b) => (a.key < b.key ? -1 : 1));
      const marks = JSON.stringify(objects);
      if (last?.marks === marks && (await checkouts.find(last.revision.revision)) !== undefined) return last.revision;
      const { revision } = await checkouts.makeNamed(async (dir) => {
        const writer = new TreeWriter(dir, what, limits);
        const digest = createHash('sha256');
        for (const { key, etag } of objects) {
          const url = new URL(`${shown}/${key.split('/').map(encoded).join('/')}`);
          // Fails if the object changed since the listing; the next check reads both again.
          const response = await ask(url, own, dispatcher, signal, { 'if-match': etag });
          const bytes = await bodyText(response, limits.bytes, what);
          await writer.addFile(key.slice(prefix.length), bytes, false);
          digest.update(`${key}\0`).update(createHash('sha256').update(bytes).digest());
        }
        await writer.finish();
        return `sha256:${digest.digest('hex')}`;
      });
      const at = last?.revision.revision === revision ? last.revision.at : context.now();
      last = { marks, revision: { revision, at } };
      return last.revision;
    } finally {
      await dispatcher.destroy();
    }
  };

  return { name, kind: 'bucket', url: shown, ...withoutHistory(files, fetchNow) };
}

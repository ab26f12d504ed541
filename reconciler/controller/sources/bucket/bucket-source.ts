// An S3 bucket as a source: the objects below a prefix are the files, a digest of them is the revision.
import { createHash } from 'node:crypto';
import type { Dispatcher, Response } from 'undici';
import { mapAtMost } from '../../../../server/lib/shared/concurrency-limit.ts';
import { type Source, sourceErrors } from '../source.ts';
import type { BucketSettings } from '../source-schema.ts';
import type { SourceContext } from '../source-context.ts';
import { keptFiles, withoutHistory } from '../files/kept-files.ts';
import { problemOfPath } from '../files/entry-path.ts';
import { Budget } from '../files/limits.ts';
import { readSecret } from '../files/secret.ts';
import { ChangedError, SteadyReader } from '../files/steady-tree.ts';
import { TreeWriter } from '../files/tree-writer.ts';
import { bodyText, dispatcherFor, get } from '../http/download.ts';
import { explained } from './explain-answer.ts';
import { readListing, type BucketObject } from './read-listing.ts';
import { encoded, signedGet, type S3Login } from './sign-request.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const maxPage = 8 * 1024 * 1024;
const readsAtOnce = 8;

/** Answers one request of a check. */
type Ask = (url: URL, more?: { readonly etag: string }) => Promise<Response>;

export function openBucketSource(name: string, settings: BucketSettings, context: SourceContext): Source {
  const { endpoint, bucket, region = 'us-east-1', credentials } = settings;
  if ((credentials?.username === undefined) !== (credentials?.passwordFile === undefined))
    throw sourceErrors.refused(`source ${name}: credentials need both username and passwordFile, or neither`);
  const shown = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  const files = keptFiles(name, settings, context, { noun: 'bucket', shown });
  const { what, path, limits, checkouts } = files;
  const prefix = path === '' ? '' : `${path}/`;
  const reader = new SteadyReader<BucketObject>({ what, checkouts, now: context.now, marksOf: JSON.stringify });

  const login = async (): Promise<S3Login | undefined> => {
    if (credentials?.username === undefined || credentials.passwordFile === undefined) return undefined;
    const secretKey = await readSecret('credentials.passwordFile', context.absolute(credentials.passwordFile));
    return { accessKey: credentials.username, secretKey, region };
  };
  const asking = (own: S3Login | undefined, dispatcher: Dispatcher, signal: AbortSignal): Ask => {
    const explain = (response: Response, { host }: URL) => explained(response, { what, host, region });
    return (url, more) => {
      const match = more === undefined ? {} : { 'if-match': more.etag };
      const signed = own === undefined ? { headers: match } : signedGet(url, own, new Date(context.now()), match);
      const okStatuses = more === undefined ? [] : [404, 412];
      return get(url, { what, dispatcher, okStatuses, explain, ...signed }, signal);
    };
  };
  const list = async (ask: Ask): Promise<readonly BucketObject[]> => {
    const found: BucketObject[] = [];
    const budget = new Budget(limits, what);
    for (let next: string | undefined, isFirst = true; isFirst || next !== undefined; isFirst = false) {
      const url = new URL(`${shown}/`);
      const query = { 'list-type': '2', 'encoding-type': 'url', ...(prefix === '' ? {} : { prefix }) };
      for (const [key, value] of Object.entries({
        ...query,
        ...withoutUndefined({ 'continuation-token': next }),
      }))
        url.searchParams.set(key, value);
      const page = readListing((await bodyText(await ask(url), maxPage, what)).toString('utf8'), what);
      found.push(...page.objects);
      ({ next } = page);
      for (const { size } of page.objects) budget.addFile(size);
    }
    // Consoles make empty objects that stand for folders.
    const there = found.filter(({ key }) => key.startsWith(prefix) && !key.endsWith('/'));
    // Checked before the name goes into a URL, where `..` has a meaning.
    for (const { key } of there) {
      const problem = problemOfPath(key);
      if (problem !== undefined)
        throw sourceErrors.refused(`${what} holds ${JSON.stringify(key)}, which is refused: ${problem}`);
    }
    return there.sort((a, b) => (a.key < b.key ? -1 : 1));
  };
  const read = async ({ key, etag, size }: BucketObject, ask: Ask): Promise<Buffer> => {
    const response = await ask(new URL(`${shown}/${key.split('/').map(encoded).join('/')}`), { etag });
    if (!response.ok) {
      await response.body?.cancel();
      throw new ChangedError(`${key} has changed since it was listed`);
    }
    const bytes = await bodyText(response, limits.bytes, what);
    // What a server packed for the transfer has another size.
    if (bytes.length !== size && !response.headers.has('content-encoding'))
      throw new ChangedError(`${key} has another size than in the list`);
    return bytes;
  };
  const copy = async (objects: readonly BucketObject[], dir: string, ask: Ask): Promise<string> => {
    const writer = new TreeWriter(dir, what, limits);
    const hashes = await mapAtMost(readsAtOnce, objects, async (object) => {
      const bytes = await read(object, ask);
      await writer.addFile(object.key.slice(prefix.length), bytes, false);
      return createHash('sha256').update(bytes).digest();
    });
    await writer.finish();
    const digest = createHash('sha256');
    for (const [at, { key }] of objects.entries()) digest.update(`${key}\0`).update(hashes[at] ?? '');
    return `sha256:${digest.digest('hex')}`;
  };

  return {
    name,
    kind: 'bucket',
    url: shown,
    ...withoutHistory(files, async (signal) => {
      const own = await login();
      const dispatcher = await dispatcherFor(credentials, context.absolute);
      const ask = asking(own, dispatcher, signal);
      try {
        return await reader.read({ list: () => list(ask), copy: (found, dir) => copy(found, dir, ask) });
      } finally {
        await dispatcher.destroy();
      }
    }),
  };
}

// Reads one page of the list of a bucket (ListObjectsV2 with encoded names). Pure.
import { type SourceError, sourceErrors } from '../source.ts';

export interface BucketObject {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
}

export interface ListingPage {
  readonly objects: readonly BucketObject[];
  /** Where the next page begins; absent: this is the last one. */
  readonly next?: string;
}

export function readListing(text: string, what: string): ListingPage {
  const refuse = (why: string): SourceError =>
    sourceErrors.refused(`${what}: the server answered no list of a bucket: ${why}`);
  if (!/<ListBucketResult[\s>]/.test(text) || !text.trimEnd().endsWith('</ListBucketResult>'))
    throw refuse('it is not whole');
  if (!/<EncodingType>url<\/EncodingType>/.test(text)) throw refuse('its names are not encoded');
  const objects = [...text.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, inner = '']): BucketObject => {
    const [key, size, etag] = ['Key', 'Size', 'ETag'].map((name) => member(inner, name));
    if (key === undefined || etag === undefined || !/^\d{1,15}$/.test(size ?? ''))
      throw refuse('an object has no name, size or tag');
    return { key: decoded(key, refuse), size: Number(size), etag: entities(etag) };
  });
  const isCut = member(text, 'IsTruncated') === 'true';
  const next = member(text, 'NextContinuationToken');
  if (isCut && next === undefined) throw refuse('it is truncated but has no continuation token');
  return { objects, ...(isCut && next !== undefined ? { next: entities(next) } : {}) };
}

const member = (text: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];

const marks: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>', apos: "'", '#34': '"' };
const entities = (text: string): string => text.replaceAll(/&(#?\w+);/g, (whole, name: string) => marks[name] ?? whole);

function decoded(text: string, refuse: (why: string) => SourceError): string {
  try {
    return decodeURIComponent(entities(text).replaceAll('+', ' '));
  } catch {
    throw refuse('a name is not encoded');
  }
}

// Signs GET requests for S3 servers (AWS Signature Version 4). Pure.
import { createHash, createHmac } from 'node:crypto';

export interface S3Login {
  readonly accessKey: string;
  readonly secretKey: string;
  readonly region: string;
}

const emptyHash = createHash('sha256').update('').digest('hex');

/** The headers of the request. `authorization` is separate, since redirects to another origin must not get it. */
export function signedGet(
  url: URL,
  { accessKey, secretKey, region }: S3Login,
  at: Date,
  more: Readonly<Record<string, string>> = {},
): { readonly headers: Readonly<Record<string, string>>; readonly authorization: string } {
  const time = at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const headers = { ...more, 'x-amz-content-sha256': emptyHash, 'x-amz-date': time };
  const signed = Object.entries({ ...headers, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const request = [
    'GET',
    url.pathname,
    query,
    ...signed.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    emptyHash,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(request).digest('hex')].join('\n');
  const hmac = (key: Buffer | string, value: string): Buffer => createHmac('sha256', key).update(value).digest();
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secretKey}`);
  const signature = hmac(key, text).toString('hex');
  return {
    headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope},SignedHeaders=${names},Signature=${signature}`,
  };
}

/** The encoding that the signature requires: letters, digits and -._~ stay. */
export const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

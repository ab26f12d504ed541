// Downloads manifests and blobs from an OCI registry, with a token from the server that the registry names if it requires one.
import type { Dispatcher, Response } from 'undici';
import { sourceErrors } from '../source.ts';
import type { Credentials } from '../source-schema.ts';
import { authorizationOf, bodyText, get } from '../http/download.ts';
import { readChallenge, type OciReference } from './oci-reference.ts';

export interface RegistryOptions extends OciReference {
  readonly what: string;
  readonly dispatcher: Dispatcher;
  readonly isInsecure: boolean;
  readonly credentials: Credentials | undefined;
  readonly absolute: (path: string) => string;
}

export interface Registry {
  manifest(reference: string, signal: AbortSignal): Promise<Buffer>;
  blob(digest: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | Iterable<Uint8Array>>;
}

const maxManifest = 4 * 1024 * 1024;
const accepted = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.oci.image.index.v1+json',
];

export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { what, dispatcher, repository } = options;
  const base = new URL(`${options.isInsecure ? 'http' : 'https'}://${options.registry}/v2/${repository}/`);
  const own = await authorizationOf(options.credentials, options.absolute);
  let authorization: string | undefined;

  const ask = async (
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Response> => {
    const url = new URL(path, base);
    const first = await get(url, { what, authorization, headers, dispatcher, okStatuses: [401] }, signal);
    if (first.status !== 401) return first;
    await first.body?.cancel();
    const { origin, host } = new URL(first.url);
    // Its challenge could name any server as the one that gets the credentials.
    if (origin !== base.origin && own !== undefined)
      throw sourceErrors.denied(
        `${what}: ${host}, to which the registry redirects, asks for credentials, and those of ${base.host} are not sent there; write the final address as ref`,
      );
    authorization = await login(first.headers.get('www-authenticate'), signal);
    return get(url, { what, authorization, headers, dispatcher }, signal);
  };
  const login = async (header: string | null, signal: AbortSignal): Promise<string | undefined> => {
    const challenge = readChallenge(header);
    if (challenge === undefined) return own;
    const realm = URL.canParse(challenge.realm) ? new URL(challenge.realm) : undefined;
    if (realm === undefined || (realm.protocol !== 'https:' && !(options.isInsecure && realm.protocol === 'http:'))) {
      throw sourceErrors.refused(`${what}: the registry names a server of tokens that is not https`);
    }
    if (challenge.service !== undefined) realm.searchParams.set('service', challenge.service);
    realm.searchParams.set('scope', `repository:${repository}:pull`);
    const response = await get(realm, { what, authorization: own, dispatcher }, signal);
    const { token, access_token: other } = asObject(await bodyText(response, maxManifest, what));
    const text = typeof token === 'string' ? token : other;
    if (typeof text !== 'string' || /[^\u0021-\u007e]/.test(text))
      throw sourceErrors.denied(`${what}: ${realm.host} gave no token`);
    return `Bearer ${text}`;
  };
  return {
    async manifest(reference, signal) {
      return bodyText(await ask(`manifests/${reference}`, { accept: accepted.join(', ') }, signal), maxManifest, what);
    },
    async blob(digest, signal) {
      const response = await ask(`blobs/${digest}`, {}, signal);
      return response.body ?? [];
    },
  };
}

function asObject(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

// Parses references of OCI artefacts: REGISTRY/NAME:TAG, REGISTRY/NAME@DIGEST. Pure.
import { type SourceError, sourceErrors } from '../source.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface OciReference {
  readonly registry: string;
  readonly repository: string;
  /** Tag or digest. */
  readonly reference: string;
  readonly digest?: string;
}

const pattern =
  /^((?:[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]{1,5})?)\/([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::([A-Za-z0-9_][-A-Za-z0-9_.]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;

export function readOciReference(text: string): OciReference {
  const match = text.length > 512 ? null : pattern.exec(text.replace(/^oci:\/\//, ''));
  if (match === null)
    throw sourceErrors.refused(
      `${JSON.stringify(text.slice(0, 100))} is no reference such as registry.example.org/team/site:v1`,
    );
  const [, registry = '', repository = '', tag, digest] = match;
  const base = { registry, repository, reference: digest ?? tag ?? 'latest' };
  return digest === undefined ? base : { ...base, digest };
}

export interface Layer {
  readonly digest: string;
  readonly size: number;
}

const maxLayers = 1000;

/** The one layer of a manifest that is a packed file tree, as Flux and ORAS write it. */
export function layerOf(text: string, what: string): Layer {
  const refuse = (why: string): SourceError => sourceErrors.refused(`${what} is no artefact with files: ${why}`);
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    throw refuse('its manifest is not JSON');
  }
  const { layers, manifests } = (typeof manifest === 'object' && manifest !== null ? manifest : {}) as Record<
    string,
    unknown
  >;
  if (Array.isArray(manifests)) throw refuse('it is an index of several manifests; name one of them by its digest');
  if (!Array.isArray(layers) || layers.length > maxLayers) throw refuse('its manifest names no layers');
  const packed = layers.filter((layer: unknown) =>
    /[./+]tar(\+gzip)?$/.test(String((layer as { mediaType?: unknown } | null)?.mediaType)),
  );
  const [layer] = packed as readonly { readonly digest?: unknown; readonly size?: unknown }[];
  if (layer === undefined || packed.length > 1)
    throw refuse(`it has ${packed.length} layers of a type tar or tar+gzip, and exactly one is expected`);
  if (typeof layer.digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(layer.digest))
    throw refuse('the digest of its layer is not sha256');
  if (typeof layer.size !== 'number' || !Number.isSafeInteger(layer.size) || layer.size < 0)
    throw refuse('the size of its layer is no number');
  return { digest: layer.digest, size: layer.size };
}

/** The members of a `Www-Authenticate: Bearer` challenge. */
export function readChallenge(
  header: string | null,
): { readonly realm: string; readonly service?: string; readonly scope?: string } | undefined {
  if (header === null || header.length > 4096 || !/^Bearer /i.test(header)) return undefined;
  const members = Object.fromEntries(
    [...header.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, name, value]) => [name ?? '', value ?? '']),
  );
  const { realm, service, scope } = members;
  if (realm === undefined) return undefined;
  return { realm, ...withoutUndefined({ service, scope }) };
}

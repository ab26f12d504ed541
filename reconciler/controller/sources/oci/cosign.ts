// Verifies signatures of `cosign sign --key`: a separate artefact with the tag sha256-DIGEST.sig, whose layers are signed
// statements about the digest. Pure except for the readers that it gets.
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { SourceError, sourceErrors } from '../source.ts';
import type { Layer } from './oci-reference.ts';

export interface CosignKey {
  /** For people: the name of its file. */
  readonly name: string;
  readonly key: KeyObject;
}

export interface SignatureReader {
  readonly manifest: (reference: string) => Promise<Buffer>;
  readonly blob: (digest: string) => Promise<Buffer>;
}

const statementType = 'application/vnd.dev.cosign.simplesigning.v1+json';
const annotation = 'dev.cosignproject.cosign/signature';
const maxSignatures = 50;
const maxStatement = 64 * 1024;

export function readCosignKey(name: string, pem: string): CosignKey {
  try {
    return { name, key: createPublicKey(pem) };
  } catch (error) {
    throw sourceErrors.unavailable(`${name} is no public key in PEM: ${reasonOf(error)}`, { cause: error });
  }
}

/** The key that signed this digest; rejects as `unverified` when none did. */
export async function signerOf(
  digest: string,
  keys: readonly CosignKey[],
  reader: SignatureReader,
  what: string,
): Promise<CosignKey> {
  const unverified = (why: string): SourceError => sourceErrors.unverified(`${what} is not used: ${why}`);
  const tag = `${digest.replace(':', '-')}.sig`;
  const manifest = await reader.manifest(tag).catch((error: unknown) => {
    if (error instanceof SourceError && error.problem === 'not-found')
      throw unverified(`${digest} has no signature of cosign (no tag ${tag})`);
    throw error;
  });
  for (const { layer, signature } of signaturesIn(manifest.toString('utf8'))) {
    const statement = await reader.blob(layer.digest);
    if (statedDigest(statement) !== digest) continue;
    const signer = keys.find(({ key }) => isSignedBy(key, statement, signature));
    if (signer !== undefined) return signer;
  }
  throw unverified(`no signature of ${digest} is of ${keys.map(({ name }) => name).join(' or ')}`);
}

function isSignedBy(key: KeyObject, statement: Buffer, signature: Buffer): boolean {
  try {
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', statement, key, signature);
  } catch {
    // The signature is of another key type.
    return false;
  }
}

type Loose = Readonly<Record<string, unknown>>;
const mapOf = (value: unknown): Loose => (typeof value === 'object' && value !== null ? (value as Loose) : {});

function parsed(text: string): Loose {
  try {
    return mapOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function signaturesIn(text: string): readonly { readonly layer: Layer; readonly signature: Buffer }[] {
  const { layers } = parsed(text);
  return (Array.isArray(layers) ? (layers as readonly unknown[]) : []).slice(0, maxSignatures).flatMap((one) => {
    const { mediaType, digest, size, annotations } = mapOf(one);
    const signature = mapOf(annotations)[annotation];
    const isSound =
      mediaType === statementType &&
      typeof digest === 'string' &&
      /^sha256:[0-9a-f]{64}$/.test(digest) &&
      typeof size === 'number' &&
      size <= maxStatement &&
      typeof signature === 'string';
    return isSound ? [{ layer: { digest, size }, signature: Buffer.from(signature, 'base64') }] : [];
  });
}

/** Accepts only a cosign statement about an artefact, since a key may sign other things too. */
function statedDigest(statement: Buffer): unknown {
  const critical = mapOf(parsed(statement.toString('utf8'))['critical']);
  if (critical['type'] !== 'cosign container image signature') return undefined;
  return mapOf(critical['image'])['docker-manifest-digest'];
}

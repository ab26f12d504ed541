// Decrypts files of sops that are encrypted for keys of age or GPG, without the program: YAML and JSON. A value that was changed or moved to
// another place is detected: each value is bound to its path, and a code covers all values.
import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import { parse } from 'yaml';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf, textOf } from '../../core/documents/json-values.ts';

export class SopsError extends Error {
  override readonly name = 'SopsError';
}

export interface SopsFile {
  readonly values: JsonObject;
  readonly metadata: JsonObject;
}

/** Opens the key of a file. */
export interface KeyOpener {
  readonly method: 'age' | 'pgp';
  readonly open: (message: string) => Promise<Buffer>;
}

/** Undefined when this process cannot read it as a file of sops; the program `sops` may. */
export function readSopsFile(text: string): SopsFile | undefined {
  const tree = treeOf(text);
  if (!isMap(tree) || !isMap(tree['sops'])) return undefined;
  const { sops, ...values } = tree;
  const file = { values, metadata: sops };
  // Only the program reads files with a split key, or with a code over only some values.
  const isPlain = (sops['shamir_threshold'] ?? 0) === 0 && sops['mac_only_encrypted'] !== true;
  return isPlain && (isFor(file, 'age') || isFor(file, 'pgp')) ? file : undefined;
}

export const isFor = ({ metadata }: SopsFile, method: KeyOpener['method']): boolean =>
  entriesOf(metadata, method).length > 0;

const entriesOf = (metadata: JsonObject, method: KeyOpener['method']): readonly JsonObject[] =>
  Array.isArray(metadata[method]) ? (metadata[method] as readonly Json[]).map(mapOf) : [];

function treeOf(text: string): Json {
  try {
    return parse(text, { maxAliasCount: 0 }) as Json;
  } catch {
    // Only the program reads other formats.
    return null;
  }
}

/** Throws when no key fits or the file was changed. */
export async function decryptSops({ values, metadata }: SopsFile, openers: readonly KeyOpener[]): Promise<JsonObject> {
  const dataKey = await dataKeyOf(metadata, openers);
  const hash = createHash('sha512');
  const walk = (value: Json, path: readonly string[]): Json => {
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => walk(item, path));
    if (isMap(value))
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, [...path, key])]));
    const plain = typeof value === 'string' ? plainOf(value, dataKey, `${path.join(':')}:`) : value;
    if (plain !== null) hash.update(bytesOf(plain));
    return plain;
  };
  const tree = walk(values, []) as JsonObject;
  const mac = plainOf(textOf(metadata['mac']) ?? '', dataKey, textOf(metadata['lastmodified']) ?? '');
  const [expected, found] = [Buffer.from(hash.digest('hex').toUpperCase()), Buffer.from(textOf(mac) ?? '')];
  if (expected.length !== found.length || !timingSafeEqual(expected, found))
    throw new SopsError('its values were changed after it was encrypted');
  return tree;
}

async function dataKeyOf(metadata: JsonObject, openers: readonly KeyOpener[]): Promise<Buffer> {
  let last: unknown;
  for (const { method, open } of openers)
    for (const { enc } of entriesOf(metadata, method)) {
      try {
        return await open(textOf(enc) ?? '');
      } catch (error) {
        last = error;
      }
    }
  const [age, pgp] = [entriesOf(metadata, 'age'), entriesOf(metadata, 'pgp')];
  const names = [...age.map(({ recipient }) => textOf(recipient)), ...pgp.map(({ fp }) => textOf(fp))];
  const shown = names.slice(0, 5).map((name) => name ?? '?');
  throw new SopsError(`none of the ${kindsOf(openers)} keys decrypts it: it is for ${shown.join(', ')}`, {
    cause: last,
  });
}

const kindsOf = (openers: readonly KeyOpener[]): string =>
  [...new Set(openers.map(({ method }) => (method === 'age' ? 'age' : 'GPG')))].join(' and ');

const sealed = /^ENC\[AES256_GCM,data:(.*),iv:(.+),tag:(.+),type:(.+)\]$/s;

function plainOf(text: string, key: Buffer, path: string): Json {
  const [isSealed, data = '', iv = '', tag = '', type] = sealed.exec(text) ?? [];
  if (isSealed === undefined) return text;
  let plain: string;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'), { authTagLength: 16 });
    decipher.setAuthTag(Buffer.from(tag, 'base64'));
    decipher.setAAD(Buffer.from(path));
    plain = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]).toString('utf8');
  } catch (error) {
    throw new SopsError(`the value of ${path.slice(0, -1)} was changed or moved`, { cause: error });
  }
  if (type === 'int' || type === 'float') return Number(plain);
  return type === 'bool' ? plain === 'True' || plain === 'true' : plain;
}

const bytesOf = (value: Exclude<Json, null>): string =>
  typeof value === 'boolean' ? (value ? 'True' : 'False') : asText(value);

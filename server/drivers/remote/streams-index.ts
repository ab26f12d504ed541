// Reads the documents of a simplestreams server into a list of images, and finds one in it. Pure.
import { architectureName } from '../../api/image/architectures.ts';
import type { ImageRequest } from './driver.ts';
import { entriesOf, isFingerprint, mapOf, sizeOf, textOf, type JsonMap } from './read-values.ts';

export interface StreamFile {
  /** Below the address of the server. */
  readonly path: string;
  readonly sizeBytes: number | undefined;
  /** Lower-case hex; empty: not announced. */
  readonly sha256: string;
}

export interface StreamImage {
  readonly fingerprint: string;
  readonly metadata: StreamFile;
  /** undefined: all is in the one file. */
  readonly rootfs: StreamFile | undefined;
  readonly aliases: readonly string[];
  readonly architecture: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly expiresAt: string | undefined;
  /** YYYYMMDD and a suffix: the newest is the greatest. */
  readonly serial: string;
}

export function parseStreamIndex(document: unknown): readonly string[] {
  return entriesOf(mapOf(document)['index'])
    .map(([, entry]) => mapOf(entry))
    .filter((entry) => textOf(entry['datatype']) === 'image-downloads')
    .map((entry) => textOf(entry['path']))
    .filter((path) => path !== '')
    .slice(0, 64);
}

/** Images of one document; omits unusable ones (other formats, no date, unknown architecture). */
export function parseStreamProducts(document: unknown): readonly StreamImage[] {
  return entriesOf(mapOf(document)['products']).flatMap(([, value]) => {
    const product = mapOf(value);
    const architecture = architectureName(textOf(product['arch']));
    if (architecture === undefined) return [];
    return entriesOf(product['versions']).flatMap(([serial, version]) => {
      if (!isDated(serial)) return [];
      const image = imageOf(product, architecture, serial, mapOf(version));
      return image === undefined ? [] : [image];
    });
  });
}

function isDated(serial: string): boolean {
  const day = `${serial.slice(0, 4)}-${serial.slice(4, 6)}-${serial.slice(6, 8)}`;
  return /^\d{8}/.test(serial) && !Number.isNaN(Date.parse(day));
}

function imageOf(product: JsonMap, architecture: string, serial: string, version: JsonMap): StreamImage | undefined {
  const items = entriesOf(version['items']).map(([, item]) => mapOf(item));
  const ofType = (...types: readonly string[]): JsonMap | undefined =>
    items.find((item) => types.includes(textOf(item['ftype'])));
  const whole = ofType('lxd_combined.tar.gz', 'incus_combined.tar.gz');
  const metadata = ofType('lxd.tar.xz', 'incus.tar.xz');
  const squashfs = ofType('squashfs');
  const rootfs = squashfs ?? ofType('root.tar.xz');
  const shared = {
    aliases: textOf(product['aliases'])
      .split(',')
      .map((alias) => alias.trim())
      .filter((alias) => alias !== ''),
    architecture,
    properties: propertiesOf(product, architecture, serial, version),
    expiresAt: dayOf(textOf(product['support_eol'])),
    serial,
  };
  if (metadata !== undefined && rootfs !== undefined) {
    const own = metadata[squashfs === undefined ? 'combined_rootxz_sha256' : 'combined_squashfs_sha256'];
    const fingerprint = textOf(own ?? metadata['combined_sha256']).toLowerCase();
    if (!isFingerprint(fingerprint)) return undefined;
    return { fingerprint, metadata: fileOf(metadata), rootfs: fileOf(rootfs), ...shared };
  }
  if (whole === undefined) return undefined;
  const file = fileOf(whole);
  return isFingerprint(file.sha256)
    ? { fingerprint: file.sha256, metadata: file, rootfs: undefined, ...shared }
    : undefined;
}

const fileOf = (item: JsonMap): StreamFile => ({
  path: textOf(item['path']),
  sizeBytes: sizeOf(item['size']),
  sha256: textOf(item['sha256']).toLowerCase(),
});

function propertiesOf(
  product: JsonMap,
  architecture: string,
  serial: string,
  version: JsonMap,
): Record<string, string> {
  const named = {
    os: textOf(product['os']),
    release: textOf(product['release']),
    version: textOf(product['version']),
    label: textOf(version['label']),
  };
  const release = textOf(product['release_title']) || named.release;
  const label = named.label === '' ? '' : `(${named.label}) `;
  const description = `${named.os} ${release} ${architecture} ${label}(${serial})`.trim();
  const filled = Object.entries({ ...named, architecture, serial, description }).filter(([, text]) => text !== '');
  return Object.fromEntries(filled);
}

const dayOf = (day: string): string | undefined =>
  /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day)) ? `${day}T00:00:00Z` : undefined;

/** Newest first; within one day in order of name. */
export function sortStreamImages(images: readonly StreamImage[]): readonly StreamImage[] {
  return images.toSorted((a, b) =>
    a.serial === b.serial ? (a.fingerprint < b.fingerprint ? -1 : 1) : a.serial < b.serial ? 1 : -1,
  );
}

/** The newest matching image: an alias alone means the first architecture that has it, `ALIAS/ARCH` that one; a name that is no alias may
 *  be (part of) a fingerprint. `ambiguous`: the part matches several images. */
export function findStreamImage(
  newestFirst: readonly StreamImage[],
  wanted: Pick<ImageRequest, 'alias' | 'fingerprint' | 'architectures'>,
  host: string,
): StreamImage | 'ambiguous' | undefined {
  const name = wanted.alias === '' ? wanted.fingerprint.toLowerCase() : wanted.alias;
  if (wanted.alias !== '') {
    const found =
      byAlias(newestFirst, name, wanted.architectures) ??
      byAlias(newestFirst, plainAlias(name, host), wanted.architectures);
    if (found !== undefined) return found;
  }
  const prefix = name.toLowerCase();
  if (!/^[0-9a-f]{6,64}$/.test(prefix)) return undefined;
  const fits = newestFirst.filter((image) => image.fingerprint.startsWith(prefix));
  return new Set(fits.map((image) => image.fingerprint)).size > 1 ? 'ambiguous' : fits[0];
}

function byAlias(
  images: readonly StreamImage[],
  alias: string,
  architectures: readonly string[],
): StreamImage | undefined {
  for (const architecture of architectures) {
    const found = images.find((image) => image.architecture === architecture && image.aliases.includes(alias));
    if (found !== undefined) return found;
  }
  const slash = alias.lastIndexOf('/');
  const named = architectureName(alias.slice(slash + 1));
  if (slash <= 0 || named === undefined) return undefined;
  const base = alias.slice(0, slash);
  return images.find((image) => image.architecture === named && image.aliases.includes(base));
}

/** Ubuntu's image server omits the name prefix that others use. */
const plainAlias = (alias: string, host: string): string =>
  host === 'cloud-images.ubuntu.com' ? alias.replace(/^ubuntu\//, '') : alias;

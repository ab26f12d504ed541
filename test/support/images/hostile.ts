// Image archives that must be refused, each with the expected words of the refusal; built block by block, without tar.
import { gzipSync } from 'node:zlib';

export interface TarPiece {
  readonly name: string;
  readonly flag?: string;
  readonly link?: string;
  readonly content?: string | Buffer;
  /** A false value for the header. */
  readonly size?: number;
  readonly mode?: number;
  readonly prefix?: string;
  /** Called with the finished header, before its checksum is made. */
  readonly change?: (header: Buffer) => void;
}

const blockSize = 512;

export function tarHeader(piece: TarPiece): Buffer {
  const header = Buffer.alloc(blockSize);
  const size = piece.size ?? Buffer.byteLength(piece.content ?? '');
  header.write(piece.name, 0, 100, 'utf8');
  header.write((piece.mode ?? 0o755).toString(8).padStart(7, '0'), 100);
  header.write('0000000', 108);
  header.write('0000000', 116);
  if (size < 8 ** 11) header.write(size.toString(8).padStart(11, '0'), 124);
  else {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(size), 128);
  }
  header.write('14000000000', 136);
  header.write(piece.flag ?? '0', 156);
  header.write(piece.link ?? '', 157, 100, 'utf8');
  header.write('ustar\0', 257);
  header.write('00', 263);
  header.write(piece.prefix ?? '', 345, 155, 'utf8');
  piece.change?.(header);
  writeChecksum(header);
  return header;
}

function writeChecksum(header: Buffer): void {
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}

function blocks(piece: TarPiece): Buffer {
  const content = Buffer.from(piece.content ?? '');
  const padding = Buffer.alloc((blockSize - (content.length % blockSize)) % blockSize);
  return Buffer.concat([tarHeader(piece), content, padding]);
}

const endMark = Buffer.alloc(2 * blockSize);

export function tarOf(...pieces: readonly TarPiece[]): Buffer {
  return Buffer.concat([...pieces.map(blocks), endMark]);
}

/** An extended header with these attributes for the next member. */
export function pax(records: Readonly<Record<string, string>>, flag = 'x'): TarPiece {
  const lines = Object.entries(records).map(([key, value]) => {
    const tail = ` ${key}=${value}\n`;
    let length = tail.length + 1;
    while (String(length).length + tail.length !== length) length += 1;
    return `${length}${tail}`;
  });
  return { name: 'pax', flag, content: lines.join('') };
}

export const goodMetadata = 'architecture: x86_64\ncreation_date: 1700000000\n';
export const metadataFile: TarPiece = { name: 'metadata.yaml', content: goodMetadata, mode: 0o644 };
export const rootfsDirectory: TarPiece = { name: 'rootfs/', flag: '5' };
const file = (name: string, content = 'x'): TarPiece => ({ name, content, mode: 0o644 });
const directory = (name: string): TarPiece => ({ name, flag: '5' });
const symbolicLink = (name: string, link: string): TarPiece => ({ name, flag: '2', link });
const hardLink = (name: string, link: string): TarPiece => ({ name, flag: '1', link });

const withStart = (...more: readonly TarPiece[]): Buffer => tarOf(metadataFile, rootfsDirectory, ...more);
const whole = withStart(file('rootfs/a'));
const metadataOf = (content: string): Buffer => tarOf({ ...metadataFile, content }, rootfsDirectory, file('rootfs/a'));

export interface HostileImage {
  readonly bytes: Buffer;
  /** The chain of messages must match. */
  readonly message: RegExp;
}

/** `canary` is a path outside of any target; its name is used where an attack would write. */
export function hostileImages(canary: string): Readonly<Record<string, HostileImage>> {
  return { ...escapes(canary), ...links(canary), ...forms, ...sizes, ...missing, ...metadataFaults };
}

/** Images that tar takes and so do we, though they look hostile: each with what must be in the root file system afterwards. */
export function oddImages(canary: string): Readonly<Record<string, { readonly bytes: Buffer; readonly path: string }>> {
  const outside = canary.slice(0, canary.lastIndexOf('/'));
  const odd = (path: string, ...pieces: readonly TarPiece[]) => ({ bytes: withStart(...pieces), path });
  return {
    'an absolute name': odd('etc/inittab', file('/rootfs/etc/inittab'), file(canary)),
    'an absolute long name': odd(
      'b',
      { name: '././@LongLink', flag: 'L', content: `${canary}\0` },
      file('x'),
      file('//rootfs/b'),
    ),
    'an absolute pax name': odd('b', pax({ path: canary }), file('x'), pax({ path: '/rootfs/b' }), file('x')),
    'a hard link to an absolute name': odd('h', file('/rootfs/a'), hardLink('/rootfs/h', '/rootfs/a')),
    'a file over a symbolic link': odd('out', symbolicLink('rootfs/out', 'a'), file('rootfs/out')),
    'a symbolic link over a file': odd('out', file('rootfs/out'), symbolicLink('rootfs/out', canary)),
    'a directory over a symbolic link': odd(
      'out/evil',
      symbolicLink('rootfs/out', 'a'),
      directory('rootfs/out/'),
      file('rootfs/out/evil'),
    ),
    'a symbolic link over the same one': odd('d', symbolicLink('rootfs/d', outside), symbolicLink('rootfs/d', outside)),
    'a symbolic link over an empty directory': odd('d', directory('rootfs/d'), symbolicLink('rootfs/d', outside)),
    'the same file twice': odd('a', file('rootfs/a'), file('./rootfs/a')),
    'metadata.yaml twice': odd('a', metadataFile, file('rootfs/a')),
  };
}

function escapes(canary: string): Record<string, HostileImage> {
  return {
    'a name with ..': { bytes: withStart(file('rootfs/../../evil')), message: /"rootfs\/..\/..\/evil" leads out/ },
    'a name that is ..': { bytes: withStart(directory('..')), message: /"\.\." leads out/ },
    'a pax name with ..': { bytes: withStart(pax({ path: 'rootfs/../../x' }), file('rootfs/b')), message: /leads out/ },
    '.. in the prefix field': {
      bytes: withStart({ ...file('evil'), prefix: 'rootfs/../..' }),
      message: /"rootfs\/..\/..\/evil" leads out/,
    },
    'a sparse name with ..': {
      bytes: withStart(pax({ 'GNU.sparse.name': '../evil', 'GNU.sparse.realsize': '1' }), file('rootfs/b')),
      message: /"\.\.\/evil" leads out/,
    },
    'an empty name': { bytes: withStart(file('')), message: /"" leads out/ },
    'a NUL in a pax name': { bytes: withStart(pax({ path: 'rootfs/a\0b' }), file('x')), message: /has a NUL in it/ },
    'a NUL in a long name': {
      bytes: withStart({ name: 'l', flag: 'L', content: 'rootfs/a\0../b\0' }, file('x')),
      message: /has a NUL inside a name/,
    },
    'a name that continues after its NUL': {
      bytes: withStart({ ...file('rootfs/a'), change: (header) => header.write('../b', 20) }),
      message: /continues after a NUL/,
    },
    'names for all members': { bytes: withStart(pax({ path: canary }, 'g'), file('x')), message: /sets path of all/ },
    'two long names': {
      bytes: withStart({ name: 'l', flag: 'L', content: 'rootfs/a' }, pax({ path: 'rootfs/b' }), file('x')),
      message: /has two long names/,
    },
  };
}

function links(canary: string): Record<string, HostileImage> {
  const outside = canary.slice(0, canary.lastIndexOf('/'));
  return {
    'a file through a symbolic link': {
      bytes: withStart(symbolicLink('rootfs/out', outside), file('rootfs/out/evil')),
      message: /"rootfs\/out\/evil" passes through the symbolic link "rootfs\/out"/,
    },
    'a file through a link spelt otherwise': {
      bytes: withStart(symbolicLink('rootfs/out', outside), file('./rootfs/.//out/./evil')),
      message: /passes through the symbolic link/,
    },
    'a symbolic link over a directory': {
      bytes: withStart(file('rootfs/d/one'), symbolicLink('rootfs/d', outside), file('rootfs/d/evil')),
      message: /is there twice, as directory and as symbolic link/,
    },
    'a file over a symbolic link that leads outside': {
      bytes: withStart(symbolicLink('rootfs/out', canary), file('rootfs/out')),
      message: /"rootfs\/out" is there twice, as symbolic link and as file/,
    },
    'a directory over a symbolic link that leads outside': {
      bytes: withStart(symbolicLink('rootfs/out', outside), directory('rootfs/out/'), file('rootfs/out/evil')),
      message: /is there twice/,
    },
    'two links in a row': {
      bytes: withStart(symbolicLink('rootfs/a', '.'), symbolicLink('rootfs/a/b', outside), file('rootfs/a/b/evil')),
      message: /passes through the symbolic link "rootfs\/a"/,
    },
    'rootfs as a symbolic link': {
      bytes: tarOf(metadataFile, symbolicLink('rootfs', outside), file('rootfs/evil')),
      message: /"rootfs" is a symbolic link and must be a directory/,
    },
    'metadata.yaml as a symbolic link': {
      bytes: tarOf(symbolicLink('metadata.yaml', '/etc/passwd'), rootfsDirectory),
      message: /"metadata.yaml" is a symbolic link and must be a file/,
    },
    'metadata.yaml as a hard link': {
      bytes: tarOf(rootfsDirectory, file('x'), hardLink('metadata.yaml', 'x')),
      message: /another part|must be a file/,
    },
    'templates as a symbolic link': {
      bytes: withStart(symbolicLink('templates', '/etc')),
      message: /"templates" is a symbolic link and must be a directory/,
    },
    'a template that is a symbolic link': {
      bytes: withStart(symbolicLink('templates/a.tpl', '/etc/shadow')),
      message: /template "templates\/a.tpl" is a symbolic link/,
    },
    'a template that is a hard link into the rootfs': {
      bytes: withStart(file('rootfs/a'), hardLink('templates/a.tpl', 'rootfs/a')),
      message: /in another part of the image/,
    },
    'a hard link to an absolute path': {
      bytes: withStart(hardLink('rootfs/h', canary)),
      message: /hard link "rootfs\/h" leads to .*not before it in the image/,
    },
    'a hard link with ..': {
      bytes: withStart(hardLink('rootfs/h', '../../etc/passwd')),
      message: /outside of the image/,
    },
    'a hard link through a symbolic link': {
      bytes: withStart(symbolicLink('rootfs/out', outside), hardLink('rootfs/h', 'rootfs/out/canary')),
      message: /leads to "rootfs\/out\/canary", through a symbolic link/,
    },
    'a hard link to nothing': {
      bytes: withStart(hardLink('rootfs/h', 'rootfs/none')),
      message: /not before it in the image/,
    },
    'a hard link to a directory': { bytes: withStart(hardLink('rootfs/h', 'rootfs')), message: /a directory/ },
    'a hard link from the rootfs to metadata.yaml': {
      bytes: withStart(hardLink('rootfs/h', 'metadata.yaml')),
      message: /in another part of the image/,
    },
  };
}

const forms: Record<string, HostileImage> = {
  'an empty file': { bytes: Buffer.alloc(0), message: /unknown packing.*it is empty/ },
  'an unknown packing': { bytes: Buffer.from('PK\u0003\u0004 and so on'), message: /unknown packing.*504b0304/ },
  'cut off in a header': { bytes: whole.subarray(0, 1400), message: /cut off/ },
  'cut off in a file': {
    bytes: withStart(file('rootfs/big', 'x'.repeat(4000))).subarray(0, 3000),
    message: /cut off in file "rootfs\/big"/,
  },
  'cut off before its end mark': { bytes: whole.subarray(0, whole.length - 1024), message: /there is no end mark/ },
  'cut off in the packing': { bytes: gzipSync(whole).subarray(0, 150), message: /unexpected end of file/ },
  'damaged packing': { bytes: damage(gzipSync(whole)), message: /gzip failed|is damaged/ },
  'a wrong checksum': { bytes: damage(whole, 513 + 512), message: /checksum is wrong/ },
  'an unknown kind': { bytes: withStart({ ...file('rootfs/q'), flag: 'Q' }), message: /unknown kind "Q"/ },
  'data after its end mark': { bytes: Buffer.concat([whole, whole]), message: /data after its end mark/ },
  'a damaged extended header': {
    bytes: withStart({ name: 'p', flag: 'x', content: '99 path=rootfs/x\n' }, file('rootfs/y')),
    message: /extended header at byte \d+ of the image is damaged/,
  },
  'a giant extended header': {
    bytes: withStart({ name: 'p', flag: 'x', size: 2 ** 30 }, file('rootfs/y')),
    message: /extended header .* has 1073741824 bytes/,
  },
};

function damage(bytes: Buffer, at = Math.floor(bytes.length / 2)): Buffer {
  const copy = Buffer.from(bytes);
  for (let index = at; index < at + 8; index += 1) copy[index] = (copy[index] ?? 0) ^ 0xff;
  return copy;
}

const sizes: Record<string, HostileImage> = {
  'a file that claims more than follows': {
    bytes: withStart({ ...file('rootfs/lie'), size: 100_000 }),
    message: /cut off in file "rootfs\/lie"/,
  },
  'a file of eight exabytes': {
    bytes: withStart({ ...file('rootfs/huge'), size: 2 ** 52 }),
    message: /"rootfs\/huge" of 4503599627370496 bytes brings the image to/,
  },
  'a size that is no number': {
    bytes: withStart({ ...file('rootfs/n'), change: (header) => header.write('zzz', 124) }),
    message: /size of "rootfs\/n" in the image is not a number/,
  },
  'a negative size': {
    bytes: withStart({ ...file('rootfs/n'), change: (header) => header.fill(0xff, 124, 136) }),
    message: /size of "rootfs\/n" in the image is not a number/,
  },
  'a hole of a petabyte': {
    bytes: withStart(
      pax({ 'GNU.sparse.realsize': String(10 ** 15), 'GNU.sparse.name': 'rootfs/hole' }),
      file('rootfs/h'),
    ),
    message: /"rootfs\/hole" of 1000000000000000 bytes/,
  },
  'an old-style hole': {
    bytes: withStart({ ...file('rootfs/hole', ''), flag: 'S', change: (header) => header.write('77777777777\0', 483) }),
    message: /"rootfs\/hole" of 8589934591 bytes/,
  },
  'a symbolic link with content': {
    bytes: withStart({ ...symbolicLink('rootfs/l', 'x'), content: 'y'.repeat(600) }),
    message: /symbolic link "rootfs\/l" in the image claims 600 bytes/,
  },
  'a hard link with content': {
    bytes: withStart(file('rootfs/a'), { ...hardLink('rootfs/l', 'rootfs/a'), content: 'y' }),
    message: /claims 1 bytes of content/,
  },
  'a bomb of zeros': {
    bytes: gzipSync(withStart(file('rootfs/zeros', '\0'.repeat(3 * 1024 * 1024)))),
    message: /"rootfs\/zeros" of 3145728 bytes brings the image to/,
  },
  'a bomb after the end mark': {
    bytes: gzipSync(Buffer.concat([whole, Buffer.alloc(80 * 1024 * 1024)]), { level: 1 }),
    message: /more than \d+ bytes/,
  },
};

const missing: Record<string, HostileImage> = {
  'no metadata.yaml': { bytes: tarOf(rootfsDirectory, file('rootfs/a')), message: /it has no metadata.yaml/ },
  'metadata.yaml elsewhere': {
    bytes: tarOf(rootfsDirectory, file('rootfs/metadata.yaml')),
    message: /it has no metadata.yaml/,
  },
  'no rootfs': { bytes: tarOf(metadataFile, directory('root')), message: /it has no rootfs/ },
  'rootfs as a file': {
    bytes: tarOf(metadataFile, file('rootfs')),
    message: /"rootfs" is a file and must be a directory/,
  },
  'a giant metadata.yaml': {
    bytes: tarOf({ ...metadataFile, content: '#'.repeat(1024 * 1024 + 1) }, rootfsDirectory),
    message: /metadata.yaml of the image has 1048577 bytes/,
  },
};

export const metadataFaults: Record<string, HostileImage> = {
  'metadata that is not YAML': { bytes: metadataOf('a: [1, 2'), message: /it is not YAML/ },
  'metadata that is a list': {
    bytes: metadataOf('- a\n- b\n'),
    message: /the whole in metadata.yaml .* must be a map/,
  },
  'metadata that is empty': { bytes: metadataOf(''), message: /creation_date in metadata.yaml .* is missing or 0/ },
  'no creation date': { bytes: metadataOf('architecture: x86_64\n'), message: /creation_date .* is missing or 0/ },
  'a creation date of 0': { bytes: metadataOf('architecture: x86_64\ncreation_date: 0\n'), message: /creation_date/ },
  'a creation date that is text': {
    bytes: metadataOf('architecture: x86_64\ncreation_date: today\n'),
    message: /creation_date .* must be a whole number/,
  },
  'no architecture': { bytes: metadataOf('creation_date: 1\n'), message: /architecture .* is missing/ },
  'properties that are a list': {
    bytes: metadataOf(`${goodMetadata}properties: [a]\n`),
    message: /properties .* must be a map/,
  },
  'a property that is a map': {
    bytes: metadataOf(`${goodMetadata}properties: {os: {a: b}}\n`),
    message: /properties\.os .* must be text/,
  },
  'a template file elsewhere': {
    bytes: metadataOf(`${goodMetadata}templates: {/etc/hostname: {when: [create], template: ../../etc/shadow}}\n`),
    message: /templates\.\/etc\/hostname\.template .* must be the name of a file/,
  },
  'a template for a path with ..': {
    bytes: metadataOf(`${goodMetadata}templates: {/../etc/passwd: {when: [create], template: a}}\n`),
    message: /templates\.\/\.\.\/etc\/passwd .* must be for an absolute path/,
  },
  'a template whose trigger is a text': {
    bytes: metadataOf(`${goodMetadata}templates: {/a: {when: create, template: a}}\n`),
    message: /templates\.\/a\.when .* must be a list/,
  },
  'YAML that grows': {
    bytes: metadataOf(
      `${goodMetadata}a: &a [x,x,x,x,x,x,x,x,x]\n${'abcdefgh'
        .split('')
        .slice(1)
        .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}]\n`)
        .join('')}`,
    ),
    message: /it is not YAML.*alias/i,
  },
};

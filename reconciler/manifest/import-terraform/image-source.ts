// Converts image sources of instances and image resources: `images:debian/12` becomes the server of that remote and an alias.
import type { Expression } from '../terraform-json/expression/syntax.ts';
import { knownRemotes, type Provider } from '../terraform-json/types/ported-parts.ts';
import { fromObject, blocksNamed, insideText, objectText, quoted, type Entry } from './hcl-text.ts';
import type { Block } from './read-body.ts';
import type { Group } from './rows.ts';
import {
  argumentOf,
  UnconvertibleError,
  literalOf,
  literalText,
  referred,
  type ImageServer,
  type Source,
} from './source.ts';

export const providerOf = (block: Block): Provider =>
  block.labels[0]?.text.startsWith('incus_') === true ? 'incus' : 'lxd';

export const containerSource: Group = {
  takes: ['image', 'source_instance', 'source_file'],
  make(items, source, block) {
    const [image, file] = ['image', 'source_file'].map((name) => given(block, name));
    const copies = blocksNamed(
      items.filter(({ name }) => name === 'source_instance'),
      source,
    );
    if (copies[0] !== undefined) {
      const { values, at } = copies[0];
      const from = values.get('name');
      if (from === undefined || copies.length > 1) throw new UnconvertibleError(at, 'source_instance has no name');
      const snapshot = values.get('snapshot');
      if (values.has('project')) source.note(at, 'source_instance: a copy stays in the project of its container');
      const entries: Entry[] = [
        ['type', '"copy"'],
        ['source', source.render(from)],
      ];
      return `source = ${objectText([...entries, ...(snapshot === undefined ? [] : [['snapshot', source.render(snapshot)] as const])], 2)}`;
    }
    if (file !== undefined && image !== undefined)
      throw new UnconvertibleError(file.start, 'image and source_file are both given');
    if (file !== undefined) return `source = { type = "backup", file = ${source.render(file)} }`;
    return image === undefined
      ? ''
      : `source = ${objectText([['type', '"image"'], ...imageEntries(image, source, block)], 2)}`;
  },
};

/** The value of an argument, unless it is null. */
const given = (block: Block, name: string): Expression | undefined => {
  const value = argumentOf(block, name)?.value;
  return literalOf(value) === null ? undefined : value;
};

const isFingerprint = (text: string): boolean => /^[0-9a-f]{12,64}$/.test(text);

function imageEntries(image: Expression, source: Source, block: Block): readonly Entry[] {
  const text = source.render(image);
  const owner = image.type === 'attribute' ? referred(image.object) : undefined;
  if (image.type === 'attribute' && image.name === 'fingerprint' && owner !== undefined) return [['fingerprint', text]];
  const known = literalText(image, source.folder) ?? prefixOf(image);
  if (known === undefined) {
    source.note(image.start, `image: ${text} is taken for an alias of the server; write source as it is meant`);
    return [['alias', text]];
  }
  const [, remote, name = known] = /^([^:/]+):(.*)$/s.exec(known) ?? [];
  if (remote === undefined || remote === 'local') {
    const own = remote === undefined ? text : withoutPrefix(text, 'local:', image);
    return [[isFingerprint(name) ? 'fingerprint' : 'alias', own]];
  }
  return [
    ['mode', '"pull"'],
    ...serverEntries(serverOf(remote, image.start, source, block)),
    [isFingerprint(name) ? 'fingerprint' : 'alias', withoutPrefix(text, `${remote}:`, image)],
  ];
}

/** The text in front of the first interpolation: `images:` in `"images:${var.name}"`. */
const prefixOf = (image: Expression): string | undefined =>
  image.type === 'template' && typeof image.parts[0] === 'string' ? image.parts[0] : undefined;

const withoutPrefix = (text: string, prefix: string, image: Expression): string =>
  image.type === 'literal' || image.type === 'template'
    ? text.replace(`"${prefix}`, '"')
    : `trimprefix(${text}, ${quoted(prefix)})`;

export function serverOf(remote: string, at: number, source: Source, block: Block): ImageServer {
  const known = knownRemotes[providerOf(block)][remote];
  const server =
    source.folder.remotes.get(remote) ??
    (known === undefined ? undefined : { server: known, protocol: 'simplestreams' });
  if (server === undefined)
    throw new UnconvertibleError(
      at,
      `the remote ${remote} is in no provider block of this folder, so its address is not known`,
    );
  return server;
}

export const serverEntries = ({ server, protocol }: ImageServer): readonly Entry[] => [
  ['server', quoted(server)],
  ['protocol', quoted(protocol)],
];

/** `,image=...` of the id of an import, which keeps the next plan empty. */
export function importedImage(block: Block, source: Source): string {
  const image = given(block, 'image');
  // The server knows the image of a container; the fingerprint of another resource is not known before the plan.
  if (image === undefined || (image.type === 'attribute' && image.name === 'fingerprint')) return '';
  const entries = new Map(imageEntries(image, source, block));
  const name = insideText(entries.get('alias') ?? entries.get('fingerprint') ?? '""');
  const server = entries.get('server');
  return `,image=${server === undefined ? '' : `${insideText(server)}/`}${name}`;
}

/** The source of a cached image: `source_remote` and `source_image`, or the objects of the provider for Incus. */
export const imageSource: Group = {
  takes: [
    'source_remote',
    'source_image',
    'source_file',
    'source_instance',
    'instance',
    'container',
    'copy_aliases',
    'type',
  ],
  make(items, source, block) {
    const type = argumentOf(block, 'type')?.value;
    if (type !== undefined && literalText(type, source.folder) !== 'container')
      throw new UnconvertibleError(type.start, 'only images of containers are managed');
    const whole = sourceOfImage(block, source);
    const copied = whole.copies ?? copiedOf(block, source);
    return `source = ${objectText(whole.entries, 2)}${copied === undefined ? '' : `\n  copy_aliases = ${copied}`}`;
  },
};

/** The provider for LXD copies aliases by default. */
function copiedOf(block: Block, source: Source): string | undefined {
  const own = argumentOf(block, 'copy_aliases')?.value;
  if (own !== undefined) return source.render(own);
  return argumentOf(block, 'source_remote') === undefined ? undefined : 'true';
}

interface ImageSourceText {
  readonly entries: readonly Entry[];
  readonly copies?: string | undefined;
}

function sourceOfImage(block: Block, source: Source): ImageSourceText {
  const render = (value: Expression): string => source.render(value);
  const instance = (argumentOf(block, 'instance') ?? argumentOf(block, 'container'))?.value;
  if (instance !== undefined)
    return {
      entries: [
        ['type', '"container"'],
        ['container', render(instance)],
      ],
    };
  const from = argumentOf(block, 'source_instance')?.value;
  if (from !== undefined) {
    const { values } = fromObject(from);
    const snapshot = values.get('snapshot');
    const name = values.get('name') ?? from;
    return {
      entries: [
        ['type', snapshot === undefined ? '"container"' : '"snapshot"'],
        ['container', render(name)],
        ...(snapshot === undefined ? [] : [['snapshot', render(snapshot)] as const]),
      ],
    };
  }
  const file = argumentOf(block, 'source_file')?.value;
  if (file !== undefined) {
    const { values } = fromObject(file);
    const metadata = values.get('metadata_path');
    return {
      entries: [
        ['type', '"file"'],
        ['file', render(values.get('data_path') ?? file)],
        ...(metadata === undefined ? [] : [['metadata', render(metadata)] as const]),
      ],
    };
  }
  return remoteImage(block, source);
}

function remoteImage(block: Block, source: Source): ImageSourceText {
  const written = argumentOf(block, 'source_image')?.value;
  if (written === undefined) throw new UnconvertibleError(block.start, 'it has no source');
  const values = written.type === 'object' ? fromObject(written).values : new Map<string, Expression>();
  const remote = values.get('remote') ?? argumentOf(block, 'source_remote')?.value;
  const name = values.get('name') ?? written;
  const remoteName = remote === undefined ? undefined : literalText(remote, source.folder);
  if (remoteName === undefined)
    throw new UnconvertibleError(written.start, 'its remote is computed, so the address of the server is not known');
  const text = literalText(name, source.folder);
  const architecture = values.get('architecture');
  const kind = values.get('type');
  if (kind !== undefined && literalText(kind, source.folder) !== 'container')
    throw new UnconvertibleError(kind.start, 'only images of containers are managed');
  const copies = values.get('copy_aliases');
  return {
    entries: [
      ['type', '"remote"'],
      ...serverEntries(serverOf(remoteName, written.start, source, block)),
      [text !== undefined && isFingerprint(text) ? 'fingerprint' : 'alias', source.render(name)],
      ...(architecture === undefined ? [] : [['architecture', source.render(architecture)] as const]),
    ],
    copies: copies === undefined ? undefined : source.render(copies),
  };
}

/** The aliases of an image resource: the list `aliases`, or for Incus a block `alias` each. */
export function aliasesOf(
  block: Block,
  source: Source,
): { readonly start: number; readonly forEach: string; readonly areDescribed: boolean } | undefined {
  const list = argumentOf(block, 'aliases')?.value;
  if (list !== undefined) return { start: list.start, forEach: `toset(${source.render(list)})`, areDescribed: false };
  const blocks = block.items.filter(
    (item): item is Block => item.type === 'block' && (item.name === 'alias' || item.labels[0]?.text === 'alias'),
  );
  const [first] = blocks;
  if (first === undefined) return undefined;
  const entries = blocks.map((each): Entry => {
    const [name, description] = ['name', 'description'].map((key) => argumentOf(each, key)?.value);
    if (name === undefined) throw new UnconvertibleError(each.start, 'the name of the alias is not given here');
    return [`(${source.render(name)})`, description === undefined ? '""' : source.render(description)];
  });
  return { start: first.start, forEach: objectText(entries, 2), areDescribed: true };
}

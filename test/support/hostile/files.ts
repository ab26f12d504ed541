// Files that cost a careless server much time: images and backups whose YAML, names or members are many, deep or long.
import { goodMetadata, metadataFile, pax, rootfsDirectory, tarOf, type TarPiece } from '../images/hostile.ts';

const mib = 1024 * 1024;
const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_none, index) => line(index)).join('\n');
const repeated = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));

/** YAML of at most a megabyte. */
export const yamlBodies: Readonly<Record<string, string>> = {
  '80,000 keys': lines(80_000, (index) => `k${index}: 1`),
  '15,000 keys of a map': `${goodMetadata}properties:\n${lines(15_000, (index) => `  k${index}: 1`)}`,
  'maps in maps': repeated('{a: ', mib - 1),
  'lists in lists': repeated('[', mib - 1),
  'dashes in dashes': `- ${repeated('- ', mib - 10)}`,
  'indented ever deeper': lines(1400, (index) => `${' '.repeat(index)}a:`),
  'aliases of aliases': `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${lines(60, (index) => `a${index + 1}: &a${index + 1} [*a${index},*a${index},*a${index},*a${index},*a${index},*a${index},*a${index},*a${index},*a${index}]`)}`,
  '40,000 anchors': lines(40_000, (index) => `- &a${index} x`),
  '30,000 templates': `${goodMetadata}templates:\n${lines(15_000, (index) => `  /t${index}: {when: [start], template: t}`)}`,
  'a long quoted text': `a: "${repeated('\\x41', mib - 20)}"`,
  'an open quote': `a: "${repeated('x\n\n', mib - 20)}`,
  'a long folded text': `a: >\n${repeated(' x y\n\n', mib - 20)}`,
  'many documents': repeated('--- a\n', mib),
  'many comments': `${repeated('# x\n', mib - 100)}${goodMetadata}`,
  'many tags': repeated('- !!str x\n', mib),
  'many colons': repeated('a: b: ', mib),
  'question marks': repeated('? ', mib),
  'tabs and spaces': repeated(' \t', mib),
};

const imageOf = (metadata: string): Buffer => tarOf({ ...metadataFile, content: metadata }, rootfsDirectory);
const deep = repeated('a/', 900_000);
const many = (count: number): TarPiece[] =>
  Array.from({ length: count }, (_none, index) => ({ name: `rootfs/${index}`, content: '' }));

/** Whole images. */
export const imageBodies = (): Readonly<Record<string, Buffer>> => ({
  ...Object.fromEntries(Object.entries(yamlBodies).map(([what, text]) => [`metadata.yaml: ${what}`, imageOf(text)])),
  'a path of 450,000 directories': tarOf(metadataFile, rootfsDirectory, pax({ path: `rootfs/${deep}x` }), {
    name: 'rootfs/x',
    content: 'x',
  }),
  'a link to a path of 450,000 directories': tarOf(
    metadataFile,
    rootfsDirectory,
    pax({ linkpath: `rootfs/${deep}x` }),
    { name: 'rootfs/h', flag: '1', link: 'x' },
  ),
  '40,000 members': tarOf(metadataFile, rootfsDirectory, ...many(40_000)),
  '20,000 facts of a member': tarOf(
    metadataFile,
    rootfsDirectory,
    pax(Object.fromEntries(Array.from({ length: 20_000 }, (_none, index) => [`SCHILY.xattr.user.k${index}`, 'x']))),
    { name: 'rootfs/x', content: 'x' },
  ),
  'no archive but zeros': Buffer.alloc(16 * mib),
  'no archive but text': Buffer.from(repeated('metadata.yaml ', 4 * mib)),
});

const backupOf = (index: string, more: readonly TarPiece[] = []): Buffer =>
  tarOf({ name: 'backup/index.yaml', content: index }, ...more);
const goodIndex = 'name: h\nbackend: dir\npool: default\nsnapshots: []\noptimized: false\ntype: container\n';
const container = (text: string): string =>
  `${goodIndex}config:\n  container:\n    name: h\n    architecture: x86_64\n    profiles: [default]\n${text}`;

/** Whole backups. */
export const backupBodies = (): Readonly<Record<string, Buffer>> => ({
  ...Object.fromEntries(Object.entries(yamlBodies).map(([what, text]) => [`index.yaml: ${what}`, backupOf(text)])),
  'index.yaml: 8 MB of keys': backupOf(lines(600_000, (index) => `key${index}: 1`).slice(0, 8 * mib)),
  'index.yaml: 60,000 keys of config': backupOf(
    container(`    config:\n${lines(60_000, (index) => `      limits.c${index}: 1`)}\n`),
  ),
  'index.yaml: 20,000 devices': backupOf(
    container(`    devices:\n${lines(20_000, (index) => `      d${index}: {type: nicc}`)}\n`),
  ),
  'index.yaml: 60,000 snapshots': backupOf(
    `${goodIndex}${lines(1, () => '')}\nsnapshots:\n${lines(60_000, (index) => `- s${index}`)}\n`,
  ),
  'backup.yaml: 80,000 keys': backupOf(goodIndex, [
    { name: 'backup/container/', flag: '5' },
    { name: 'backup/container/backup.yaml', content: yamlBodies['80,000 keys'] ?? '' },
    { name: 'backup/container/rootfs/', flag: '5' },
  ]),
});

// Declares `gantry update` and the verbs of the group `gantry image`.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { lockFileFlag, manifestArgs, manifestFlags } from '../../flags/manifest-flags.ts';
import type { Argument, OptionsOf, Verb } from '../../flags/verb.ts';

export const update = {
  name: 'update',
  summary: 'pin image aliases to their current fingerprints in gantry.lock',
  args: manifestArgs,
  flags: {
    ...manifestFlags,
    ...hostFlags,
    ...lockFileFlag,
    ...inSection('Execution:', {
      commit: toggle('--commit', 'also commit gantry.lock to the git repository that it is in'),
      branch: text('--branch <name>', 'commit to this new branch instead; the working tree stays as it is'),
      push: toggle('--push', 'push the branch with the commit to its remote'),
    }),
    ...inSection('Output:', {
      detailedExitcode: toggle('--detailed-exitcode', 'exit with 2 when a fingerprint changed'),
    }),
  },
} satisfies Verb;
export type UpdateOptions = OptionsOf<typeof update>;

const anImage = 'alias, fingerprint, or the beginning of a fingerprint';
const newImageFlags = {
  ...hostFlags,
  alias: list('--alias <name>', 'alias of the image; may be repeated'),
  property: list('--property <name=value>', 'set a property; may be repeated'),
  public: toggle('--public', 'let everyone who reaches the server fetch it'),
};

export const imageList = {
  name: 'image list',
  alias: 'ls',
  summary: 'list the images of the server',
  args: [['[text...]', 'only images with these texts in alias, fingerprint or properties']],
  flags: hostFlags,
} satisfies Verb;

export const imageImport = {
  name: 'image import',
  summary: 'upload image files, or fetch the image at an https address',
  args: [
    ['<file>', 'image file, metadata file, or address'],
    ['[rootfs]', 'root file system, if it is a separate file'],
  ],
  flags: newImageFlags,
} satisfies Verb;
export type ImageImportOptions = OptionsOf<typeof imageImport>;

export const imageCopy = {
  name: 'image copy',
  summary: 'fetch an image from another server',
  args: [['<image>', `REMOTE:ALIAS (gantry remote list), or with --from ${anImage}`, 'source']],
  flags: {
    ...newImageFlags,
    from: text('--from <url>', 'server that has the image (default: the remote of the image)'),
    protocol: text('--protocol <name>', 'svc (default) or simplestreams'),
    fromCert: text('--from-cert <file>', 'accept only this certificate of that server, PEM'),
    secret: text('--secret <secret>', 'secret of a private image'),
    copyAliases: toggle('--copy-aliases', 'copy its aliases too'),
    autoUpdate: toggle('--auto-update', 'keep the image up to date'),
  },
} satisfies Verb;
export type ImageCopyOptions = OptionsOf<typeof imageCopy>;

export const imagePublish = {
  name: 'image publish',
  summary: 'make an image from a stopped container or a snapshot',
  args: [['<container[/snapshot]>', 'container or snapshot to publish', 'container']],
  flags: {
    ...newImageFlags,
    compression: text('--compression <program>', 'none, gzip, zstd, xz, ... (default: images.compression_algorithm)'),
  },
} satisfies Verb;
export type ImagePublishOptions = OptionsOf<typeof imagePublish>;

export const imageExport = {
  name: 'image export',
  summary: 'download image files',
  args: [
    ['<image>', anImage],
    ['[file]', 'file to create, or - for stdout (default: the name that the server gives)'],
  ],
  flags: hostFlags,
} satisfies Verb;

export const imageRefresh = {
  name: 'image refresh',
  summary: 'fetch the newest version of an image from its source',
  args: [['<image>', anImage, 'image']],
  flags: hostFlags,
} satisfies Verb;

export const imageDelete = {
  name: 'image delete',
  alias: 'rm',
  summary: 'delete images',
  args: [['<image...>', anImage, 'image']],
  flags: hostFlags,
} satisfies Verb;

export const imageAlias = {
  name: 'image alias',
  summary: 'create an alias, or point it to another image: gantry image alias NAME IMAGE',
  args: [
    ['<name>', 'the alias'],
    ['<image>', anImage],
  ],
  flags: hostFlags,
} satisfies Verb;

const remoteName: Argument = ['<name>', 'short name, written before the colon of an image', 'remote'];

export const remoteList = {
  name: 'remote list',
  alias: 'ls',
  summary: 'list servers of images and their short names',
  flags: {},
} satisfies Verb;

export const remoteAdd = {
  name: 'remote add',
  summary: 'give a server of images a short name, for launch and image copy',
  args: [remoteName, ['<url>', 'https://HOST[:PORT][/PATH]']],
  flags: { protocol: text('--protocol <name>', 'simplestreams (default), svc or lxd') },
} satisfies Verb;
export type RemoteAddOptions = OptionsOf<typeof remoteAdd>;

export const remoteRemove = {
  name: 'remote remove',
  alias: 'rm',
  summary: 'forget the short name of a server',
  args: [remoteName],
  flags: {},
} satisfies Verb;

export const imageUnalias = {
  name: 'image unalias',
  summary: 'delete aliases; the images stay',
  args: [['<name...>', 'aliases', 'image']],
  flags: hostFlags,
} satisfies Verb;

// Declares `gantry update` and the verbs of the group `gantry image`.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { lockFileFlag, manifestArgs, manifestFlags } from '../../flags/manifest-flags.ts';
import { type Argument, type OptionsOf, verb } from '../../flags/verb.ts';

export const update = verb('update', 'pin image aliases to their current fingerprints in gantry.lock', {
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
});
export type UpdateOptions = OptionsOf<typeof update>;

const anImage = 'alias, fingerprint, or the beginning of a fingerprint';
const newImageFlags = {
  ...hostFlags,
  alias: list('--alias <name>', 'alias of the image; may be repeated'),
  property: list('--property <name=value>', 'set a property; may be repeated'),
  public: toggle('--public', 'let everyone who reaches the server fetch it'),
};

export const imageList = verb('image list', 'list the images of the server', {
  alias: 'ls',
  args: [['[text...]', 'only images with these texts in alias, fingerprint or properties']],
  flags: hostFlags,
});

export const imageImport = verb('image import', 'upload image files, or fetch the image at an https address', {
  args: [
    ['<file>', 'image file, metadata file, or address'],
    ['[rootfs]', 'root file system, if it is a separate file'],
  ],
  flags: newImageFlags,
});
export type ImageImportOptions = OptionsOf<typeof imageImport>;

export const imageCopy = verb('image copy', 'fetch an image from another server', {
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
});
export type ImageCopyOptions = OptionsOf<typeof imageCopy>;

export const imagePublish = verb('image publish', 'make an image from a stopped container or a snapshot', {
  args: [['<container[/snapshot]>', 'container or snapshot to publish', 'container']],
  flags: {
    ...newImageFlags,
    compression: text('--compression <program>', 'none, gzip, zstd, xz, ... (default: images.compression_algorithm)'),
  },
});

export const imageExport = verb('image export', 'download image files', {
  args: [
    ['<image>', anImage],
    ['[file]', 'file to create, or - for stdout (default: the name that the server gives)'],
  ],
  flags: hostFlags,
});

export const imageRefresh = verb('image refresh', 'fetch the newest version of an image from its source', {
  args: [['<image>', anImage, 'image']],
  flags: hostFlags,
});

export const imageDelete = verb('image delete', 'delete images', {
  alias: 'rm',
  args: [['<image...>', anImage, 'image']],
  flags: hostFlags,
});

export const imageAlias = verb(
  'image alias',
  'create an alias, or point it to another image: gantry image alias NAME IMAGE',
  {
    args: [
      ['<name>', 'the alias'],
      ['<image>', anImage],
    ],
    flags: hostFlags,
  },
);

const remoteName: Argument = ['<name>', 'short name, written before the colon of an image', 'remote'];

export const remoteList = verb('remote list', 'list servers of images and their short names', {
  alias: 'ls',
  flags: {},
});

export const remoteAdd = verb('remote add', 'give a server of images a short name, for launch and image copy', {
  args: [remoteName, ['<url>', 'https://HOST[:PORT][/PATH]']],
  flags: { protocol: text('--protocol <name>', 'simplestreams (default), svc or lxd') },
});

export const remoteRemove = verb('remote remove', 'forget the short name of a server', {
  alias: 'rm',
  args: [remoteName],
  flags: {},
});

export const imageUnalias = verb('image unalias', 'delete aliases; the images stay', {
  args: [['<name...>', 'aliases', 'image']],
  flags: hostFlags,
});

// The `gantry image` group as commander knows it; each command's code is loaded when it runs.
import { Option, type Command } from 'commander';
import type { OpenContext } from '../../session/context.ts';
import type { ExitCode } from '../../errors/exit-codes.ts';
import type { CliOptions } from '../../flags/options.ts';

export type AddCommand = (
  name: string,
  description: string,
  shape: (command: Command) => Command,
  work: (context: OpenContext, args: readonly string[], options: CliOptions) => Promise<ExitCode>,
  group: Command,
) => Command;

/** What images may be given when they are made. */
export interface ImageOptions extends CliOptions {
  readonly alias?: readonly string[];
  readonly property?: readonly string[];
  readonly public?: boolean;
  readonly autoUpdate?: boolean;
  readonly copyAliases?: boolean;
  readonly from?: string;
  readonly protocol?: string;
  readonly secret?: string;
  readonly fromCert?: string;
  readonly compression?: string;
}

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

const withFacts = (command: Command): Command =>
  command
    .addOption(new Option('--alias <name>', 'name for the image; may be repeated').argParser(collect))
    .addOption(new Option('--property <name=value>', 'set a property; may be repeated').argParser(collect))
    .addOption(new Option('--public', 'anybody who reaches the server may fetch it'));

const anImage = 'alias, or fingerprint or the beginning of one';

export function addImageCommands(add: AddCommand, program: Command, withHost: (command: Command) => Command): void {
  const image = program
    .command('image')
    .description('images: list, import, export, copy, publish, refresh, delete, alias');
  add(
    'list',
    'images of the server',
    (command) => withHost(command.argument('[text...]', 'only those with these in alias, fingerprint or properties')),
    async (context, args) => (await import('./image-list.ts')).listImages(context, args),
    image,
  ).alias('ls');
  add(
    'import',
    'upload image files, or fetch the image behind an https address',
    (command) =>
      withHost(
        withFacts(
          command
            .argument('<file>', 'the image or its metadata, or an address')
            .argument('[rootfs]', 'its root file system, where that is a file of its own'),
        ),
      ),
    async (context, args, options) => (await import('./image-make.ts')).importImage(context, args, options),
    image,
  );
  add(
    'copy',
    'fetch an image from another server',
    (command) =>
      withHost(withFacts(command.argument('<image>', anImage)))
        .addOption(new Option('--from <url>', 'the server that has it').makeOptionMandatory())
        .addOption(new Option('--protocol <name>', 'svc (default) or simplestreams'))
        .addOption(new Option('--from-cert <file>', 'the one certificate of that server to accept, PEM'))
        .addOption(new Option('--secret <secret>', 'opens a private image'))
        .addOption(new Option('--copy-aliases', 'take its aliases along'))
        .addOption(new Option('--auto-update', 'keep it current')),
    async (context, args, options) => (await import('./image-make.ts')).copyImage(context, args, options),
    image,
  );
  add(
    'publish',
    'make an image of a stopped container or of a snapshot',
    (command) =>
      withHost(withFacts(command.argument('<container[/snapshot]>', 'what to publish'))).addOption(
        new Option('--compression <program>', 'none, gzip, zstd, xz ... (default: images.compression_algorithm)'),
      ),
    async (context, args, options) => (await import('./image-make.ts')).publishImage(context, args, options),
    image,
  );
  add(
    'export',
    'download image files',
    (command) =>
      withHost(command.argument('<image>', anImage).argument('[file]', 'here; - for stdout (default: its own name)')),
    async (context, args) => (await import('./image-export.ts')).exportImage(context, args),
    image,
  );
  add(
    'refresh',
    'look for a newer version at its source',
    (command) => withHost(command.argument('<image>', anImage)),
    async (context, args) => (await import('./image-change.ts')).refreshImage(context, args),
    image,
  );
  add(
    'delete',
    'delete images',
    (command) => withHost(command.argument('<image...>', anImage)),
    async (context, args) => (await import('./image-change.ts')).deleteImages(context, args),
    image,
  ).alias('rm');
  add(
    'alias',
    'give an image a name, or another image the name: gantry image alias NAME IMAGE',
    (command) => withHost(command.argument('<name>', 'the alias').argument('<image>', anImage)),
    async (context, args) => (await import('./image-change.ts')).setAlias(context, args),
    image,
  );
  add(
    'unalias',
    'take names away; the images stay',
    (command) => withHost(command.argument('<name...>', 'aliases')),
    async (context, args) => (await import('./image-change.ts')).deleteAliases(context, args),
    image,
  );
}

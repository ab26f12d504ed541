// `gantry events`, `gantry wait` and `gantry preseed` as commander knows them; each command's code is loaded when it runs.
import { Option } from 'commander';
import type { OpenContext } from '../../session/context.ts';
import type { VerbParts } from '../../program/verb-commands.ts';

const collect = (value: string, earlier: readonly string[] | undefined): readonly string[] => [
  ...(earlier ?? []),
  value,
];

export function addWatchCommands({ add, program, withHost }: Omit<VerbParts, 'withManifests'>): void {
  add(
    'events',
    'what happens on the server, as it happens, until Ctrl-C',
    (command) =>
      withHost(command)
        .addOption(new Option('-f, --follow', 'the default: servers keep no events').hideHelp())
        .addOption(
          new Option('--type <type>', 'lifecycle (default), operation or logging; may be repeated').argParser(collect),
        )
        .addOption(new Option('--for <duration>', 'end after this long')),
    async (context, _args, options) => (await import('./events.ts')).events(context, options as object),
    program,
  );
  add(
    'wait',
    'until containers are ready: as manage.wait of the manifests given with -f says, or --for',
    (command) =>
      withHost(command.argument('[container...]', 'NAME or container/NAME (default: all of the manifests)'))
        .addOption(new Option('-f, --file <path>', 'manifests; may be repeated').argParser(collect))
        .addOption(new Option('--var <name=value>', 'set a variable; may be repeated').argParser(collect))
        .addOption(new Option('--env <name>', 'with the files of overlays/NAME'))
        .addOption(
          new Option(
            '--for <condition>',
            'ready (default), running, ipv4[=NIC], ipv6[=NIC], tcp=PORT, file=/PATH, cloud_init; may be repeated',
          ).argParser(collect),
        ),
    async (context, args, options) =>
      (await import('./wait.ts')).wait(context, args, (options as { for?: readonly string[] }).for),
    program,
  );
  add(
    'preseed',
    "apply a preseed document without asking, as the server's own `init --preseed` does: nothing is taken away",
    (command) => withHost(command.argument('[file]', 'the document; - or nothing for stdin')),
    async (context, args) => {
      const { apply } = await import('../applying/apply.ts');
      // What prints, asks and interrupts is still that of the command.
      const approved: OpenContext = Object.assign(Object.create(context) as OpenContext, {
        options: { ...context.options, autoApprove: true },
      });
      return apply(approved, [args[0] ?? '-'], 'apply');
    },
    program,
  );
}

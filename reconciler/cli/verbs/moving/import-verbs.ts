// Declares the verbs that convert the declarations of other tools into manifests.
import { inSection, text, toggle } from '../../flags/flag.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const importCompose = verb(
  'import compose',
  'write manifests for the services of a compose file, and list what is not converted',
  {
    args: [['[file]', 'the compose file, or its folder (default: this one); - for stdin']],
    flags: {
      pool: text('--pool <name>', 'storage pool of the volumes (default: default)'),
      profile: text('--profile <name>', 'profile of the containers, with their root disk (default: default)'),
      ...inSection('Output:', {
        output: text('-o, --output <file>', 'manifest to write (default: stdout)'),
        force: toggle('--force', 'overwrite an existing file'),
      }),
    },
    examples: [
      'gantry import compose compose.yaml -o stack.yaml',
      'gantry import compose compose.yaml --pool main --profile base   # on a host of gantry init',
    ],
  },
);
export type ImportComposeOptions = OptionsOf<typeof importCompose>;

export const importTerraform = verb(
  'import lxd-terraform',
  'convert a Terraform configuration for LXD or Incus to the gantry provider, and list what is not converted',
  {
    args: [['<dir>', 'folder of the configuration, with its modules']],
    flags: inSection('Output:', {
      output: text('-o, --output <dir>', 'new folder for the whole configuration (default: print what changes)'),
      import: toggle('--import', 'write import blocks, for objects without a state, instead of moved blocks'),
    }),
    examples: ['gantry import lxd-terraform infra -o infra-gantry'],
  },
);
export type ImportTerraformOptions = OptionsOf<typeof importTerraform>;

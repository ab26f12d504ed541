// Declares the verbs around manifests and this program: init, fmt, explain, completion, doctor and the like.
import { inSection, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag } from '../../flags/host-flags.ts';
import { approveFlag } from '../../flags/plan-flags.ts';
import { manifestArgs, manifestFlags } from '../../flags/manifest-flags.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const init = verb(
  'init',
  'write first manifests and their schema for editors, and make a first container of them',
  {
    args: [['[dir]', 'directory (default: the current one)']],
    flags: {
      ...hostFlags,
      template: text('--template <name>', 'only write manifests: container, database, environments or fleet'),
      image: text(
        '--image <image>',
        'image of the first container: REMOTE:ALIAS, an alias of the server, busybox or debootstrap',
      ),
      name: text('--name <name>', 'name of the first container'),
      ...approveFlag,
      yes: toggle('--yes', 'do not ask', { isHidden: true }),
    },
    examples: ['gantry init', 'gantry init web --yes', 'gantry init db --template database'],
  },
);
export type InitOptions = OptionsOf<typeof init>;

export const fmt = verb('fmt', 'format manifests, keeping comments', {
  args: manifestArgs,
  flags: { ...manifestFlags, check: toggle('--check', 'only list files that are not formatted; exit code 1') },
});
export type FmtOptions = OptionsOf<typeof fmt>;

export const explain = verb(
  'explain',
  'explain a manifest key, as in explain container.devices.nic, or Terraform JSON: explain terraform',
  {
    args: [['[kind.path]', 'a kind and a key in it (default: list the kinds)', 'key']],
    flags: {},
    examples: ['gantry explain container', 'gantry explain container.config.limits.memory'],
  },
);

export const docs = verb('docs', 'show the pages of documentation that came with this program', {
  args: [['[topic...]', 'as in kinds/container or drift (default: list the topics)']],
  flags: {
    ...inSection('Output:', { pager: toggle('--no-pager', 'do not show pages through $PAGER') }),
    search: text('--search <words>', 'print the lines that hold these words'),
    open: toggle('--open', 'open the pages in a browser, with their search'),
  },
  examples: ['gantry docs kinds/container', 'gantry docs --search limits.memory', 'gantry docs --open'],
});
export type DocsOptions = OptionsOf<typeof docs>;

export const schema = verb('schema', 'print the JSON Schema of manifests', { flags: {} });

export const completion = verb('completion', 'print a completion script for bash, zsh or fish', {
  takesEmptyWords: true,
  args: [
    ['<shell>', 'bash, zsh or fish; or names that the scripts ask for: hosts, environments, sets and more'],
    ['[path...]', 'the hosts file, or the manifests'],
  ],
  flags: {},
});

export const doctor = verb('doctor', 'check this program, the connection to the daemon, and the daemon', {
  flags: {
    ...hostFlags,
    ...hostSelectorFlag,
    recover: toggle('--recover', 'bring back what a server has lost of its records and its pools have copies of'),
    ...approveFlag,
    yes: toggle('--yes', 'do not ask', { isHidden: true }),
  },
});
export type DoctorOptions = OptionsOf<typeof doctor>;

export const version = verb('version', 'print the version', { flags: {} });

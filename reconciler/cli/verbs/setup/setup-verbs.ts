// Declares the verbs around manifests and this program: init, fmt, explain, completion, doctor and the like.
import { inSection, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag } from '../../flags/host-flags.ts';
import { approveFlag } from '../../flags/plan-flags.ts';
import { manifestArgs, manifestFlags } from '../../flags/manifest-flags.ts';
import type { OptionsOf, Verb } from '../../flags/verb.ts';

export const init = {
  name: 'init',
  summary: 'write first manifests and their schema for editors, and make a first container of them',
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
} satisfies Verb;
export type InitOptions = OptionsOf<typeof init>;

export const fmt = {
  name: 'fmt',
  summary: 'format manifests, keeping comments',
  args: manifestArgs,
  flags: { ...manifestFlags, check: toggle('--check', 'only list files that are not formatted; exit code 1') },
} satisfies Verb;
export type FmtOptions = OptionsOf<typeof fmt>;

export const explain = {
  name: 'explain',
  summary: 'explain a manifest key, as in explain container.devices.nic, or Terraform JSON: explain terraform',
  args: [['[kind.path]', 'a kind and a key in it (default: list the kinds)', 'key']],
  flags: {},
  examples: ['gantry explain container', 'gantry explain container.config.limits.memory'],
} satisfies Verb;

export const docs = {
  name: 'docs',
  summary: 'show the pages of documentation that came with this program',
  args: [['[topic...]', 'as in kinds/container or drift (default: list the topics)']],
  flags: {
    ...inSection('Output:', { pager: toggle('--no-pager', 'do not show pages through $PAGER') }),
    search: text('--search <words>', 'print the lines that hold these words'),
  },
  examples: ['gantry docs kinds/container', 'gantry docs --search limits.memory'],
} satisfies Verb;
export type DocsOptions = OptionsOf<typeof docs>;

export const schema = {
  name: 'schema',
  summary: 'print the JSON Schema of manifests',
  flags: {},
} satisfies Verb;

export const completion = {
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  args: [
    ['<shell>', 'bash, zsh or fish; or names that the scripts ask for: hosts, environments, sets and more'],
    ['[path...]', 'the hosts file, or the manifests'],
  ],
  flags: {},
} satisfies Verb;

export const doctor = {
  name: 'doctor',
  summary: 'check this program, the connection to the daemon, and the daemon',
  flags: {
    ...hostFlags,
    ...hostSelectorFlag,
    recover: toggle('--recover', 'bring back what a server has lost of its records and its pools have copies of'),
    ...approveFlag,
    yes: toggle('--yes', 'do not ask', { isHidden: true }),
  },
} satisfies Verb;
export type DoctorOptions = OptionsOf<typeof doctor>;

export const version = {
  name: 'version',
  summary: 'print the version',
  flags: {},
} satisfies Verb;

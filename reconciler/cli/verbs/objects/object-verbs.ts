// Declares the verbs that read live objects and wait for them.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags, selectorFlags } from '../../flags/host-flags.ts';
import { manifestFlags, setFlag } from '../../flags/manifest-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const get = verb('get', 'list live objects of one kind', {
  args: [
    ['<kind>', 'container, profile, network, ...', 'kind'],
    ['[name...]', 'only these objects'],
  ],
  flags: {
    ...hostFlags,
    ...inSection('Connection:', {
      allProjects: toggle('-A, --all-projects', 'objects of every project, each with its project'),
    }),
    ...selectorFlags,
    ...outputFlag('table, yaml, json or name'),
  },
  examples: ['gantry get container', 'gantry get container/web1 -o yaml', 'gantry get container --all-projects'],
});
export type GetOptions = OptionsOf<typeof get>;

export const show = verb('show', 'show live objects as the API returns them', {
  args: [['[kind/name...]', 'objects, or a saved plan (default: list all objects)', 'address']],
  flags: hostFlags,
});
export type ShowOptions = OptionsOf<typeof show>;

export const exportHost = verb('export', 'write manifests of the live host; a plan of them is empty', {
  args: [['[kind/name...]', 'KIND, KIND/NAME or KIND/PATTERN (default: everything)', 'address']],
  flags: {
    ...hostFlags,
    ...selectorFlags,
    ...setFlag('write manage: from the record of this set (default: default)'),
    ...inSection('Output:', {
      output: text('-o, --output <path>', 'directory (one file per kind) or FILE.yaml (default: stdout)'),
      redact: toggle('--redact', 'write variables in place of secrets'),
      force: toggle('--force', 'overwrite existing files'),
    }),
  },
  examples: ['gantry export -o live/', 'gantry export container/web1 profile'],
});
export type ExportOptions = OptionsOf<typeof exportHost>;

export const events = verb('events', 'print server events as they happen, until Ctrl-C', {
  flags: {
    ...hostFlags,
    follow: toggle('-f, --follow', 'the default: servers keep no events', { isHidden: true }),
    type: list('--type <type>', 'lifecycle (default), operation or logging; may be repeated'),
    for: text('--for <duration>', 'stop after this long'),
  },
});
export type EventsOptions = OptionsOf<typeof events>;

const { file, env, var: variable } = manifestFlags;

export const wait = verb(
  'wait',
  'wait until containers are ready, as --for or manage.wait in the manifests of -f says',
  {
    args: [['[container...]', 'NAME or container/NAME (default: every container in the manifests)', 'container']],
    flags: {
      file,
      env,
      var: variable,
      ...hostFlags,
      for: list(
        '--for <condition>',
        'ready (default), running, ipv4[=NIC], ipv6[=NIC], tcp=PORT, file=/PATH, cloud_init; may be repeated',
      ),
    },
  },
);
export type WaitOptions = OptionsOf<typeof wait>;

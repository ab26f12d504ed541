// Declares the verbs of the controller: the controller itself, and those that call the HTTP API of a running one.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { lockFileFlag, manifestFlags, manifestSetFlag } from '../../flags/manifest-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const controller = verb(
  'controller',
  'keep sets on hosts as git repositories and other sources declare them, until stopped',
  {
    flags: { config: text('-c, --config <path>', 'its config (default gantry.yaml)') },
    examples: ['gantry controller --config gantry.yaml'],
  },
);
export type ControllerOptions = OptionsOf<typeof controller>;

export const controllerBackup = verb(
  'controller backup',
  'copy the state of a controller, which may be running, into one file',
  { args: [['<file>', 'the file to write']], flags: controller.flags },
);

export const controllerRestore = verb(
  'controller restore',
  'make the state directory of a controller from a backup; it must be empty',
  { args: [['<file>', 'a file of gantry controller backup']], flags: controller.flags },
);

export const ui = verb(
  'ui',
  'work with the containers of one host in a browser, and see how manifests differ from it, until stopped',
  {
    args: [['[path...]', 'manifests to compare the host with (default: none)']],
    flags: {
      ...manifestFlags,
      ...hostFlags,
      ...manifestSetFlag,
      ...lockFileFlag,
      ...inSection('Connection:', {
        listen: text('--listen <address>', 'address of the page (default 127.0.0.1:0: any free port)'),
      }),
      ...inSection('Execution:', {
        readOnly: toggle('--read-only', 'only show: no consoles, no files, nothing of containers is changed'),
        open: toggle('--open', 'open the page in the browser of this desktop'),
      }),
    },
    examples: ['gantry ui', 'gantry ui web.yaml --host https://web1.example.com:8443'],
  },
);
export type UiOptions = OptionsOf<typeof ui>;

const apiFlags = inSection('Connection:', {
  url: text('--url <url>', 'address of the controller (default $GANTRY_CONTROLLER, else http://127.0.0.1:8440)'),
  tokenFile: text('--token-file <path>', 'file with a token of the controller'),
  ca: text('--ca <path>', 'authorities that sign its certificate, PEM'),
});
export type ApiOptions = OptionsOf<{ readonly name: ''; readonly summary: ''; readonly flags: typeof apiFlags }>;

const setArgs = [['<set>', 'the set', 'controlled']] as const;
const hostsFlag = inSection('Several hosts:', {
  host: list('--host <name>', 'only this host of the set; may be repeated'),
});
const reasonFlag = inSection('Execution:', { reason: text('--reason <text>', 'reason, for the history') });

export const controllerStatus = verb(
  'controller status',
  'show the sets of a controller, their revisions and their hosts',
  {
    args: [['[set]', 'only this set', 'controlled']],
    flags: {
      ...apiFlags,
      ...outputFlag('table or json'),
      watch: toggle('--watch', 'print again at each change, until stopped'),
    },
  },
);
export type StatusOptions = OptionsOf<typeof controllerStatus>;

const answerFlag = outputFlag('text or json');

export const controllerExplain = verb('controller explain', 'say why a set has its status, and what ends that', {
  args: setArgs,
  flags: { ...apiFlags, ...answerFlag },
});

export const controllerDiff = verb(
  'controller diff',
  'show how the objects of a set differ from what is declared; exit code 1 when some do',
  {
    args: [...setArgs, ['[kind/name]', 'only this object']],
    flags: { ...apiFlags, ...answerFlag, ...inSection('Selection:', { on: text('--on <host>', 'only on this host') }) },
    examples: ['gantry controller diff web container/web1 --on node1'],
  },
);
export type DiffOptions = OptionsOf<typeof controllerDiff>;

export const controllerPlan = verb(
  'controller plan',
  'show what a branch, tag or revision would change on the hosts of a set; changes nothing',
  {
    args: setArgs,
    flags: {
      ...apiFlags,
      ...hostsFlag,
      ...answerFlag,
      ...inSection('Selection:', {
        branch: text('--branch <ref>', 'branch, tag or revision (default: the revision in force)'),
      }),
      ...inSection('Output:', { detailedExitcode: toggle('--detailed-exitcode', 'exit with 2 if there are changes') }),
    },
    examples: ['gantry controller plan web --branch more-memory --detailed-exitcode'],
  },
);

export const controllerHistory = verb('controller history', 'show the runs of a set, the newest first', {
  args: setArgs,
  flags: {
    ...apiFlags,
    ...answerFlag,
    ...inSection('Selection:', { limit: text('--limit <count>', 'at most so many (default 100)') }),
  },
});
export type HistoryOptions = OptionsOf<typeof controllerHistory>;

export const controllerAudit = verb(
  'controller audit',
  'show who asked a controller for what, when, from where and why',
  {
    args: [['[set]', 'only this set', 'controlled']],
    flags: {
      ...apiFlags,
      ...answerFlag,
      ...inSection('Selection:', { since: text('--since <time>', 'only what is newer, such as 2030-01-31T12:00:00Z') }),
      ...inSection('Execution:', {
        verify: toggle(
          '--verify',
          'say instead whether each entry is as it was written; exit code 1 when some are not',
        ),
      }),
    },
    examples: ['gantry controller audit --since 2030-01-01 -o json > audit.json', 'gantry controller audit --verify'],
  },
);
export type AuditOptions = OptionsOf<typeof controllerAudit>;

export const controllerLogs = verb('controller logs', 'show the log of a controller', {
  args: [['[set]', 'only this set', 'controlled']],
  flags: {
    ...apiFlags,
    ...inSection('Selection:', {
      level: text('--level <level>', 'debug, info, warn or error and above (default info)'),
      limit: text('--limit <count>', 'at most so many earlier lines (default 500)'),
    }),
    follow: toggle('--follow', 'print further lines as they come, until stopped'),
  },
});
export type LogsOptions = OptionsOf<typeof controllerLogs>;

export const controllerSync = verb(
  'controller sync',
  'compare and apply a set now, without waiting for its next attempt',
  {
    args: setArgs,
    flags: {
      ...apiFlags,
      ...hostsFlag,
      ...reasonFlag,
      ...inSection('Execution:', {
        takeOver: toggle('--take-over', 'take the set from another controller, which is gone or is not to have it'),
      }),
    },
  },
);

export const controllerSuspend = verb('controller suspend', 'leave a set, an object or a field alone for a time', {
  args: setArgs,
  flags: {
    ...apiFlags,
    ...reasonFlag,
    ...inSection('Selection:', {
      on: text('--on <host>', 'only on this host'),
      object: text('--object <kind/name>', 'only this object; * stands for any text'),
      field: text('--field <path>', 'only this field of the object, such as config.limits.memory'),
      for: text('--for <duration>', 'for this long (default: until it is resumed)'),
    }),
  },
  examples: ['gantry controller suspend web --object container/web1 --for 2h --reason "load test"'],
});

export const controllerResume = verb('controller resume', 'end the suspensions of a set, and its rollback', {
  args: [...setArgs, ['[id]', 'only this suspension']],
  flags: apiFlags,
});

export const controllerPrune = verb(
  'controller prune',
  'show what a set would delete beyond its limit, or approve that',
  {
    args: setArgs,
    flags: {
      ...apiFlags,
      ...reasonFlag,
      ...inSection('Execution:', {
        approve: toggle('--approve', 'delete these objects, for the revision in force only'),
      }),
    },
    examples: ['gantry controller prune web --approve --reason "the shop moved"'],
  },
);
export type PruneOptions = OptionsOf<typeof controllerPrune>;

export const controllerApprove = verb(
  'controller approve',
  'let a set carry out, for the revision in force only, the plans and deletions that wait for an approval',
  {
    args: setArgs,
    flags: { ...apiFlags, ...hostsFlag, ...reasonFlag },
    examples: ['gantry controller approve web --reason "the shop moved"'],
  },
);

export const controllerRollback = verb(
  'controller rollback',
  'go back to a revision of a set, and stay there until it is resumed',
  {
    args: [...setArgs, ['<revision>', 'as in the history; its first characters suffice']],
    flags: { ...apiFlags, ...hostsFlag, ...reasonFlag },
  },
);
export type RollbackOptions = OptionsOf<typeof controllerRollback>;

// Declares the verbs that change hosts, the ownership of objects, and locks, and those about revisions.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag, selectorFlags } from '../../flags/host-flags.ts';
import { manifestArgs, manifestFlags, manifestSetFlag, setFlag } from '../../flags/manifest-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { applyFlags, approveFlag, dryRunFlag, guardFlags, lockTimeoutFlag, runFlags } from '../../flags/plan-flags.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const apply = verb('apply', 'make the host match the manifests', {
  alias: 'up',
  args: manifestArgs,
  flags: applyFlags,
  examples: [
    'gantry apply web.yaml -m "more memory"',
    'gantry apply web.plan',
    'gantry apply . --hosts hosts.yaml --canary 1 --batch 25%',
  ],
});

export const destroy = verb('destroy', 'delete the objects that the manifests declare', {
  alias: 'down',
  args: manifestArgs,
  flags: applyFlags,
  examples: ['gantry destroy web.yaml', 'gantry destroy web.yaml --target container/web1'],
});

export const preseed = verb(
  'preseed',
  'apply a preseed document without asking, like init --preseed of the server; deletes nothing',
  { args: [['[file]', 'the document, or - for stdin (the default)']], flags: hostFlags },
);
export type PreseedOptions = OptionsOf<typeof preseed>;

export const run = verb('run', 'keep the host as declared: apply, watch, and repair drift until stopped', {
  args: manifestArgs,
  flags: {
    ...manifestFlags,
    ...hostFlags,
    ...guardFlags,
    ...runFlags,
    ...manifestSetFlag,
    ...hostSelectorFlag,
    interval: text(
      '--interval <duration>',
      'how often to read and compare everything (default 1m, longer for thousands of objects)',
    ),
    for: text('--for <duration>', 'stop after this long'),
    window: list('--window <from-to>', 'repair only at this time of day (UTC), as in 22:00-06:00; may be repeated'),
  },
  examples: ['gantry run web.yaml -y --window 22:00-06:00', 'gantry run . -y --hosts hosts.yaml --canary 1'],
});
export type RunVerbOptions = OptionsOf<typeof run>;

const historyFlags = { ...hostFlags, ...setFlag() };

export const history = verb('history', 'list the runs of a set with time, author and reason; newest first', {
  flags: { ...historyFlags, ...hostSelectorFlag, ...outputFlag('table or json') },
  examples: ['gantry history', 'gantry history show 3', 'gantry history diff 3 4'],
});
export type HistoryOptions = OptionsOf<typeof history>;

export const historyShow = verb('history show', 'print the documents of a revision, without its secrets', {
  args: [['<number>', 'number of the revision']],
  flags: { ...historyFlags, ...outputFlag('yaml or json') },
});

export const historyDiff = verb(
  'history diff',
  'compare the documents of two revisions; exit code 0: same, 1: different, above 1: error',
  {
    args: [
      ['<number>', 'number of the first revision'],
      ['[number]', 'number of the second revision (default: the newest)'],
    ],
    flags: historyFlags,
  },
);

export const rollback = verb('rollback', 'plan and apply the documents of an earlier revision', {
  args: [['[revision]', 'its number, commit or message (default: the last successful one before the newest)']],
  flags: {
    ...hostFlags,
    ...guardFlags,
    ...runFlags,
    ...setFlag(),
    ...hostSelectorFlag,
    ...dryRunFlag,
    ...inSection('Manifests:', {
      file: list('-f, --file <path>', 'current manifests, for secrets that the revision does not keep'),
    }),
  },
  examples: ['gantry rollback', 'gantry rollback 3 --dry-run=server', 'gantry rollback --hosts hosts.yaml -l role=web'],
});
export type RollbackOptions = OptionsOf<typeof rollback>;

export const lock = verb('lock', 'block runs of a set until it is unlocked or the lock expires', {
  alias: 'suspend',
  flags: {
    ...hostFlags,
    ...hostSelectorFlag,
    ...setFlag(),
    for: text('--for <duration>', 'how long (default 1h)'),
    reason: text('--reason <text>', 'reason, shown by the runs that are blocked'),
  },
});
export type LockOptions = OptionsOf<typeof lock>;

export const forceUnlock = verb('force-unlock', 'remove the lock of a set', {
  alias: 'resume',
  args: [['[id]', 'remove only the lock with this id; without an id gantry asks']],
  flags: { ...hostFlags, ...hostSelectorFlag, ...setFlag(), ...approveFlag },
});
export type UnlockOptions = OptionsOf<typeof forceUnlock>;

const { file, env, var: variable } = manifestFlags;

export const adopt = verb(
  'adopt',
  'take ownership of live objects and change nothing else; refuses unless their plan is empty',
  {
    args: [['[kind/name...]', 'objects to adopt', 'address']],
    flags: {
      file,
      env,
      var: variable,
      ...hostFlags,
      ...selectorFlags,
      ...manifestSetFlag,
      ...lockTimeoutFlag,
      all: toggle('--all', 'everything that the manifests declare; with --write everything on the server'),
      write: text('--write <file>', 'write manifests for undeclared objects to this file, then adopt them'),
    },
    examples: ['gantry adopt --all --write live.yaml', 'gantry adopt container/web1 -f web.yaml'],
  },
);
export type AdoptOptions = OptionsOf<typeof adopt>;

export const release = verb('release', 'give up ownership of objects; they stay on the server, unowned', {
  args: [['[kind/name...]', 'objects to release', 'address']],
  flags: {
    ...hostFlags,
    ...selectorFlags,
    ...setFlag(),
    ...lockTimeoutFlag,
    all: toggle('--all', 'everything that the set owns'),
  },
});
export type ReleaseOptions = OptionsOf<typeof release>;

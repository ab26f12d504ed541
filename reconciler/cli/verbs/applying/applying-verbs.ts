// Declares the verbs that change hosts, the ownership of objects, and locks, and those about revisions.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag, selectorFlags } from '../../flags/host-flags.ts';
import { manifestArgs, manifestFlags, manifestSetFlag, setFlag } from '../../flags/manifest-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { applyFlags, approveFlag, dryRunFlag, guardFlags, lockTimeoutFlag, runFlags } from '../../flags/plan-flags.ts';
import type { OptionsOf, Verb } from '../../flags/verb.ts';

export const apply = {
  name: 'apply',
  alias: 'up',
  summary: 'make the host match the manifests',
  args: manifestArgs,
  flags: applyFlags,
  examples: [
    'gantry apply web.yaml -m "more memory"',
    'gantry apply web.plan',
    'gantry apply . --hosts hosts.yaml --canary 1 --batch 25%',
  ],
} satisfies Verb;

export const destroy = {
  name: 'destroy',
  alias: 'down',
  summary: 'delete the objects that the manifests declare',
  args: manifestArgs,
  flags: applyFlags,
  examples: ['gantry destroy web.yaml', 'gantry destroy web.yaml --target container/web1'],
} satisfies Verb;

export const preseed = {
  name: 'preseed',
  summary: 'apply a preseed document without asking, like init --preseed of the server; deletes nothing',
  args: [['[file]', 'the document, or - for stdin (the default)']],
  flags: hostFlags,
} satisfies Verb;
export type PreseedOptions = OptionsOf<typeof preseed>;

export const run = {
  name: 'run',
  summary: 'keep the host as declared: apply, watch, and repair drift until stopped',
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
} satisfies Verb;
export type RunVerbOptions = OptionsOf<typeof run>;

const historyFlags = { ...hostFlags, ...setFlag() };

export const history = {
  name: 'history',
  summary: 'list the runs of a set with time, author and reason; newest first',
  flags: { ...historyFlags, ...hostSelectorFlag, ...outputFlag('table or json') },
  examples: ['gantry history', 'gantry history show 3', 'gantry history diff 3 4'],
} satisfies Verb;
export type HistoryOptions = OptionsOf<typeof history>;

export const historyShow = {
  name: 'history show',
  summary: 'print the documents of a revision, without its secrets',
  args: [['<number>', 'number of the revision']],
  flags: { ...historyFlags, ...outputFlag('yaml or json') },
} satisfies Verb;

export const historyDiff = {
  name: 'history diff',
  summary: 'compare the documents of two revisions; exit code 0: same, 1: different, above 1: error',
  args: [
    ['<number>', 'number of the first revision'],
    ['[number]', 'number of the second revision (default: the newest)'],
  ],
  flags: historyFlags,
} satisfies Verb;

export const rollback = {
  name: 'rollback',
  summary: 'plan and apply the documents of an earlier revision',
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
} satisfies Verb;
export type RollbackOptions = OptionsOf<typeof rollback>;

export const lock = {
  name: 'lock',
  alias: 'suspend',
  summary: 'block runs of a set until it is unlocked or the lock expires',
  flags: {
    ...hostFlags,
    ...hostSelectorFlag,
    ...setFlag(),
    for: text('--for <duration>', 'how long (default 1h)'),
    reason: text('--reason <text>', 'reason, shown by the runs that are blocked'),
  },
} satisfies Verb;
export type LockOptions = OptionsOf<typeof lock>;

export const forceUnlock = {
  name: 'force-unlock',
  alias: 'resume',
  summary: 'remove the lock of a set',
  args: [['[id]', 'remove only the lock with this id; without an id gantry asks']],
  flags: { ...hostFlags, ...hostSelectorFlag, ...setFlag(), ...approveFlag },
} satisfies Verb;
export type UnlockOptions = OptionsOf<typeof forceUnlock>;

const { file, env, var: variable } = manifestFlags;

export const adopt = {
  name: 'adopt',
  summary: 'take ownership of live objects and change nothing else; refuses unless their plan is empty',
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
} satisfies Verb;
export type AdoptOptions = OptionsOf<typeof adopt>;

export const release = {
  name: 'release',
  summary: 'give up ownership of objects; they stay on the server, unowned',
  args: [['[kind/name...]', 'objects to release', 'address']],
  flags: {
    ...hostFlags,
    ...selectorFlags,
    ...setFlag(),
    ...lockTimeoutFlag,
    all: toggle('--all', 'everything that the set owns'),
  },
} satisfies Verb;
export type ReleaseOptions = OptionsOf<typeof release>;

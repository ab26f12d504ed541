// Declares the verbs that compare manifests with hosts and change nothing.
import { inSection, list, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostsFlag, selectorFlags } from '../../flags/host-flags.ts';
import { manifestArgs, manifestFlags, manifestSetFlag } from '../../flags/manifest-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { planFlags } from '../../flags/plan-flags.ts';
import { type OptionsOf, verb } from '../../flags/verb.ts';

export const validate = verb('validate', 'check manifests without contacting a daemon', {
  args: manifestArgs,
  flags: { ...manifestFlags, ...hostsFlag },
});
export type ValidateOptions = OptionsOf<typeof validate>;

export const plan = verb('plan', 'show what apply would do', {
  alias: 'preview',
  args: manifestArgs,
  flags: {
    ...manifestFlags,
    ...hostFlags,
    ...planFlags,
    destroy: toggle('--destroy', 'show what destroy would do'),
    ...outputFlag('text, json (the whole plan, as Terraform shows it), yaml, markdown or junit'),
    out: text('--out <file>', 'save the plan, for gantry apply FILE'),
    format: text('--format <format>', 'text or plan-json', { isHidden: true }),
  },
  examples: [
    'gantry plan web.yaml',
    'gantry plan web.yaml --env prod --out web.plan',
    'gantry plan . --dry-run=server',
  ],
});
export type PlanVerbOptions = OptionsOf<typeof plan>;

export const status = verb('status', 'show declared objects with their live state', {
  args: manifestArgs,
  flags: {
    ...manifestFlags,
    ...hostFlags,
    ...selectorFlags,
    ...manifestSetFlag,
    ...inSection('Output:', { detailedExitcode: toggle('--detailed-exitcode', 'exit with 2 when something differs') }),
  },
});
export type StatusOptions = OptionsOf<typeof status>;

export const drift = verb(
  'drift',
  'compare the host with the manifests and the last apply; only reads, exits with 2 on differences',
  {
    args: manifestArgs,
    flags: {
      ...manifestFlags,
      ...hostFlags,
      ...selectorFlags,
      ...manifestSetFlag,
      ...outputFlag('text, json or markdown'),
      ...inSection('Selection:', {
        ignore: list(
          '--ignore <pattern>',
          'ignore KEY, KIND/NAME or KIND/NAME.KEY; * matches any text, @DATE is the last day of the rule',
        ),
      }),
      watch: toggle('--watch', 'keep watching, and print each change with its author'),
      interval: text('--interval <duration>', 'with --watch: how often to compare everything (default 5m)'),
      for: text('--for <duration>', 'with --watch: stop after this long'),
      ...inSection('Output:', {
        exitCode: toggle('--no-exit-code', 'exit with 0 even if the host differs'),
        detailedExitcode: toggle('--detailed-exitcode', 'the default', { isHidden: true }),
      }),
    },
    examples: ['gantry drift web.yaml', 'gantry drift web.yaml --watch', 'gantry drift . --hosts hosts.yaml -o json'],
  },
);
export type DriftOptions = OptionsOf<typeof drift>;

export const diff = verb(
  'diff',
  'show what apply would change as a unified diff; exit code 0: same, 1: different, above 1: error',
  { args: manifestArgs, flags: { ...manifestFlags, ...hostFlags, ...selectorFlags, ...manifestSetFlag } },
);
export type DiffOptions = OptionsOf<typeof diff>;

export const graph = verb('graph', 'print the dependencies among declared objects, without contacting a daemon', {
  args: manifestArgs,
  flags: { ...manifestFlags, ...outputFlag('mermaid (default) or dot') },
});
export type GraphOptions = OptionsOf<typeof graph>;

// gantry_container_exec: a command run in a container, with its output.
import { isNotFound } from '../../../server/client/client-error.ts';
import { flag, integer, text, textMap, texts, type TextMap } from '../../framework/attribute.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { durationCheck } from '../../framework/duration.ts';
import { at } from '../../framework/path.ts';
import { absolutePath, commandCheck } from './container-attributes.ts';
import { noOtherLimit, runOne } from './container-commands.ts';
import { bornKey, planHolder, readHolder } from './holder.ts';
import { otherMap } from '../shared/config-maps.ts';
import { otherOwner } from '../shared/rename.ts';
import { gantryResource } from '../shared/common-attributes.ts';

const attributes = {
  container: text({
    doc: 'Name of the container, which must run. A rename does not run the command again.',
    required: true,
  }),
  command: texts({
    doc: 'Command and arguments. A change runs the command again.',
    required: true,
    replace: true,
    check: commandCheck,
  }),
  environment: textMap({
    doc: 'Environment variables, in addition to those of the container. A change runs the command again.',
    replace: otherMap,
  }),
  environment_wo: textMap({
    doc: 'Environment variables that are never stored, for secrets; they override `environment`. Only `command` gets them. Raise `environment_wo_version` to run the command again with other values.',
    sensitive: true,
    writeOnly: true,
  }),
  environment_wo_version: integer({ doc: 'Any number; a change runs the command again.', replace: true }),
  cwd: text({ doc: 'Directory to run in.', check: absolutePath, replace: true }),
  user: integer({ doc: 'User id in the container.', default: 0, replace: true }),
  group: integer({ doc: 'Group id in the container.', default: 0, replace: true }),
  triggers: textMap({
    doc: 'Any values; a change replaces the object, which runs the command again.',
    replace: otherMap,
  }),
  destroy_command: texts({ doc: 'Command to run on destroy, if the container still runs.', check: commandCheck }),
  fail_on_error: flag({ doc: 'Whether an exit code other than 0 fails the apply.', default: true }),
  record_output: flag({
    doc: 'Whether the state keeps the output (`stdout`, `stderr`), in which secrets may be, from the next run on. Default: false.',
  }),
  timeout: text({ doc: 'Time limit of the run.', default: '5m', check: durationCheck }),
  exit_code: integer({ doc: 'Exit code.', computed: true, keep: true }),
  stdout: text({ doc: 'Its standard output, at most 64 KiB.', computed: true, keep: true }),
  stderr: text({ doc: 'Its standard error, at most 64 KiB.', computed: true, keep: true }),
};

export const containerExec = gantryResource({
  typeName: 'gantry_container_exec',
  doc: 'A command that runs in a container when this resource is created, and again when the command, its triggers or the container change. The state has its output with `record_output`. After a replacement of the container it runs in the next apply; with `created_at` of the container among its triggers, in the same apply.',
  attributes,
  identity: ['container'],
  timeoutsMs: { create: noOtherLimit, delete: noOtherLimit },
  importing: {
    doc: 'not possible: the server keeps no record of a finished run',
    example: '',
    parse() {
      const detail = 'The server keeps no record of a finished run. Create the resource to run the command again.';
      throw new DiagnosticError([failure('gantry_container_exec cannot be imported', detail)]);
    },
  },
  async read(state, context) {
    const born = context.privateData[bornKey];
    const seen = await readHolder(context, state.container);
    if (seen === undefined) return null;
    // The command has not run in a new container of that name.
    if (born !== undefined && born !== seen.object.created_at) return null;
    return { container: seen.object.name };
  },
  validate({ environment_wo: environment, environment_wo_version: version }) {
    if (version === null || environment !== null) return [];
    const detail = 'environment_wo_version needs environment_wo, for example from ephemeral variables.';
    return [failure('environment_wo is missing', detail, at('environment_wo_version'))];
  },
  create({ planned, config }, context) {
    const { record_output: records, ...spec } = planned;
    // At an apply all values are known.
    const environment = { ...spec.environment, ...(config.environment_wo as TextMap | null) };
    const run = { ...spec, environment, record_output: records ?? false };
    return runOne(context, planned.container, run, at('command'));
  },
  plan: planHolder,
  async update({ planned }, prior, { client, privateData, signal }) {
    // Other changes apply only to the next run.
    if (planned.container === prior.container) return;
    const { metadata } = await client.client.get('container', planned.container, signal);
    if (metadata.created_at !== privateData[bornKey]) throw otherOwner('command', 'container', planned.container);
  },
  async delete(prior, context) {
    if (prior.destroy_command === null) return;
    const { client, signal } = context;
    const seen = await client.client.get('container', prior.container, signal).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (seen?.metadata.status !== 'Running') return;
    const { record_output: _record, ...spec } = prior;
    await runOne(context, prior.container, { ...spec, command: prior.destroy_command }, at('destroy_command'));
  },
});

// gantry_container_exec: a command run in a container, with what it wrote.
import { flag, integer, text, textMap, texts, type TextMap } from '../../framework/attribute.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import { durationCheck } from '../../framework/duration.ts';
import { timeoutsAttribute } from '../../framework/timeouts.ts';
import { at } from '../../framework/path.ts';
import { absolutePath, commandCheck } from './container-attributes.ts';
import { runOne } from './container-commands.ts';
import { otherMap } from '../shared/config-maps.ts';
import { isOtherOwner, otherOwner } from '../shared/rename.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { containerPath } from './snapshot.ts';

const attributes = {
  container: text({
    doc: 'Name of the container, which has to run. When it is renamed nothing runs again.',
    required: true,
  }),
  command: texts({
    doc: 'Command and arguments. Another command is another run.',
    required: true,
    replace: true,
    check: commandCheck,
  }),
  environment: textMap({
    doc: 'Environment, over that of the container. Another one is another run.',
    replace: otherMap,
  }),
  environment_wo: textMap({
    doc: 'More of the environment, over `environment`, that is never stored, for secrets. Only `command` has it. Raise `environment_wo_version` to run again with another one.',
    sensitive: true,
    writeOnly: true,
  }),
  environment_wo_version: integer({ doc: 'Any number; another one is another run.', replace: true }),
  cwd: text({ doc: 'Directory to run in.', check: absolutePath, replace: true }),
  user: integer({ doc: 'User id inside.', default: 0, replace: true }),
  group: integer({ doc: 'Group id inside.', default: 0, replace: true }),
  triggers: textMap({
    doc: 'Any values; when one changes, the command runs again, as another object.',
    replace: otherMap,
  }),
  destroy_command: texts({ doc: 'Command to run on destroy, when the container still runs.', check: commandCheck }),
  fail_on_error: flag({ doc: 'Whether another exit code than 0 fails the apply.', default: true }),
  record_output: flag({
    doc: 'Whether what it writes is kept in the state. Left out, it is. Counts for the next run.',
  }),
  timeout: text({ doc: 'Limit of the run.', default: '5m', check: durationCheck }),
  exit_code: integer({ doc: 'Exit code.', computed: true, keep: true }),
  stdout: text({ doc: 'What it wrote, at most 64 KiB.', computed: true, keep: true }),
  stderr: text({ doc: 'Its errors, at most 64 KiB.', computed: true, keep: true }),
  timeouts: timeoutsAttribute,
};

/** In private data: when the container was made in which it ran. */
const bornKey = 'container_created_at';

export const containerExec = gantryResource({
  typeName: 'gantry_container_exec',
  doc: 'A command that is run in a container when this is created, and again when it, its triggers or the container become others. Its output is in the state. With the time of creation of the container among its triggers it runs in the same apply that replaces the container, else in the next one.',
  example: `resource "gantry_container_exec" "release" {
  container = gantry_container.web.name
  command   = ["cat", "/etc/os-release"]
  triggers  = { container = gantry_container.web.created_at }
}
`,
  attributes,
  identity: ['container'],
  timeoutsMs: { create: 60 * 60_000 },
  importing: {
    doc: 'not possible: a run that is over cannot be found again',
    example: '',
    parse() {
      const detail = 'A run that is over cannot be found again. Let it run anew.';
      throw new DiagnosticError([failure('gantry_container_exec cannot be imported', detail)]);
    },
  },
  async read(state, { client, privateData, signal }) {
    const seen = await client.reader.read('container', state.container, signal);
    if (seen === undefined) return null;
    const born = seen.object.created_at;
    // In another container of that name it has not run.
    if (privateData[bornKey] !== undefined && privateData[bornKey] !== born) return null;
    privateData[bornKey] = born;
    return {};
  },
  validate({ environment_wo: environment, environment_wo_version: version }) {
    if (version === null || environment !== null) return [];
    const detail =
      'environment_wo_version says when to run again with environment_wo, so that has to be given: by ephemeral variables, for example.';
    return [failure('environment_wo is missing', detail, at('environment_wo_version'))];
  },
  create({ planned, config }, context) {
    const { record_output: records, ...spec } = planned;
    // Nothing is unknown at an apply.
    const environment = { ...spec.environment, ...(config.environment_wo as TextMap | null) };
    const run = { ...spec, environment, record_output: records ?? true };
    return runOne(context, planned.container, run, at('command'));
  },
  async plan({ prior, planned, client, replace }) {
    if (prior === null) return;
    const owner = { attribute: 'container', before: prior.container, after: planned.container, path: containerPath };
    if (await isOtherOwner(client, owner)) replace(at('container'));
  },
  async update({ planned }, prior, { client, privateData, signal }) {
    // What else can be updated only counts for the next run.
    if (planned.container === prior.container) return;
    const { metadata } = await client.client.get('container', planned.container, signal);
    if (metadata.created_at !== privateData[bornKey]) throw otherOwner('command', 'container', planned.container);
  },
  async delete(prior, context) {
    if (prior.destroy_command === null) return;
    const seen = await context.client.client.get('container', prior.container, context.signal).catch(() => undefined);
    if (seen?.metadata.status !== 'Running') return;
    const { record_output: _record, ...spec } = prior;
    await runOne(context, prior.container, { ...spec, command: prior.destroy_command }, at('destroy_command'));
  },
});

// Ephemeral gantry_container_exec: the output of a command in a container, which is in no state or plan.
import { isNotFound } from '../../server/client/client-error.ts';
import { flag, integer, text, textMap, texts } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { durationCheck } from '../framework/duration.ts';
import { at } from '../framework/path.ts';
import { absolutePath, commandCheck } from '../resources/container/container-attributes.ts';
import { noOtherLimit, runOne } from '../resources/container/container-commands.ts';
import { containerToOpen, gantryEphemeral, triggersToOpen } from './shared.ts';

/** The data that closing needs, kept in private data. */
const closingKey = 'close';

interface Closing {
  readonly container: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>> | null;
  readonly cwd: string | null;
  readonly user: number | null;
  readonly group: number | null;
  readonly timeout: string | null;
  readonly fail_on_error: boolean;
}

export const containerExecEphemeral = gantryEphemeral({
  typeName: 'gantry_container_exec',
  doc: 'The output of a command in a container, such as a token. The command runs whenever Terraform needs the output, once at a plan and once at an apply, and the output is never stored: use it in provider blocks and in write-only arguments.',
  timeoutMs: noOtherLimit,
  attributes: {
    container: containerToOpen('Name of the container, which must run.'),
    command: texts({ doc: 'Command and arguments.', required: true, check: commandCheck }),
    environment: textMap({ doc: 'Environment variables, in addition to those of the container.' }),
    cwd: text({ doc: 'Directory to run in.', check: absolutePath }),
    user: integer({ doc: 'User id in the container.', default: 0 }),
    group: integer({ doc: 'Group id in the container.', default: 0 }),
    triggers: triggersToOpen,
    close_command: texts({
      doc: 'Command to run when Terraform no longer needs the output, for example to revoke a token. Its arguments cannot refer to the output of `command`.',
      check: commandCheck,
    }),
    fail_on_error: flag({ doc: 'Whether an exit code other than 0 is an error.', default: true }),
    timeout: text({ doc: 'Time limit of the run.', default: '5m', check: durationCheck }),
    exit_code: integer({ doc: 'Exit code.', computed: true }),
    stdout: text({ doc: 'Its standard output, at most 64 KiB.', computed: true, sensitive: true }),
    stderr: text({ doc: 'Its standard error, at most 64 KiB.', computed: true, sensitive: true }),
  },
  async open(config, context) {
    const { container, close_command: command, environment, cwd, user, group, timeout } = config;
    try {
      const values = await runOne(context, container, config, at('command'), { showsOutput: false });
      if (command !== null) {
        const failsOnError = config.fail_on_error ?? true;
        const where = { container, environment, cwd, user, group, timeout };
        const closing: Closing = { ...where, command, fail_on_error: failsOnError };
        context.privateData[closingKey] = JSON.stringify(closing);
      }
      return { values };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const detail =
        'If the same apply creates it, put one of its attributes that is known only after apply into triggers, such as created_at: the command then runs after the creation.';
      throw new DiagnosticError([failure(`There is no container ${container}`, detail, at('container'))], error);
    }
  },
  async close(context) {
    const noted = context.privateData[closingKey];
    if (noted === undefined) return;
    const { container, ...closing } = JSON.parse(noted) as Closing;
    await runOne(context, container, closing, at('close_command'), { showsOutput: false });
  },
});

// Ephemeral gantry_container_exec: what a command in a container writes, which no state and no plan holds.
import { isNotFound } from '../../server/client/client-error.ts';
import { flag, integer, text, textMap, texts } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { durationCheck } from '../framework/duration.ts';
import { at } from '../framework/path.ts';
import { absolutePath, commandCheck } from '../resources/container/container-attributes.ts';
import { runOne } from '../resources/container/container-commands.ts';
import { containerToOpen, gantryEphemeral, triggersToOpen } from './shared.ts';

/** What closing needs, in private data. */
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
  doc: 'What a command in a container writes, such as a token that it makes. It runs whenever Terraform needs it, once at a plan and once at an apply, and is stored nowhere: use it in provider blocks and in write-only arguments.',
  example: `ephemeral "gantry_container_exec" "join" {
  container = "server"
  command   = ["kubeadm", "token", "create", "--ttl", "15m"]
}
`,
  timeoutMs: 60 * 60_000,
  attributes: {
    container: containerToOpen('Name of the container, which has to run.'),
    command: texts({ doc: 'Command and arguments.', required: true, check: commandCheck }),
    environment: textMap({ doc: 'Environment, over that of the container.' }),
    cwd: text({ doc: 'Directory to run in.', check: absolutePath }),
    user: integer({ doc: 'User id inside.', default: 0 }),
    group: integer({ doc: 'Group id inside.', default: 0 }),
    triggers: triggersToOpen,
    close_command: texts({
      doc: 'Command to run when Terraform no longer needs the output, such as one that takes a token back. Arguments may refer to nothing that `command` writes.',
      check: commandCheck,
    }),
    fail_on_error: flag({ doc: 'Whether another exit code than 0 is an error.', default: true }),
    timeout: text({ doc: 'Limit of the run.', default: '5m', check: durationCheck }),
    exit_code: integer({ doc: 'Exit code.', computed: true }),
    stdout: text({ doc: 'What it wrote, at most 64 KiB.', computed: true, sensitive: true }),
    stderr: text({ doc: 'Its errors, at most 64 KiB.', computed: true, sensitive: true }),
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
        'When the same apply makes it, name something of it that is known after the apply only in triggers, such as its created_at: the command then runs once that is made.';
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

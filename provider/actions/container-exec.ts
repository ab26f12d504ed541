// Action gantry_container_exec: runs a command in a container once, whenever it is triggered.
import { flag, integer, text, textMap, texts } from '../framework/attribute.ts';
import { durationCheck } from '../framework/duration.ts';
import { at } from '../framework/path.ts';
import { absolutePath, commandCheck } from '../resources/container/container-attributes.ts';
import { noOtherLimit, runOne } from '../resources/container/container-commands.ts';
import { gantryAction } from '../resources/shared/common-attributes.ts';

export const containerExecAction = gantryAction({
  typeName: 'gantry_container_exec',
  doc: 'Runs a command in a running container. A failure shows its errors; `show_output` also shows its standard output, in which secrets may be.',
  timeoutMs: noOtherLimit,
  attributes: {
    container: text({ doc: 'Name of the container, which must run.', required: true }),
    command: texts({ doc: 'Command and arguments.', required: true, check: commandCheck }),
    environment: textMap({ doc: 'Environment variables, in addition to those of the container.' }),
    cwd: text({ doc: 'Directory to run in.', check: absolutePath }),
    user: integer({ doc: 'User id in the container.', default: 0 }),
    group: integer({ doc: 'Group id in the container.', default: 0 }),
    fail_on_error: flag({ doc: 'Whether an exit code other than 0 is an error.', default: true }),
    show_output: flag({ doc: 'Whether to show its standard output, at most 64 KiB.', default: false }),
    timeout: text({ doc: 'Time limit of the run.', default: '5m', check: durationCheck }),
  },
  async invoke({ container, show_output: shows, ...config }, context) {
    const showsOutput = shows === true;
    const { exit_code: code, stdout } = await runOne(context, container, config, at('command'), { showsOutput });
    if (showsOutput) for (const line of (stdout ?? '').trimEnd().split('\n')) context.sendProgress(line);
    context.sendProgress(`The command exited with ${code ?? 0}`);
  },
});

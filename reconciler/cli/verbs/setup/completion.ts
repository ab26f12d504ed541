// `gantry completion SHELL`: a script that completes commands, flags, live names; and the names that it asks for: of hosts, of
// environments.
import { bashCompletion, fishCompletion, zshCompletion } from '../../program/completion-scripts.ts';
import type { CliContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { buildProgram } from '../../program/program.ts';
import { usageError } from '../../errors/usage-error.ts';

const makers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export async function completion(
  context: CliContext,
  shell: string | undefined,
  paths: readonly string[],
): Promise<ExitCode> {
  if (shell === 'environments' || shell === 'hosts') {
    const names = await (shell === 'hosts' ? hostNames(context, paths) : environmentNames(paths));
    context.io.stdout.write(names.map((name) => `${name}\n`).join(''));
    return exitCodes.ok;
  }
  if (shell === undefined || !Object.hasOwn(makers, shell))
    throw usageError(`${JSON.stringify(shell)} is none of ${Object.keys(makers).join(', ')}`);
  const program = buildProgram(() => Promise.resolve());
  context.io.stdout.write(makers[shell as keyof typeof makers](program));
  return exitCodes.ok;
}

/** In overlays/ beside the manifests. */
async function environmentNames(paths: readonly string[]): Promise<readonly string[]> {
  const { findEnvironments } = await import('../../../manifest/variables/environment-files.ts');
  return (await findEnvironments(paths.length === 0 ? ['.'] : paths)).known;
}

/** Of the hosts file, which may have no problems: names, then groups. */
async function hostNames(context: CliContext, [file = 'hosts.yaml']: readonly string[]): Promise<readonly string[]> {
  const { readHostsFile } = await import('../../../manifest/hosts-file.ts');
  const { hosts } = await readHostsFile(file, new Map(), context.stop);
  const groups = new Set(hosts.flatMap((host) => host.groups));
  return [...hosts.map(({ name }) => name), ...[...groups].sort().map((group) => `@${group}`)];
}

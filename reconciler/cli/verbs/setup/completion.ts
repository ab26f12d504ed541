// `gantry completion SHELL`: prints a completion script, and the names that the script asks for.
import { bashCompletion, fishCompletion, zshCompletion, type Vocabulary } from './completion-scripts.ts';
import { askedNames } from '../../flags/verb.ts';
import type { Command, Context } from '../../session/context.ts';
import { usageError } from '../../errors/usage-error.ts';

const makers = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export async function completion(
  context: Context,
  [shell, ...paths]: readonly string[],
  vocabulary: Vocabulary,
): Promise<void> {
  if (shell === 'environments' || shell === 'hosts') {
    const names = await (shell === 'hosts' ? hostNames(context, paths) : environmentNames(paths));
    context.io.stdout.write(names.map((name) => `${name}\n`).join(''));
    return;
  }
  const asked = askedNames.find((name) => name === shell);
  if (asked !== undefined) {
    const { namesOf } = await import('./completion-names.ts');
    context.io.stdout.write((await namesOf(context, asked, paths[0] ?? '')).map((name) => `${name}\n`).join(''));
    return;
  }
  if (shell === undefined || !Object.hasOwn(makers, shell))
    throw usageError(`${JSON.stringify(shell)} is not one of ${Object.keys(makers).join(', ')}`);
  context.io.stdout.write(makers[shell as keyof typeof makers](vocabulary));
}

/** The names in overlays/ beside the manifests. */
async function environmentNames(paths: readonly string[]): Promise<readonly string[]> {
  const { findEnvironments } = await import('../../../manifest/variables/environment-files.ts');
  return (await findEnvironments(paths.length === 0 ? ['.'] : paths)).known;
}

/** Names of hosts, then groups, then contexts. Ignores problems of the hosts file. */
async function hostNames(context: Command, [file = 'hosts.yaml']: readonly string[]): Promise<readonly string[]> {
  const { readHostsFile } = await import('../../../manifest/hosts-file.ts');
  const { hosts } = await readHostsFile(file, new Map(), context.stop);
  const groups = new Set(hosts.flatMap((host) => host.groups));
  const { readContexts } = await import('../../session/contexts.ts');
  const { contexts } = await readContexts(context.io.env);
  const names = [...hosts.map(({ name }) => name), ...[...groups].sort().map((group) => `@${group}`)];
  return [...new Set([...names, ...contexts.keys()])];
}

// `gantry init [dir]`: writes working first manifests and their schema for editors, never over a file. On a terminal, or with --yes or
// --image, it ends in a running container.
import { join } from 'node:path';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import { isThere } from '../../../../server/lib/shared/missing-files.ts';
import type { Context, Run } from '../../session/context.ts';
import type { InitOptions } from './setup-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { isApproved } from '../../flags/plan-flags.ts';
import { sameServer } from '../../flags/same-server.ts';
import { templates, type Template } from './init-templates.ts';
import { writeNew } from './write-new.ts';

export const init: Run<InitOptions> = async (context, [directory = '.']) => {
  const { template: name, image, name: container } = context.options;
  if (name !== undefined && (image ?? container) !== undefined)
    throw usageError('--image and --name are for a first container: they cannot be combined with --template');
  const template = templateOf(name ?? 'container');
  const there = sameServer(context.io.argv);
  const hasStack = await isThere(join(directory, 'stack.yaml'));
  if (hasStack && (image ?? container) !== undefined)
    throw commandError(
      `${join(directory, 'stack.yaml')} exists already, so --image and --name have no effect: ` +
        `edit it and run gantry apply ${directory}${there}, delete it, or name another folder`,
    );
  if (name === undefined && !hasStack && wantsContainer(context))
    return (await import('./first-container.ts')).makeFirstContainer(context, directory);
  const made = await writeNew(context, directory, template.files);
  context.jsonObjects({ made });
  if (made.length > 0) context.note(`Next: gantry ${template.next.replaceAll('DIR', directory)}${there}`);
  else if (hasStack) context.note(`Next: gantry apply ${directory}${there}`);
  return exitCodes.ok;
};

/** True if questions can be asked or flags answer them. */
function wantsContainer({ io, isJson, options }: Context<InitOptions>): boolean {
  const isAsked = isApproved(options) || options.image !== undefined || options.name !== undefined;
  return isAsked || (!isJson && io.stdin.isTTY === true);
}

/** Throws with a list of all templates for an unknown name. */
function templateOf(name: string): Template {
  const known: Readonly<Record<string, Template>> = templates;
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found !== undefined) return found;
  const list = Object.entries(known).map(([one, { about }]) => `\n  ${one.padEnd(14)}${about}`);
  throw usageError(
    `unknown template ${JSON.stringify(name)}${hint(name, Object.keys(known))}; the templates are:${list.join('')}`,
  );
}

// `gantry controller backup` and `restore`: write the state of a controller to one file, and read it back.
import { resolve } from 'node:path';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { commandError } from '../../errors/usage-error.ts';
import { throwOnErrors } from '../../session/load-set.ts';
import type { Context, Run } from '../../session/context.ts';
import type { ControllerOptions } from './controller-verbs.ts';

export const backup: Run<ControllerOptions> = async (context, [file = '']) => {
  const { stateDir, name } = await configOf(context);
  const { backupState } = await import('../../../controller/backup/backup-state.ts');
  const at = new Date(context.io.nowMs()).toISOString();
  const files = await done(backupState(stateDir, name, resolve(file), at));
  context.json(JSON.stringify({ type: 'controller_backup', file, files, at }));
  context.out(`${file} has the state of the controller ${name} (${files} files).`);
};

export const restore: Run<ControllerOptions> = async (context, [file = '']) => {
  const { stateDir, name } = await configOf(context);
  const { restoreState } = await import('../../../controller/backup/restore-state.ts');
  const { at, files, held } = await done(restoreState(resolve(file), stateDir, name));
  context.json(JSON.stringify({ type: 'controller_restore', file, files, at, held }));
  context.out(`${stateDir} is as the controller ${name} left it at ${at} (${files} files).`);
  for (const set of held)
    context.out(`A rollback held ${set} then, and holds it again: gantry controller resume ${set} rollback ends it.`);
};

async function configOf(context: Context<ControllerOptions>) {
  const file = context.options.config ?? 'gantry.yaml';
  const { readConfig } = await import('../../../controller/config/read-config.ts');
  const { config, diagnostics } = await readConfig(file, context.stop);
  await context.diagnostics(diagnostics);
  throwOnErrors(diagnostics, [file]);
  if (config === undefined) throw commandError(`${file} cannot be read`);
  return config;
}

const done = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw commandError(reasonOf(error), error);
  });

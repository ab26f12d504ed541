// `gantry delete NAME...|KIND/NAME...`: deletes live objects. Asks first if a set declares them, and says what its next apply does.
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, commandError } from '../../errors/usage-error.ts';
import { confirm } from '../../session/confirm.ts';
import type { Context } from '../../session/context.ts';
import type { DeleteOptions } from './daily-verbs.ts';
import { ownerText } from './owners.ts';
import { addressOf, runOnTargets, type Action, type Target } from './targets.ts';

const action: Action<DeleteOptions> = {
  verb: 'delete',
  takesKinds: true,
  prepare: async (context, targets) => {
    refuseProtected(targets);
    if (context.options.force !== true) refuseRunning(targets);
    const owned = targets.filter(({ owners }) => owners.length > 0);
    if (owned.length > 0) await askForOwned(context, owned, targets.length);
  },
  act: async (context, client, target) => {
    const { kind, name, status } = target;
    const { stop, cancel } = context;
    if (status !== undefined && status !== 'Stopped')
      await client.operations.run(() => client.putContainerState(name, { action: 'stop', force: true }, stop), cancel);
    await client.operations.run(() => client.delete(kind, name, stop), cancel);
    const sets = target.owners.map(({ set }) => set);
    return {
      text: `${kind}/${name} deleted${sets.length === 0 ? ' (no set declared it)' : ''}`,
      json: { action: 'delete', sets },
    };
  },
};

export const deleteTargets = runOnTargets(action);

function refuseProtected(targets: readonly Target[]): void {
  for (const target of targets)
    for (const { set, isProtected } of target.owners)
      if (isProtected)
        throw new CliError(
          `${addressOf(target)} is protected by its manifest in set ${set} (manage.protect): nothing was deleted. ` +
            `Remove protect there and apply, or give it up with gantry release ${target.kind}/${target.name} --set ${set}`,
          exitCodes.guard,
        );
}

function refuseRunning(targets: readonly Target[]): void {
  const running = targets.find(({ status }) => status !== undefined && status !== 'Stopped');
  if (running === undefined) return;
  throw commandError(
    `${addressOf(running)} is ${running.status?.toLowerCase() ?? ''}: nothing was deleted. ` +
      `Stop it first (gantry stop ${running.name}), or use --force`,
  );
}

async function askForOwned(context: Context<DeleteOptions>, owned: readonly Target[], count: number): Promise<void> {
  const lines = owned.map((target) => `${addressOf(target)} belongs to ${ownerText(target.owners)}.`);
  const [first] = owned;
  const addresses = owned.map(({ kind, name }) => `--target ${kind}/${name}`).join(' ');
  const sets = [...new Set(owned.flatMap(({ owners }) => owners.map(({ set }) => set)))];
  const isOne = sets.length === 1;
  context.note(
    `${lines.join('\n')}\nThe next apply of ${isOne ? 'that set' : 'those sets'} creates ${
      owned.length === 1 ? 'it' : 'them'
    } again as declared, without the data of now. To be rid of ${
      owned.length === 1 ? 'it' : 'them'
    }, run gantry destroy ${addresses} there, or delete the documents and run gantry apply --prune.`,
  );
  const what = count === 1 && first !== undefined ? addressOf(first) : `these ${count} objects`;
  await confirm(context, `Delete ${what} now?`, `Deleting ${what}`);
}

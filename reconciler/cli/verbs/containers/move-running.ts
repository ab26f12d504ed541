// Moves a running container to another server without its memory: it is copied while it runs, stopped, brought up to date, started there.
import { copyContainer, type ContainerAt, type CopyOptions } from '../../../../server/client/channels/migrate.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { commandError } from '../../errors/usage-error.ts';
import type { Context } from '../../session/context.ts';
import { copyUntilShort } from '../moving/copy-passes.ts';
import { isStopped, startOnce, statusOf, stopOrKill } from '../moving/stop-and-start.ts';

/** As for `gantry stop`; one that runs on is killed. */
const graceSeconds = 30;

/** What a failed move has done so far. */
interface Done {
  isCopied: boolean;
  isStopping: boolean;
}

export async function moveRunning(
  { cancel, io, note }: Pick<Context<object>, 'cancel' | 'io' | 'note'>,
  from: ContainerAt,
  to: ContainerAt,
  options: CopyOptions,
): Promise<void> {
  const { client, name } = from;
  const done: Done = { isCopied: false, isStopping: false };
  const copy = async (): Promise<void> => {
    const how = { ...options, live: false, keepAddresses: true, refresh: done.isCopied };
    await copyContainer(from, to, how, cancel);
    done.isCopied = true;
  };
  try {
    await copyUntilShort(copy, () => io.nowMs());
    note(`${name}: stopping it, to copy what changed meanwhile`);
    done.isStopping = true;
    await stopOrKill(client, name, graceSeconds, cancel);
    await copy();
    await startOnce(to.client, to.name, cancel);
  } catch (error) {
    await undo(from, to, done).catch((more: unknown) => {
      throw commandError(`${reasonOf(error)}; then, while undoing the move: ${reasonOf(more)}`, error);
    });
    throw error;
  }
  await client.operations
    .run(() => client.delete('container', name, cancel), cancel)
    .catch((error: unknown) => {
      throw commandError(`${to.name} runs on the target, but ${name} stays on the source: ${reasonOf(error)}`, error);
    });
}

/** Nothing else begins after an interruption, so these requests have no signal. */
async function undo(from: ContainerAt, to: ContainerAt, done: Done): Promise<void> {
  // Without the original the copy is all there is.
  await statusOf(from.client, from.name);
  if (done.isCopied) {
    // Never run both: they would share one address.
    if (!(await isStopped(to.client, to.name))) throw commandError(`${to.name} runs on the target: delete one of them`);
    await to.client.operations.run(() => to.client.delete('container', to.name));
  }
  if (done.isStopping) await startOnce(from.client, from.name);
}

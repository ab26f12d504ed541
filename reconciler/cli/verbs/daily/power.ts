// `gantry start|stop|restart|pause NAME...`: changes the power state of containers. Does nothing if it is already right.
import type { StateAction } from '../../../../server/api/container/container.ts';
import type { Client } from '../../../../server/client/client.ts';
import { ClientError } from '../../../../server/client/client-error.ts';
import { commandError } from '../../errors/usage-error.ts';
import { parseDuration } from '../../flags/parse-values.ts';
import type { Command, Context, Run } from '../../session/context.ts';
import type { StartOptions, StopOptions } from './daily-verbs.ts';
import { runOnTargets, type Action, type ActionResult, type Target } from './targets.ts';

type Word = 'start' | 'stop' | 'restart' | 'pause';

/** The calls that lead from each container status to the wanted state. */
const calls: Readonly<Record<Word, Readonly<Record<string, readonly StateAction[]>>>> = {
  start: { Running: [], Frozen: ['unfreeze'], other: ['start'] },
  stop: { Stopped: [], Frozen: ['unfreeze', 'stop'], other: ['stop'] },
  restart: { Stopped: ['start'], Frozen: ['unfreeze', 'restart'], other: ['restart'] },
  pause: { Frozen: [], other: ['freeze'] },
};

const participles: Readonly<Record<Word, string>> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  pause: 'paused',
};
const already: Readonly<Record<Word, string>> = {
  start: 'runs already',
  stop: 'is stopped already',
  restart: '',
  pause: 'is paused already',
};

const defaultGraceMs = 30_000;

const power = (word: Word): Action<StopOptions> => ({
  verb: word,
  prepare: ({ options }) => void graceOf(options),
  act: async (context, client, target) => {
    const { name, status = '' } = target;
    const steps = calls[word][status] ?? calls[word]['other'] ?? [];
    for (const action of steps) await change(context, client, name, action);
    return outcome(word, target, steps.length > 0);
  },
});

function outcome(word: Word, { name, owners }: Target, isChanged: boolean): ActionResult {
  const verb = isChanged ? participles[word] : already[word];
  const [owner] = owners;
  const isKept = isChanged && (word === 'stop' || word === 'pause') && owner !== undefined;
  return {
    text: `container/${name} ${verb}`,
    json: { action: word, changed: isChanged },
    ...(isKept
      ? {
          note: `container/${name} belongs to set ${owner.set}: its next apply starts it again, unless its manifest says state: stopped`,
        }
      : {}),
  };
}

const graceOf = ({ grace }: StopOptions): number => parseDuration('--grace', grace) ?? defaultGraceMs;

async function change(context: Context<StopOptions>, client: Client, name: string, action: StateAction): Promise<void> {
  const isForced = context.options.force === true;
  const ends = action === 'stop' || action === 'restart';
  const timeout = Math.max(1, Math.ceil(graceOf(context.options) / 1000));
  const body = { action, ...(ends ? (isForced ? { force: true } : { timeout }) : {}) };
  try {
    await client.operations.run(() => client.putContainerState(name, body, context.stop), context.cancel);
  } catch (error) {
    if (!ends || isForced || !(error instanceof ClientError) || !(await stillRuns(context, client, name))) throw error;
    const remedy = `gantry ${action} --force ${name} kills its processes`;
    throw commandError(`container/${name}: ${error.message}; it still runs: ${remedy}`, error);
  }
}

const stillRuns = async (context: Command, client: Client, name: string): Promise<boolean> =>
  client.containerState(name, context.stop).then(
    ({ metadata }) => metadata.status === 'Running',
    () => false,
  );

export const startContainers: Run<StartOptions> = runOnTargets(power('start'));
export const stopContainers: Run<StopOptions> = runOnTargets(power('stop'));
export const restartContainers: Run<StopOptions> = runOnTargets(power('restart'));
export const pauseContainers: Run<StartOptions> = runOnTargets(power('pause'));

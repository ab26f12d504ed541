// Starts a process with several simulated daemons (crowd-members.ts) and asks it for the processor time that it used.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { CrowdMessage, RecordsPlace } from './crowd-members.ts';

export interface CrowdProcess {
  readonly child: ChildProcess;
  /** The sockets of its daemons, in the order of their names. */
  readonly sockets: readonly string[];
  /** Milliseconds of processor time so far. */
  cpu(): Promise<number>;
  /** Stops the daemons, then the process. */
  stop(): Promise<void>;
}

/** Each daemon has a folder in `dir`. */
export async function startCrowdProcess(
  dir: string,
  names: readonly string[],
  place: RecordsPlace = 'file',
): Promise<CrowdProcess> {
  const script = fileURLToPath(new URL('crowd-members.js', import.meta.url));
  const child = fork(script, [place, dir, ...names], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, TMPDIR: dir },
  });
  const gone = once(child, 'exit');
  const next = async (): Promise<CrowdMessage> => {
    const ended = gone.then(() => [{ type: 'failed', reason: 'its process ended' }]);
    const [message] = (await Promise.race([once(child, 'message'), ended])) as [CrowdMessage];
    if (message.type === 'failed') throw new Error(`daemons ${names.join(', ')} did not start: ${message.reason}`);
    return message;
  };
  const ready = await next();
  if (ready.type !== 'ready') throw new Error('the daemons said something else first');
  return {
    child,
    sockets: ready.sockets,
    async cpu() {
      child.send('cpu');
      const answer = await next();
      return answer.type === 'cpu' ? answer.ms : Number.NaN;
    },
    async stop() {
      if (child.connected) child.send('stop');
      await gone;
    },
  };
}

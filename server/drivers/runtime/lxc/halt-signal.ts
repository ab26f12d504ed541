// Asks an init to shut down, with the signal that it understands. Does not wait for the end.
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ageSeconds, isBlocking, isReadyFor } from '../host/proc.ts';
import { isSameProcess } from '../../../lib/shared/processes.ts';
import type { RunningRecord } from './running-record.ts';

const realTimeMin = 34;
const realTimeMax = 64;
/** systemd's signal for "halt". */
const systemdHalt = realTimeMin + 3;

/** The last lxc.signal.halt of raw.lxc, as a number; undefined if it is absent or invalid. */
export function parseHaltSignal(rawLxc: string): number | undefined {
  const values = rawLxc.split('\n').map((line) => /^\s*lxc\.signal\.halt\s*=\s*(\S+)\s*$/.exec(line)?.[1]);
  const text = values.findLast((value) => value !== undefined);
  if (text === undefined) return undefined;
  if (/^[0-9]+$/.test(text)) return Number(text);
  const realTime = /^SIGRT(MIN\+|MAX-)([0-9]+)$/.exec(text);
  if (realTime !== null) {
    return realTime[1] === 'MIN+' ? realTimeMin + Number(realTime[2]) : realTimeMax - Number(realTime[2]);
  }
  return Object.entries(constants.signals).find(([name]) => name === text)?.[1];
}

/** systemd is recognizable by its blocked halt signal, which it reads from a descriptor. */
function haltSignalOf(initPid: number, configured: number | undefined): number {
  if (configured !== undefined) return configured;
  return isBlocking(initPid, systemdHalt) ? systemdHalt : constants.signals.SIGPWR;
}

const pollMs = 5;
/** An init of that age has its handlers, or will never have any. */
const grownUpSeconds = 2;

/** Sends the signal once init can receive it: the kernel drops signals that init is not prepared for, and a container stopped right after
 *  its start would never get it. Ends when sent, when init is dead, or at `signal`. */
export async function requestShutdown(
  state: Pick<RunningRecord, 'initPid' | 'initStartTime' | 'haltSignal'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted && isSameProcess(state.initPid, state.initStartTime)) {
    const halt = haltSignalOf(state.initPid, state.haltSignal);
    if (ageSeconds(state.initStartTime) > grownUpSeconds || isReadyFor(state.initPid, halt)) {
      process.kill(state.initPid, halt);
      return;
    }
    await sleep(pollMs);
  }
}

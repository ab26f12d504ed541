// Decides which signal asks an init to shut down. Sends none.
import { constants } from 'node:os';
import { blocksSignal } from './proc.ts';

const realTimeMin = 34;
const realTimeMax = 64;
/** What systemd takes as "halt". */
const systemdHalt = realTimeMin + 3;

/** The last lxc.signal.halt of raw.lxc, as a number; undefined when there is none or it is not understood. */
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

export function haltSignalOf(initPid: number, configured: number | undefined): number {
  if (configured !== undefined) return configured;
  return blocksSignal(initPid, systemdHalt) ? systemdHalt : constants.signals.SIGPWR;
}

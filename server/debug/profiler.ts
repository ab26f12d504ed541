// Profiles this process with V8's own profilers. Heap sampling runs from `openProfiler` on; processor profiling only on request.
import { Session } from 'node:inspector/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { encodeCpu, encodeHeap } from './pprof.ts';

/** Like Go's profiles: 100 samples a second, one allocation in 512 KiB. */
const cpuPeriodUs = 10_000;
const heapIntervalBytes = 512 * 1024;

export interface Profiler {
  /** Undefined: another profile is running. Shorter if the signal aborts. */
  cpu(seconds: number, signal: AbortSignal): Promise<Uint8Array | undefined>;
  heap(): Promise<Uint8Array>;
  close(): void;
}

export async function openProfiler(): Promise<Profiler> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', { samplingInterval: heapIntervalBytes });
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: cpuPeriodUs });
  let isBusy = false;
  return {
    async cpu(seconds, signal) {
      if (isBusy) return undefined;
      isBusy = true;
      try {
        await session.post('Profiler.start');
        await pause(seconds * 1000, undefined, { signal, ref: false }).catch(() => {});
        const { profile } = await session.post('Profiler.stop');
        return encodeCpu(profile, Date.now(), cpuPeriodUs);
      } finally {
        isBusy = false;
      }
    },
    async heap() {
      const { profile } = await session.post('HeapProfiler.getSamplingProfile');
      return encodeHeap(profile.head, Date.now(), heapIntervalBytes);
    },
    close: () => session.disconnect(),
  };
}

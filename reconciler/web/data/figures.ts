// The usage of a container over time: rates from counters, and amounts as text. Pure.
import type { ContainerFigures } from '../../controller/contract/index.ts';

export interface Sample {
  readonly atMs: number;
  readonly figures: ContainerFigures;
}
export type Samples = readonly Sample[];

export interface Rates {
  /** Processors in use: 0.5 is half of one. */
  readonly cpu: number;
  readonly receivedPerS: number;
  readonly sentPerS: number;
}

const everyMs = 2000;
/** A host that answers slowly is asked less often, so that all open pages together do not keep it busy. */
const shareOfTime = 5;

/** The pause before the next look at a host whose last answer took so long. */
export const pauseAfterMs = (tookMs: number): number => Math.max(everyMs, shareOfTime * tookMs);

/** Five minutes, with a sample every two seconds. */
const maxSamples = 150;

export const withSample = (samples: Samples, at: string, figures: ContainerFigures): Samples =>
  [...samples, { atMs: Date.parse(at), figures }].slice(-maxSamples);

/** The rates between samples; zero across a restart, which resets the counters. */
export function ratesOf(samples: Samples): readonly Rates[] {
  return samples.slice(1).flatMap((sample, at): readonly Rates[] => {
    const before = samples[at];
    const seconds = before === undefined ? 0 : (sample.atMs - before.atMs) / 1000;
    if (before === undefined || seconds <= 0) return [];
    const grown = (of: (figures: ContainerFigures) => number): number =>
      Math.max(0, of(sample.figures) - of(before.figures)) / seconds;
    return [
      {
        cpu: grown(({ cpuNs }) => cpuNs) / 1e9,
        receivedPerS: grown(({ receivedBytes }) => receivedBytes),
        sentPerS: grown(({ sentBytes }) => sentBytes),
      },
    ];
  });
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

export function bytesText(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < units.length - 1) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount >= 100 || unit === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

export const cpuText = (cpu: number): string => `${(cpu * 100).toFixed(cpu < 0.1 ? 1 : 0)} %`;

/** How many steps wait on all hosts of a gate. */
export const countOf = (hosts: readonly { readonly count: number }[]): number =>
  hosts.reduce((sum, one) => sum + one.count, 0);

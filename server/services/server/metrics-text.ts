// The text format of Prometheus. Pure.

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly samples: readonly Sample[];
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';

/** Omits metrics without samples. */
export function metricsText(metrics: readonly Metric[]): string {
  const blocks = metrics.filter(({ samples }) => samples.length > 0).map(blockOf);
  return blocks.length === 0 ? '' : `${blocks.join('\n')}\n`;
}

function blockOf({ name, type, help, samples }: Metric): string {
  const lines = samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** A guest chooses its interface names. */
const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

/** One sample per set of labels: its number of occurrences. */
export function counted(all: readonly Labels[]): readonly Sample[] {
  const samples = new Map<string, Sample>();
  for (const labels of all) {
    const key = labelsText(labels);
    samples.set(key, { labels, value: (samples.get(key)?.value ?? 0) + 1 });
  }
  return [...samples.values()];
}

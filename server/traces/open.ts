// Opens the exporter when a collector is named, and loads OpenTelemetry only then.
import type { Tracer } from '../lib/shared/spans.ts';
import { traceTarget, type Environment, type TraceSettings, type TraceTarget } from './target.ts';

export interface OpenTracer extends Tracer {
  /** Sends what waits, for two seconds at most. */
  close(): Promise<void>;
}

export interface TraceWish {
  readonly env: Environment;
  /** Name of this service, unless the environment has another. */
  readonly service: string;
  readonly settings?: TraceSettings;
}

/** Undefined when no collector is named. Rejects when what is said of it cannot be used. `onProblem`: spans are not taken. */
export async function openTracing(
  { env, service, settings }: TraceWish,
  onProblem: (message: string) => void,
): Promise<OpenTracer | undefined> {
  const target = traceTarget(env, service, settings);
  return target === undefined ? undefined : openTarget(target, onProblem);
}

export async function openTarget(target: TraceTarget, onProblem: (message: string) => void): Promise<OpenTracer> {
  const { TraceExporter } = await import('./exporter.ts');
  return new TraceExporter(target, onProblem);
}

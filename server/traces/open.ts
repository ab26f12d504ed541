// Opens the exporter if a collector is configured, and loads OpenTelemetry only then.
import type { Tracer } from '../lib/shared/spans.ts';
import { traceTarget, type Environment, type TraceSettings, type TraceTarget } from './target.ts';

export interface OpenTracer extends Tracer {
  /** Sends pending spans, for two seconds at most. */
  close(): Promise<void>;
}

export interface TraceWish {
  readonly env: Environment;
  /** Name of this service, unless the environment overrides it. */
  readonly service: string;
  readonly settings?: TraceSettings;
}

/** Undefined if no collector is configured. Rejects for an invalid configuration. `onProblem`: spans are refused. */
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

// The traces of a command that changes hosts, when the environment names an OpenTelemetry collector.
import { endingSpan, type Span, type Tracer } from '../../../server/lib/shared/spans.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { OpenTracer } from '../../../server/traces/open.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { usageError } from '../errors/usage-error.ts';
import type { Output } from './context.ts';

const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/** Runs the command, as a span of the trace in TRACEPARENT where that is set. */
export function traceVerb(context: Output, verb: string, work: () => Promise<ExitCode>): Promise<ExitCode> {
  return withTracer(context, async (tracer) => {
    if (tracer === undefined) return work();
    const { parseTraceparent } = await import('../../../server/lib/shared/traceparent.ts');
    const parent = parseTraceparent(context.io.env['TRACEPARENT']);
    const span = tracer.begin(`gantry ${verb}`, parent === undefined ? {} : { parent });
    return endingSpan(tracer, span, async (own) => noted(own, await work()));
  });
}

/** Runs the work with the tracer; undefined without a collector. OpenTelemetry is loaded only for a collector. */
export async function withTracer<T>(context: Output, work: (tracer: Tracer | undefined) => Promise<T>): Promise<T> {
  const tracer = await openTracer(context);
  try {
    return await work(tracer);
  } finally {
    await tracer?.close();
  }
}

async function openTracer(context: Output): Promise<OpenTracer | undefined> {
  const { env } = context.io;
  if (names.every((name) => !env[name])) return undefined;
  const { openTracing } = await import('../../../server/traces/open.ts');
  const report = (message: string): void => context.note(`Warning: ${message}`);
  return openTracing({ env, service: 'gantry' }, report).catch((error: unknown) => {
    throw usageError(reasonOf(error));
  });
}

function noted(span: Span, code: ExitCode): ExitCode {
  span.set('process.exit.code', code);
  if (code === exitCodes.error) span.end('it failed');
  return code;
}

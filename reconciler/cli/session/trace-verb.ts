// The trace of a command that changes a host, when the environment names an OpenTelemetry collector.
import { endingSpan, type Span } from '../../../server/lib/shared/spans.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { exitCodes, type ExitCode } from '../errors/exit-codes.ts';
import { usageError } from '../errors/usage-error.ts';
import type { CliContext } from './context.ts';

const names = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];

/** Runs the command, as a span of the trace in TRACEPARENT where that is set. OpenTelemetry is loaded only for a collector. */
export async function traceVerb(context: CliContext, verb: string, work: () => Promise<ExitCode>): Promise<ExitCode> {
  const { env } = context.io;
  if (names.every((name) => !env[name])) return work();
  const [{ openTracing }, { parseTraceparent }] = await Promise.all([
    import('../../../server/traces/open.ts'),
    import('../../../server/lib/shared/traceparent.ts'),
  ]);
  const report = (message: string): void => context.note(`Warning: ${message}`);
  const tracer = await openTracing({ env, service: 'gantry' }, report).catch((error: unknown) => {
    throw usageError(reasonOf(error));
  });
  if (tracer === undefined) return work();
  const parent = parseTraceparent(env['TRACEPARENT']);
  const span = tracer.begin(`gantry ${verb}`, parent === undefined ? {} : { parent });
  try {
    return await endingSpan(tracer, span, async (own) => noted(own, await work()));
  } finally {
    await tracer.close();
  }
}

function noted(span: Span, code: ExitCode): ExitCode {
  span.set('process.exit.code', code);
  if (code === exitCodes.error) span.end('it failed');
  return code;
}

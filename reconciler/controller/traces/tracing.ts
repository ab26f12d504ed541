// Whether and where traces go: the variables that OpenTelemetry has for it. The exporter is loaded only then.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { TraceExporter, TraceTarget } from './exporter.ts';

/** PURE. Undefined when no collector is named. Throws when what is said cannot be used. */
export function traceTarget(env: Readonly<Record<string, string | undefined>>): TraceTarget | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const text = own || (shared ? `${shared.replace(/\/+$/, '')}/v1/traces` : '');
  if (text === '' || env['OTEL_SDK_DISABLED'] === 'true') return undefined;
  if (!/^https?:\/\//.test(text) || !URL.canParse(text))
    throw new Error(`${name} must be a URL such as http://127.0.0.1:4318, is ${JSON.stringify(own || shared)}`);
  const pairs = (env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '').split(',').filter((pair) => pair.includes('='));
  const headers = pairs.map((pair) => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at).trim().toLowerCase(), decoded(pair.slice(at + 1).trim())] as const;
  });
  return { url: text, headers: Object.fromEntries(headers), service: env['OTEL_SERVICE_NAME'] || 'gantry-controller' };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error(`OTEL_EXPORTER_OTLP_HEADERS cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

export async function openTracing(
  env: Readonly<Record<string, string | undefined>>,
  onProblem: (message: string) => void,
): Promise<TraceExporter | undefined> {
  const target = traceTarget(env);
  if (target === undefined) return undefined;
  const { TraceExporter: Exporter } = await import('./exporter.ts');
  return new Exporter(target, onProblem);
}

// Decides where traces go, if anywhere: by OpenTelemetry's variables, and our settings, which override them. Pure.
import { reasonOf } from '../lib/shared/reason.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface TraceTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
  /** Share of recorded traces, among those that begin here. */
  readonly ratio: number;
  /** Also for traces that begin elsewhere. */
  readonly ignoresParent: boolean;
}

/** Settings from a config; they override the environment. */
export interface TraceSettings {
  /** Base URL of the collector, such as http://127.0.0.1:4318. */
  readonly endpoint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** 0 to 1. */
  readonly ratio?: number | undefined;
}

/** Undefined if no collector is configured. Throws for an invalid environment variable. */
export function traceTarget(env: Environment, service: string, settings: TraceSettings = {}): TraceTarget | undefined {
  const url = urlOf(env, settings.endpoint);
  if (url === undefined || /^true$/i.test(env['OTEL_SDK_DISABLED'] ?? '')) return undefined;
  return {
    url,
    headers: { ...headersOf(env), ...settings.headers },
    service: env['OTEL_SERVICE_NAME'] || service,
    ...samplingOf(env),
    ...withoutUndefined({ ratio: settings.ratio }),
  };
}

function urlOf(env: Environment, endpoint: string | undefined): string | undefined {
  if (endpoint) return tracesOf(endpoint);
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const text = own || (shared ? tracesOf(shared) : '');
  if (text === '') return undefined;
  if (!isCollectorUrl(text))
    throw new Error(`${name} must be a URL such as http://127.0.0.1:4318, is ${JSON.stringify(own || shared)}`);
  return text;
}

export const isCollectorUrl = (text: string): boolean => /^https?:\/\/[^\s/]/.test(text) && URL.canParse(text);

const tracesOf = (base: string): string => `${base.replace(/\/+$/, '')}/v1/traces`;

function headersOf(env: Environment): Readonly<Record<string, string>> {
  const name = env['OTEL_EXPORTER_OTLP_TRACES_HEADERS']
    ? 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'
    : 'OTEL_EXPORTER_OTLP_HEADERS';
  const pairs = (env[name] ?? '').split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim().toLowerCase(), decoded(name, pair.slice(at + 1).trim())] as const;
    }),
  );
}

function decoded(name: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error(`${name} cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

const samplers = ['always_on', 'always_off', 'traceidratio'] as const;

function samplingOf(env: Environment): Pick<TraceTarget, 'ratio' | 'ignoresParent'> {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on';
  const root = samplers.find((one) => name === one || name === `parentbased_${one}`);
  if (root === undefined) {
    const known = samplers.flatMap((one) => [one, `parentbased_${one}`]).join(', ');
    throw new Error(`OTEL_TRACES_SAMPLER must be one of ${known}, is ${JSON.stringify(name)}`);
  }
  const argument = env['OTEL_TRACES_SAMPLER_ARG'] || '1';
  const ratio = root === 'always_on' ? 1 : root === 'always_off' ? 0 : ratioOf(argument);
  if (ratio === undefined)
    throw new Error(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, is ${JSON.stringify(argument)}`);
  return { ratio, ignoresParent: name === root };
}

/** A number from 0 to 1. */
export const ratioOf = (text: string): number | undefined =>
  /^(?:0|1|0?\.\d{1,9}|1\.0{1,9})$/.test(text) ? Number(text) : undefined;

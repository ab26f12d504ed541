// An OpenTelemetry collector on loopback: stores the spans that arrive as OTLP over HTTP with JSON.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { until } from '../until.ts';

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: number };
  }[];
}

export interface CollectedSpan extends Omit<WireSpan, 'attributes'> {
  readonly service: string;
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: CollectedSpan[];
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** The first span of this name; waits for it. */
  span(name: string | RegExp, fits?: (span: CollectedSpan) => boolean): Promise<CollectedSpan>;
  close(): Promise<void>;
}

/** `answer`: replaces the answers, to never answer for example. */
export async function startCollector(
  answer = (response: ServerResponse) => void response.end('{}'),
): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const take = async (): Promise<void> => {
      requests.push({ path: request.url ?? '', headers: request.headers });
      const { resourceSpans } = JSON.parse(await text(request));
      for (const { resource, scopeSpans } of resourceSpans)
        for (const scope of scopeSpans)
          for (const span of scope.spans as WireSpan[])
            spans.push({ ...span, service: valuesOf(resource)['service.name'] as string, attributes: valuesOf(span) });
      answer(response);
    };
    void take();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    async span(name, fits = () => true) {
      const find = () =>
        spans.find((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)) && fits(span));
      await until(() => find() !== undefined, 30_000).catch(() => {
        throw new Error(`no span ${String(name)} among ${spans.map((one) => one.name).join(', ')}`);
      });
      return find() as CollectedSpan;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const valuesOf = ({
  attributes,
}: Pick<WireSpan, 'attributes'>): Readonly<Record<string, string | number | undefined>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

/** The spans from this one up to the root of its trace, as far as the collector has them. */
export function ancestors({ spans }: Pick<Collector, 'spans'>, span: CollectedSpan): readonly CollectedSpan[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? [] : [parent, ...ancestors({ spans }, parent)];
}

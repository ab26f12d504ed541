// Traces of runs: a collector gets one trace from the commit to the object that a step makes, and no collector is asked for nothing.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTracing, traceTarget } from '../../../reconciler/controller/traces/tracing.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

let world: ControllerWorld;
const spans: Span[] = [];
const seen: { readonly path: string; readonly key: string }[] = [];
const collector = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const { resourceSpans } = JSON.parse(await text(request));
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    seen.push({ path: request.url ?? '', key: String(request.headers['x-key']) });
    response.end('{}');
  };
  void answer();
});

beforeAll(async () => {
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  world = await openControllerWorld(1);
  await world.write('a.yaml', profileText('web', {}));
  const { port } = collector.address() as AddressInfo;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`, OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=a%20b' };
  await world.start(undefined, await openTracing(env, () => {}));
}, 60_000);
afterAll(async () => {
  await world.close();
  collector.closeAllConnections();
  collector.close();
});

test('a revision is one trace: the run, its hosts, their steps', async () => {
  await hasStatus(world, 'web', 'synced');
  await until(() => spans.some(({ name }) => name === 'sync web'), waitMs);
  const of = (name: string): Span => {
    const found = spans.find((span) => span.name === name);
    if (found === undefined) throw new Error(`no span ${name} among ${spans.map((one) => one.name).join(', ')}`);
    return found;
  };
  const [run, host, step] = [of('sync web'), of('host h1'), of('create profile/web')];
  expect(new Set([run.traceId, host.traceId, step.traceId]).size).toBe(1);
  expect(run.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(run.parentSpanId).toBeUndefined();
  expect(host.parentSpanId).toBe(run.spanId);
  expect(step.parentSpanId).toBe(host.spanId);
  const revision = world.engine.overview().sets[0]?.revision ?? '';
  expect(run.attributes).toContainEqual({ key: 'vcs.ref.head.revision', value: { stringValue: revision } });
  expect(BigInt(step.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(step.startTimeUnixNano));
  expect(seen[0]).toEqual({ path: '/v1/traces', key: 'a b' });
});

test('a collector that cannot be reached is reported once, and the end does not wait for it', async () => {
  const problems: string[] = [];
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const tracing = await openTracing(env, (message) => problems.push(message));
  const run = { id: 'r', set: 'web', kind: 'sync', revision: 'abc', by: 'ann' };
  for (let round = 0; round < 3; round += 1) tracing?.begin(run).ended('done', undefined);
  const endsMs = Date.now() + 7000;
  await tracing?.close();
  expect(Date.now()).toBeLessThan(endsMs);
  await until(() => problems.length > 0, waitMs);
  expect(problems).toEqual([expect.stringMatching(/^traces are not sent to 127\.0\.0\.1:9: /)]);
});

test('the variables of OpenTelemetry say where traces go', () => {
  expect(traceTarget({})).toBeUndefined();
  expect(traceTarget({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  expect(
    traceTarget({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/x', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other' })
      ?.url,
  ).toBe('https://c/x');
  expect(() => traceTarget({ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' })).toThrow(
    'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://127.0.0.1:4318, is "c:4318"',
  );
});

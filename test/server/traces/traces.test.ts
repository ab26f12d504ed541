// Where traces go, the meaning of another process's header, and the current span.
import { expect, test } from 'vitest';
import { parseTraceparent, renderTraceparent } from '../../../server/lib/shared/traceparent.ts';
import {
  currentSpan,
  currentTraceparent,
  endingSpan,
  inSpan,
  type Span,
  type SpanOptions,
  type Tracer,
} from '../../../server/lib/shared/spans.ts';
import { ratioOf, traceTarget } from '../../../server/traces/target.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test('a traceparent is read and written', () => {
  const place = { traceId, spanId, isSampled: true };
  expect(parseTraceparent(`00-${traceId}-${spanId}-01`)).toEqual(place);
  expect(parseTraceparent(`00-${traceId}-${spanId}-02`)?.isSampled).toBe(false);
  expect(parseTraceparent(renderTraceparent(place))).toEqual(place);
  // A later version may say more.
  expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-else`)).toEqual(place);
});

test.each([
  ['is missing', undefined],
  ['is empty', ''],
  ['has upper-case digits', `00-${traceId.toUpperCase()}-${spanId}-01`],
  ['has other letters', `00-${'g'.repeat(32)}-${spanId}-01`],
  ['has a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['has a span of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
  ['is too short', `00-${traceId}-${spanId}`],
  ['says more than its version allows', `00-${traceId}-${spanId}-01-more`],
  ['has the version ff', `ff-${traceId}-${spanId}-01`],
  ['is there twice', `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
  ['is very long', `cc-${traceId}-${spanId}-01-${'a'.repeat(100_000)}`],
  ['has a line break', `00-${traceId}-${spanId}-01\n`],
])('a traceparent that %s is ignored', (_, text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('the variables of OpenTelemetry say where traces go', () => {
  const of = (env: Record<string, string>) => traceTarget(env, 'gantryd');
  expect(of({})).toBeUndefined();
  expect(of({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  expect(of({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' })).toEqual({
    url: 'http://c:4318/v1/traces',
    headers: {},
    service: 'gantryd',
    ratio: 1,
    ignoresParent: false,
  });
  expect(
    of({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/x',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://other',
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=a%20b, b=c=d',
      OTEL_SERVICE_NAME: 'mine',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    }),
  ).toEqual({
    url: 'https://c/x',
    headers: { 'x-key': 'a b', b: 'c=d' },
    service: 'mine',
    ratio: 0.25,
    ignoresParent: true,
  });
  expect(() => of({ OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' })).toThrow(
    'OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://127.0.0.1:4318, is "c:4318"',
  );
  const shared = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' };
  expect(() => of({ ...shared, OTEL_TRACES_SAMPLER: 'jaeger_remote' })).toThrow('OTEL_TRACES_SAMPLER must be one of');
  expect(() => of({ ...shared, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' })).toThrow(
    'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, is "2"',
  );
});

test('a config comes before the environment', () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://env',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=env,b=env',
    OTEL_TRACES_SAMPLER: 'always_off',
  };
  const settings = { endpoint: 'http://config', headers: { b: 'config' }, ratio: 0.5 };
  expect(traceTarget(env, 'gantryd', settings)).toMatchObject({
    url: 'http://config/v1/traces',
    headers: { a: 'env', b: 'config' },
    ratio: 0.5,
  });
  expect(['0', '1', '0.5', '.5', '1.0'].map(ratioOf)).toEqual([0, 1, 0.5, 0.5, 1]);
  expect(['', '-1', '1.5', '2', 'all', '0x1', '1e-3'].map(ratioOf)).toEqual(Array(7).fill(undefined));
});

class Recorder implements Tracer {
  readonly begun: { readonly name: string; readonly parent: string | undefined; failure?: string | undefined }[] = [];
  begin(name: string, { parent }: SpanOptions = {}): Span {
    const entry: (typeof this.begun)[number] = { name, parent: parent?.spanId };
    const place = { traceId, spanId: String(this.begun.push(entry)).padStart(16, '0'), isSampled: true };
    let isEnded = false;
    return {
      place,
      get isEnded() {
        return isEnded;
      },
      set: () => {},
      end(failure) {
        if (!isEnded) entry.failure = failure;
        isEnded = true;
      },
    };
  }
}
const idOf = (at: number): string => String(at).padStart(16, '0');

test('work inside a span is its child, also at the same time; a span that ended gets no children', async () => {
  const recorder = new Recorder();
  let late: Promise<string | undefined> | undefined;
  let goOn = (): void => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  await endingSpan(recorder, recorder.begin('run'), async () => {
    late = gate.then(() => currentTraceparent());
    await Promise.all(
      ['a', 'b'].map((name) =>
        inSpan(name, {}, async () => {
          await new Promise((resolve) => setImmediate(resolve));
          await inSpan(`${name}${name}`, {}, async () => {});
        }),
      ),
    );
    expect(currentSpan()?.place.spanId).toBe(idOf(1));
  });
  goOn();
  expect(await late).toBeUndefined();
  expect(recorder.begun.map(({ name, parent }) => [name, parent])).toEqual([
    ['run', undefined],
    ['a', idOf(1)],
    ['b', idOf(1)],
    ['aa', idOf(2)],
    ['bb', idOf(3)],
  ]);
});

test('failing work marks its span and fails; without a current span it just runs', async () => {
  const recorder = new Recorder();
  const fail = () => inSpan('step', {}, () => Promise.reject(new Error('no room')));
  await expect(endingSpan(recorder, recorder.begin('run'), fail)).rejects.toThrow('no room');
  expect(recorder.begun.map(({ failure }) => failure)).toEqual(['no room', 'no room']);
  await expect(fail()).rejects.toThrow('no room');
  expect(await inSpan('none', {}, async (span) => span)).toBeUndefined();
  expect(recorder.begun).toHaveLength(2);
});

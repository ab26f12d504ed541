// Requests that share one signal, as those of one run do, leave no listener on it, however they end.
import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../server/client/client.ts';
import { startFakeDaemon, type FakeAnswer } from '../support/fakes/http-daemon.ts';
import { until } from '../support/until.ts';

const answers: Readonly<Record<string, FakeAnswer>> = {
  whole: { sync: {} },
  refused: { error: 400, message: 'no' },
  'hung-up': { hangUp: true },
  mute: { never: true },
};

async function setUp() {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  const routes = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [`GET /1.0/${name}`, () => answer]),
  );
  const daemon = await startFakeDaemon({ routes });
  onTestFinished(() => daemon.stop());
  const client = createClient(daemon.host, { connections: 100 });
  onTestFinished(() => client.close());
  const abort = new AbortController();
  const send = (name: string, timeoutMs: number) =>
    client.http.send({ method: 'GET', path: `/1.0/${name}`, timeoutMs }, abort.signal);
  const many = (name: string, timeoutMs: number) => Array.from({ length: 25 }, () => send(name, timeoutMs));
  return { daemon, abort, many, warnings, listeners: () => getEventListeners(abort.signal, 'abort').length };
}

test('answers, refusals, broken connections and time limits leave no listener, and no warning of a leak', async () => {
  const { many, listeners, warnings } = await setUp();
  const ended = Promise.allSettled(Object.keys(answers).flatMap((name) => many(name, name === 'mute' ? 200 : 10_000)));
  await until(() => listeners() > 0);
  expect(listeners()).toBe(1);
  const results = await ended;
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(25);
  expect([listeners(), warnings]).toEqual([0, []]);
});

test('an abort ends all requests of its signal', async () => {
  const { daemon, abort, many, listeners } = await setUp();
  const ended = Promise.allSettled(many('mute', 60_000));
  await until(() => daemon.requests.length === 25);
  abort.abort(new Error('the run was overtaken'));
  const reasons = (await ended).map((result) => (result.status === 'rejected' ? String(result.reason) : 'answered'));
  expect(new Set(reasons)).toEqual(new Set(['Error: the run was overtaken']));
  expect(listeners()).toBe(0);
});

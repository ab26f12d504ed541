// Bodies of callers without a login, many at once: the memory for them is bounded, and it is free again when they have ended.
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHttp, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { until } from '../../../support/until.ts';

let http: HttpHarness;
beforeAll(async () => {
  http = await startHttp({ webhooks: () => ({ status: 202, message: '' }) });
});
afterAll(() => http.close());

test('bodies beyond 64 MiB that arrive at once are refused, and there is room again when they have ended', async () => {
  const { hostname, port } = new URL(http.listener.url);
  const size = 1024 * 1024;
  const answers: string[] = [];
  const sockets = Array.from({ length: 70 }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.once('data', (part: Buffer) => answers.push(part.toString().slice(0, 12)));
    socket.write(`POST /api/v1/webhooks/none HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\n\r\n`);
    socket.write(Buffer.alloc(size - 1));
    return socket;
  });
  await until(() => answers.length >= 6);
  expect(new Set(answers)).toEqual(new Set(['HTTP/1.1 429']));
  for (const socket of sockets) socket.destroy();
  const send = () => http.ask('/api/v1/webhooks/none', { method: 'POST', body: 'x'.repeat(size - 2) });
  await until(async () => (await send()).status === 202);
  expect((await Promise.all(Array.from({ length: 60 }, send))).map(({ status }) => status)).not.toContain(429);
});

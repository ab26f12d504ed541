// An exporter whose collector refuses the spans, or never answers.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openTarget } from '../../../server/traces/open.ts';
import { until } from '../../support/until.ts';

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const targetAt = (address: string) => {
  return { url: `http://${address}/v1/traces`, headers: {}, service: 'tests', ratio: 1, ignoresParent: false };
};

test('a reason for which a collector refuses spans is reported once, and the end sends those that wait', async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(400).end();
  });
  const address = await listening(server);
  const problems: string[] = [];
  const tracer = await openTarget(targetAt(address), (message) => problems.push(message));
  tracer.begin('first').end();
  await until(() => problems.length > 0);
  tracer.begin('second').end();
  await tracer.close();
  expect([requests, problems]).toEqual([2, [expect.stringContaining(`traces are not sent to ${address}: `)]]);
});

test('more spans than may wait for a silent collector delay neither work nor the end', async () => {
  const address = await listening(createTcpServer((socket) => void socket.on('error', () => {})));
  const tracer = await openTarget(targetAt(address), () => {});
  for (let count = 0; count < 2_500; count += 1) tracer.begin('work').end();
  const endsMs = Date.now() + 30_000;
  await tracer.close();
  expect(Date.now()).toBeLessThan(endsMs);
});

// An exporter whose collector refuses the spans.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openTarget } from '../../../server/traces/open.ts';
import { until } from '../../support/until.ts';

test('a reason for which a collector refuses spans is reported once, and the end sends those that wait', async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(400).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { url: `http://${address}/v1/traces`, headers: {}, service: 'tests', ratio: 1, ignoresParent: false };
  const problems: string[] = [];
  const tracer = await openTarget(target, (message) => problems.push(message));
  tracer.begin('first').end();
  await until(() => problems.length > 0);
  tracer.begin('second').end();
  await tracer.close();
  expect([requests, problems]).toEqual([2, [expect.stringContaining(`traces are not sent to ${address}: `)]]);
});

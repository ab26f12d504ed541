// Traces across a cluster: a forwarded request stays in the trace of its caller.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember } from '../../support/cluster/members.ts';
import { ancestors, startCollector, type Collector } from '../../support/daemons/collector.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

describe.skipIf(etcdMissing() !== undefined)('traces in a cluster', () => {
  let cluster: TestCluster;
  let collector: Collector;
  let one: TestMember;

  beforeAll(async () => {
    collector = await startCollector();
    cluster = await makeCluster(2);
    [one] = cluster.members as [TestMember];
  });
  afterAll(async () => {
    await cluster.cleanUp();
    await collector.close();
  });

  test('the config applies to all members, and the span of the other member is inside the span of the first', async () => {
    expect((await one.call('PATCH', '/1.0', { config: { 'core.trace_endpoint': collector.url } })).status).toBe(200);
    expect((await one.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' })).status).toBeLessThan(300);
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await one.ok('POST', '/1.0/containers?target=m2', { name: 'c', source: { type: 'none' }, devices });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await one.ok('PUT', '/1.0/containers/c/state', { action: 'start' }, { traceparent });
    const start = await collector.span('start container');
    await until(() => ancestors(collector, start).length === 3);
    const above = ancestors(collector, start);
    expect(above.map(({ name, attributes }) => [name, attributes['gantry.member']])).toEqual([
      ['operation: Starting container', undefined],
      ['PUT /1.0/containers/:name/state', 'm2'],
      ['PUT /1.0/containers/:name/state', 'm1'],
    ]);
    expect(above.at(-1)).toMatchObject({ traceId: traceparent.slice(3, 35), parentSpanId: traceparent.slice(36, 52) });
    await one.ok('PUT', '/1.0/containers/c/state', { action: 'stop', force: true });
  });
});

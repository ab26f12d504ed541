// Traces of runs: a collector gets one trace from the commit through the plan and its steps to the start of a container in gantryd.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTraces } from '../../../reconciler/controller/traces/open-traces.ts';
import { cli } from '../../support/cli/io.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { ancestors, startCollector, type CollectedSpan, type Collector } from '../../support/daemons/collector.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';

const stack = `kind: storage_pool
name: p
driver: dir
---
kind: image
name: small
file: image.tgz
---
kind: container
name: c1
profiles: []
devices: { root: { type: disk, path: /, pool: p } }
source: { type: image, fingerprint: small }
`;

/** Max skew between the clocks of two processes. */
const clocksNs = 50_000_000n;
let world: ControllerWorld;
let daemon: TestDaemon;
let collector: Collector;
let repository: Repository;
let commit = '';

beforeAll(async () => {
  collector = await startCollector();
  daemon = await makeDaemon();
  expect((await daemon.call('PATCH', '/1.0', { config: { 'core.trace_endpoint': collector.url } })).status).toBe(200);
  world = await openControllerWorld(0);
  const folder = join(world.folder, 'image');
  mkdirSync(join(folder, 'rootfs/etc'), { recursive: true });
  writeFileSync(join(folder, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  writeFileSync(join(folder, 'rootfs/etc/hostname'), 'c\n');
  repository = new Repository(world.folder);
  execFileSync('tar', ['-C', folder, '-czf', join(repository.work, 'image.tgz'), 'metadata.yaml', 'rootfs']);
  commit = repository.commit({ 'a.yaml': stack });
  writeFileSync(
    join(world.folder, 'mine.yaml'),
    `kind: hosts\nhosts: [{ name: h1, address: "unix://${daemon.socketPath}" }]\n`,
  );
  writeFileSync(join(world.folder, 'token'), 'abc\n');
  const tokenFile = join(world.folder, 'token');
  const config = { endpoint: collector.url, headers: { 'x-key': 'a b' }, tokenFile };
  await world.start(
    `hosts: { file: mine.yaml }
sources: [{ name: site, git: { url: "file://${repository.bare}", branch: main, interval: 200ms } }]
sets: [{ name: web, source: site }]
`,
    await openTraces(config, {}, () => {}),
  );
});
afterAll(async () => {
  await world.close();
  await daemon.cleanUp();
  await collector.close();
});

const path = (span: CollectedSpan): readonly string[] =>
  [span, ...ancestors(collector, span)].map(({ service, name }) => `${service}: ${name}`);

test('a commit is one trace: its run, the host, the plan and the steps, requests, operations, and the start of the container', async () => {
  await hasStatus(world, 'web', 'synced');
  const run = await collector.span('sync web');
  const start = await collector.span('start container');
  const unpack = await collector.span('unpack image');
  await until(() => ancestors(collector, start).at(-1) === run, waitMs);
  const begin = 'gantry-controller: ';
  const above = [`${begin}start container/c1`, `${begin}host h1`, `${begin}sync web`];
  expect(path(start)).toEqual([
    'gantryd: start container',
    'gantryd: operation: Starting container',
    'gantryd: PUT /1.0/containers/:name/state',
    `${begin}PUT /1.0/containers/c1/state`,
    ...above,
  ]);
  expect(path(unpack)).toEqual([
    'gantryd: unpack image',
    expect.stringMatching(/^gantryd: container-create: /),
    'gantryd: operation: Creating container',
    'gantryd: POST /1.0/containers',
    `${begin}POST /1.0/containers`,
    `${begin}create container/c1`,
    `${begin}host h1`,
    `${begin}sync web`,
  ]);
  const plan = await collector.span('plan', ({ traceId }) => traceId === run.traceId);
  expect(path(plan)).toEqual([`${begin}plan`, `${begin}host h1`, `${begin}sync web`]);
  expect(run.parentSpanId).toBeUndefined();
  expect(run.attributes['vcs.ref.head.revision']).toBe(commit);
  for (const span of [start, unpack, plan]) expect(span.traceId).toBe(run.traceId);
  const request = await collector.span('PUT /1.0/containers/:name/state');
  expect(request.kind).toBe(2);
  expect(request.attributes).toMatchObject({
    'http.response.status_code': 202,
    'url.path': '/1.0/containers/c1/state',
  });
  const step = await collector.span('start container/c1');
  const operation = await collector.span('operation: Starting container');
  expect(step.attributes['gantry.operation']).toBe(operation.attributes['gantry.operation']);
  expect(BigInt(step.endTimeUnixNano) + clocksNs).toBeGreaterThanOrEqual(BigInt(operation.endTimeUnixNano));
  const [first] = collector.requests.filter(({ headers }) => headers['x-key'] !== undefined);
  expect(first).toMatchObject({ path: '/v1/traces', headers: { 'x-key': 'a b', authorization: 'Bearer abc' } });
});

test('a step that fails is a failed span with its reason, in a trace of its own', async () => {
  daemon.sim.faults.inject({ operation: 'start', container: 'c2', error: 'no room on the moon', times: 1 });
  repository.commit({ 'b.yaml': stack.slice(stack.indexOf('kind: container')).replace('name: c1', 'name: c2') });
  const failed = await collector.span('start container/c2');
  expect(failed.status).toMatchObject({ code: 2, message: expect.stringContaining('no room on the moon') });
  const driver = await collector.span('start container', ({ traceId }) => traceId === failed.traceId);
  expect(driver.status).toMatchObject({ code: 2, message: expect.stringContaining('no room on the moon') });
  const first = await collector.span('sync web');
  expect(failed.traceId).not.toBe(first.traceId);
});

test('a repair of drift is a trace of its own, which begins with the comparison that found it', async () => {
  repository.git('rm', '-q', 'b.yaml');
  const calm = repository.commit({ 'c.yaml': 'kind: profile\nname: kept\nconfig: { user.a: declared }\n' });
  const made = await collector.span('create profile/kept');
  await hasStatus(world, 'web', 'synced');
  expect((await daemon.call('PATCH', '/1.0/profiles/kept', { config: { 'user.a': 'by hand' } })).status).toBe(200);
  const run = await collector.span('heal web');
  const plan = await collector.span('plan', ({ traceId }) => traceId === run.traceId);
  const put = await collector.span('PUT /1.0/profiles/:name', ({ traceId }) => traceId === run.traceId);
  const begin = 'gantry-controller: ';
  expect(path(plan)).toEqual([`${begin}plan`, `${begin}host h1`, `${begin}heal web`]);
  expect(path(put).slice(-3)).toEqual([`${begin}update profile/kept`, `${begin}host h1`, `${begin}heal web`]);
  expect(run.traceId).not.toBe(made.traceId);
  expect(run.attributes).toMatchObject({ 'vcs.ref.head.revision': calm, 'gantry.outcome': 'done' });
  expect(plan.startTimeUnixNano).toBe(run.startTimeUnixNano);
  const step = await collector.span('update profile/kept', ({ traceId }) => traceId === run.traceId);
  expect(BigInt(plan.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(plan.startTimeUnixNano));
  expect(BigInt(plan.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(step.startTimeUnixNano) + clocksNs);
});

test('gantry run: each repair is a trace of its own, with its comparison', async () => {
  const file = join(world.folder, 'run.yaml');
  writeFileSync(file, 'kind: profile\nname: own\nconfig: { user.a: declared }\n');
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACEPARENT: traceparent };
  let interrupt = (): void => {};
  const argv = ['run', file, '-y', '--host', `unix://${daemon.socketPath}`, '--set', 'own'];
  const running = cli(argv, { env, interrupts: (end) => (interrupt = end) });
  const created = await collector.span('create profile/own');
  await until(() => ancestors(collector, created).length === 2, waitMs);
  expect((await daemon.call('PATCH', '/1.0/profiles/own', { config: { 'user.a': 'by hand' } })).status).toBe(200);
  const updated = await collector.span('update profile/own');
  interrupt();
  expect((await running).code).toBe(0);
  expect(updated.traceId).not.toBe(created.traceId);
  for (const [{ traceId }, kind] of [
    [created, 'sync'],
    [updated, 'heal'],
  ] as const) {
    expect(traceId).not.toBe(traceparent.slice(3, 35));
    const run = await collector.span(`${kind} own`, (span) => span.traceId === traceId);
    const plan = await collector.span('plan', (span) => span.traceId === traceId);
    expect(path(plan)).toEqual(['gantry: plan', expect.stringMatching(/^gantry: host unix:/), `gantry: ${kind} own`]);
    expect(run.attributes).toMatchObject({ 'gantry.set': 'own', 'gantry.outcome': 'done' });
    expect(run.parentSpanId).toBeUndefined();
  }
});

test('gantry apply and rollback on several hosts have a span for each host', async () => {
  const file = join(world.folder, 'fleet.yaml');
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const hosts = ['--hosts', join(world.folder, 'mine.yaml'), '--set', 'fleet'];
  for (const note of ['one', 'two']) {
    writeFileSync(file, `kind: profile\nname: fleet\nconfig: { user.a: ${note} }\n`);
    expect(await cli(['apply', '-y', '-f', file, ...hosts], { env })).toMatchObject({ code: 0 });
  }
  expect(await cli(['rollback', '-y', ...hosts], { env })).toMatchObject({ code: 0 });
  const rollback = await collector.span('gantry rollback');
  for (const [step, verb] of [
    [await collector.span('create profile/fleet'), 'apply'],
    [await collector.span('update profile/fleet', ({ traceId }) => traceId === rollback.traceId), 'rollback'],
  ] as const) {
    await until(() => ancestors(collector, step).length === 2, waitMs);
    expect(path(step).slice(1)).toEqual(['gantry: host h1', `gantry: gantry ${verb}`]);
    const plan = await collector.span('plan', ({ traceId }) => traceId === step.traceId);
    expect(path(plan)).toEqual(['gantry: plan', 'gantry: host h1', `gantry: gantry ${verb}`]);
  }
});

test('gantry apply is a trace, inside the one that its environment names', async () => {
  const file = join(world.folder, 'profile.yaml');
  writeFileSync(file, 'kind: profile\nname: web\nconfig: { user.a: b }\n');
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACEPARENT: `00-${traceId}-b7ad6b7169203331-01` };
  const host = `unix://${daemon.socketPath}`;
  expect(await cli(['apply', '-y', '-f', file, '--host', host, '--set', 'mine'], { env })).toMatchObject({ code: 0 });
  const isMine = (span: CollectedSpan): boolean => span.traceId === traceId;
  const made = await collector.span('POST /1.0/profiles', (span) => span.service === 'gantryd' && isMine(span));
  await until(() => ancestors(collector, made).length === 3, waitMs);
  expect(path(made)).toEqual([
    'gantryd: POST /1.0/profiles',
    'gantry: POST /1.0/profiles',
    'gantry: create profile/web',
    'gantry: gantry apply',
  ]);
  const plan = await collector.span('plan', isMine);
  expect(path(plan)).toEqual(['gantry: plan', 'gantry: gantry apply']);
  const bad = await cli(['apply', '-y', '-f', file, '--host', host], {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' },
  });
  expect(bad.code).not.toBe(0);
  expect(bad.stderr).toContain('OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://127.0.0.1:4318, is "c:4318"');
});

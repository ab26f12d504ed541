// The progress reducer and its three renderers, on one scripted run with fixed times; the goldens show the output.
import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Step } from '../../../reconciler/core/plan/plan.ts';
import { type EngineEvent, progressOf } from '../../../reconciler/engine/steps/events.ts';
import type { Operation } from '../../../server/api/operation.ts';
import { paintFor } from '../../../reconciler/cli/output/paint.ts';
import { reduceProgress, renderElapsed, startProgress } from '../../../reconciler/cli/output/progress.ts';
import { eventLine } from '../../../reconciler/cli/output/render-json.ts';
import { renderPlainEvent, renderStill } from '../../../reconciler/cli/output/render-plain.ts';
import { renderFrame } from '../../../reconciler/cli/output/render-tty.ts';
import { canRepaint, hasColor, processIo } from '../../../reconciler/cli/output/process-io.ts';
import { openIo } from '../../../reconciler/cli/output/safe-io.ts';
import { reporterFor } from '../../../reconciler/cli/output/reporter.ts';
import { until } from '../../support/until.ts';

const base = { needs: [], timeoutMs: 1000 };
const image: Step = {
  ...base,
  id: 'image/base#create',
  address: 'image/base',
  kind: 'image',
  name: 'f00',
  action: 'create',
  body: {},
};
const web: Step = {
  ...base,
  id: 'container/web1#create',
  address: 'container/web1',
  kind: 'container',
  name: 'web1',
  action: 'create',
  body: {},
};
const start: Step = {
  ...base,
  id: 'container/web1#start',
  address: 'container/web1',
  kind: 'container',
  name: 'web1',
  action: 'start',
  force: 'never',
  graceMs: 1,
};
const net: Step = {
  ...base,
  id: 'network/web0#update',
  address: 'network/web0',
  kind: 'network',
  name: 'web0',
  action: 'update',
  edits: [],
};
const ready: Step = {
  ...base,
  id: 'container/web1#wait',
  address: 'container/web1',
  kind: 'container',
  name: 'web1',
  action: 'wait',
  condition: { type: 'running', timeoutMs: 1 },
};
const operation = {
  id: 'op1',
  description: 'Creating container',
  status: 'Running',
  status_code: 103,
} as unknown as Operation;

const script: readonly EngineEvent[] = [
  { type: 'apply_start', step: image, atMs: 0 },
  { type: 'apply_start', step: net, atMs: 0 },
  { type: 'apply_progress', step: image, atMs: 900, text: 'Upload: 42%', percent: 42 },
  { type: 'apply_complete', step: net, atMs: 1400, elapsedMs: 1400, note: 'it already had these values' },
  { type: 'apply_complete', step: image, atMs: 65_000, elapsedMs: 65_000 },
  { type: 'apply_start', step: web, atMs: 65_000 },
  { type: 'operation_update', step: web, atMs: 65_100, operation },
  { type: 'apply_progress', step: web, atMs: 66_000, text: 'Unpack: 7%', percent: 7 },
  {
    type: 'apply_errored',
    step: web,
    atMs: 70_000,
    elapsedMs: 5000,
    failure: {
      stepId: web.id,
      address: web.address,
      code: 'failed',
      what: 'create container/web1',
      why: 'no space left',
      remedy: 'make room, then apply again',
    },
  },
  { type: 'apply_skipped', step: start, atMs: 70_000, because: 'container/web1#create did not succeed' },
  { type: 'apply_skipped', step: ready, atMs: 70_000, because: 'container/web1#start did not succeed' },
];

test('The plain renderer writes one line for each event', async () => {
  const lines = script.map((event) => renderPlainEvent(event, paintFor(false))).filter((line) => line !== undefined);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../golden/cli-progress-plain.txt');
});

test('The plain renderer leaves the steps that an interruption skips to the outcome', () => {
  const event = { type: 'apply_skipped', step: start, atMs: 1, because: 'the run was interrupted' } as const;
  expect(renderPlainEvent({ ...event, isOneOfAll: true }, paintFor(false))).toBeUndefined();
});

test('The JSON renderer writes one envelope for each event', async () => {
  const lines = script.map((event) => eventLine(event) ?? '');
  for (const line of lines) {
    expect(JSON.parse(line)).toMatchObject({
      '@level': expect.any(String),
      '@module': 'gantry.ui',
      type: expect.any(String),
    });
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../golden/cli-progress.ndjson');
});

test('The terminal shows the running steps with elapsed time and progress', async () => {
  let progress = startProgress(5);
  const frames = script.map((event) => {
    progress = reduceProgress(progress, event);
    return [
      `@${event.atMs} ${event.type} ${event.step.id}`,
      ...renderFrame(progress, event.atMs + 100, 70, paintFor(false)),
    ];
  });
  await expect(`${frames.map((frame) => frame.join('\n')).join('\n\n')}\n`).toMatchFileSnapshot(
    '../../golden/cli-progress-tty.txt',
  );
});

test('The reducer ends with no running step and every step counted', () => {
  const end = script.reduce(reduceProgress, startProgress(5));
  expect(end).toEqual({ rows: [], done: 2, failed: 1, skipped: 2, total: 5 });
});

test('Frames never exceed the width or the number of rows', () => {
  let progress = startProgress(50);
  for (let n = 0; n < 50; n += 1) {
    const step: Step = { ...web, id: `c${n}`, address: `container/${'x'.repeat(n + 20)}` };
    progress = reduceProgress(progress, { type: 'apply_start', step, atMs: 0 });
    progress = reduceProgress(progress, { type: 'apply_progress', step, atMs: 0, text: 'y'.repeat(80), percent: 50 });
  }
  const frame = renderFrame(progress, 1000, 60, paintFor(false));
  expect(frame).toHaveLength(14);
  expect(frame.every((line) => line.length <= 60)).toBe(true);
  expect(frame.at(-2)).toBe('... and 38 more');
});

test('A step that takes long is mentioned again', () => {
  expect(renderStill({ step: image, startedMs: 0, text: 'Upload: 42%' }, 20_000)).toBe(
    'image/base: Still creating... [20s] Upload: 42%',
  );
});

test('Elapsed times are short', () => {
  expect([0, 60, 9_940, 9_950, 59_400, 60_000, 3_725_000].map(renderElapsed)).toEqual([
    '0.0s',
    '0.1s',
    '9.9s',
    '10s',
    '59s',
    '1m00s',
    '62m05s',
  ]);
});

test('Progress is found in operation metadata under any key', () => {
  const of = (metadata: Record<string, unknown> | null) => progressOf({ ...operation, metadata });
  expect(of({ create_container_from_image_unpack_progress: 'Unpack: 42% (1.2MB/s)' })).toEqual({
    text: 'Unpack: 42% (1.2MB/s)',
    percent: 42,
  });
  expect(of({ download_progress: 'rootfs: 3MB' })).toEqual({ text: 'rootfs: 3MB' });
  expect(of({ fingerprint: 'abc' })).toBeUndefined();
  expect(of(null)).toBeUndefined();
});

describe('colours and painting', () => {
  const tty = { isTTY: true };
  test('Colours follow NO_COLOR, FORCE_COLOR, TERM=dumb, CI and the flag', () => {
    expect(hasColor({}, tty, true)).toBe(true);
    expect(hasColor({}, {}, true)).toBe(false);
    expect(hasColor({}, tty, false)).toBe(false);
    expect(hasColor({ NO_COLOR: '1', FORCE_COLOR: '1' }, tty, true)).toBe(false);
    expect(hasColor({ FORCE_COLOR: '1' }, {}, true)).toBe(true);
    expect(hasColor({ FORCE_COLOR: '0' }, tty, true)).toBe(false);
    expect(hasColor({ TERM: 'dumb' }, tty, true)).toBe(false);
    expect(canRepaint({}, tty)).toBe(true);
    expect(canRepaint({ CI: 'true' }, tty)).toBe(false);
    expect(canRepaint({ TERM: 'dumb' }, tty)).toBe(false);
    expect(canRepaint({}, {})).toBe(false);
  });
});

test('Lines of one moment are written together and in order, the last of them before the run has ended', async () => {
  const writes: string[] = [];
  const stdout = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      writes.push(chunk);
      done();
    },
    writev(chunks, done) {
      writes.push(chunks.map(({ chunk }) => chunk as string).join(''));
      done();
    },
  });
  const io = openIo({ ...processIo(), stdout });
  const report = reporterFor(io, { json: true, color: false }, 3);
  for (const step of [image, web, net]) report.event({ type: 'apply_start', step, atMs: 0 });
  await until(() => writes.length > 0);
  const addresses = writes.map((text) => [...text.matchAll(/"addr":"([^"]*)"/g)].map(([, address]) => address));
  expect(addresses).toEqual([['image/base', 'container/web1', 'network/web0']]);
  report.event({ type: 'apply_complete', step: web, atMs: 1, elapsedMs: 1 });
  report.finish();
  expect(writes.at(-1)).toContain('apply_complete');
});

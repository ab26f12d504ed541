// Commands that may take longer than an hour: their own `timeout` is the only limit, also in a container, unless `timeouts` sets one.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { containerExecAction } from '../../provider/actions/container-exec.ts';
import type { Link } from '../../provider/connection/link.ts';
import { containerExecEphemeral } from '../../provider/ephemeral/container-exec.ts';
import { invokeAction } from '../../provider/framework/actions/run-action.ts';
import { applyChange } from '../../provider/framework/apply.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { EphemeralServer } from '../../provider/framework/ephemeral/ephemeral-server.ts';
import type { AnyProvider, AnyResource } from '../../provider/framework/provider.ts';
import { unknownValue, type Value, type ValueMap } from '../../provider/framework/value.ts';
import { container } from '../../provider/resources/container/container.ts';
import { containerExec } from '../../provider/resources/container/container-exec-resource.ts';
import { addedLimitMs } from '../../provider/resources/container/container-limits.ts';
import { liveContainer } from '../support/fakes/worlds.ts';

const minuteMs = 60_000;
const explain = (what: string, error: unknown) => [failure(what, String(error))];
const provider = { explain } as unknown as AnyProvider<Link>;
const stopping = new AbortController().signal;

/** A server whose commands take an hour and a half. */
const client = {
  client: {
    get: async () => ({ metadata: liveContainer('web', { created_at: 'now' }) }),
    create: async () => ({}),
    putContainerState: async () => ({}),
    operations: { run: (begin: () => Promise<unknown>) => begin() },
    exec: async (_container: string, _spec: object, signal: AbortSignal) => ({
      exited: new Promise<number>((resolve, reject) => {
        setTimeout(() => resolve(0), 90 * minuteMs);
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
    }),
  },
  reader: { written() {}, read: async () => ({ object: liveContainer('web', { created_at: 'now' }) }) },
  activity: { during: (work: () => Promise<unknown>) => work() },
  server: { api_extensions: [], environment: { server: 'gantry' } },
} as unknown as Link;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

async function waited<T>(running: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(100 * minuteMs);
  return running;
}

const config = (attributes: object, more: ValueMap = {}): ValueMap => ({
  ...Object.fromEntries(Object.keys(attributes).map((name) => [name, null])),
  container: 'web',
  command: ['sleep', '5400'],
  timeout: '2h',
  ...more,
});

test('An action runs its command as long as its timeout says', async () => {
  const deps = { provider, action: containerExecAction, client, stopping };
  const lines: string[] = [];
  const given = config(containerExecAction.attributes);
  expect(await waited(invokeAction(deps, given, (line) => void lines.push(line)))).toEqual([]);
  expect(lines).toEqual(['The command exited with 0']);
});

test('An ephemeral resource runs both of its commands as long as its timeout says', async () => {
  const unconfigured = (what: string) => failure(what, '');
  const served = new EphemeralServer({ provider, resource: containerExecEphemeral, client, stopping, unconfigured });
  const given = config(containerExecEphemeral.attributes, { close_command: ['sleep', '5400'] });
  const opened = await waited(served.open(given));
  expect(opened).toMatchObject({ diagnostics: [], result: { exit_code: 0 } });
  expect(await waited(served.close(opened.privateData))).toEqual([]);
});

test('A resource runs both of its commands as long as its timeout says', async () => {
  const deps = { provider, resource: containerExec, client, stopping };
  const planned = config(containerExec.attributes, { destroy_command: ['sleep', '5400'], user: 0, group: 0 });
  const created = await waited(applyChange(deps, { prior: null, planned, config: planned, privateData: {} }));
  expect(created).toMatchObject({ diagnostics: [], state: { container: 'web' } });
  const removal = { prior: created.state, planned: null, config: null, privateData: created.privateData };
  expect(await waited(applyChange(deps, removal))).toMatchObject({ diagnostics: [], state: null });
});

const longWait = { type: 'delay', delay: '1m', timeout: '60s' };
const longCommand = { command: ['sleep', '5400'], timeout: '2h', on: 'change', enabled: true, exit_code: unknownValue };
const web = (timeouts: Value): ValueMap => ({
  ...Object.fromEntries(Object.keys(container.attributes).map((name) => [name, null])),
  name: 'web',
  running: true,
  config: {},
  devices: {},
  wait_for: [longWait],
  exec: { long: longCommand },
  timeouts,
});
const createdWeb = (timeouts: Value) => {
  const [resource, planned]: [AnyResource<Link>, ValueMap] = [container, web(timeouts)];
  const deps = { provider, resource, client, stopping };
  return waited(applyChange(deps, { prior: null, planned, config: planned, privateData: {} }));
};

test('A container waits and runs its commands as long as their own limits say', async () =>
  expect(await createdWeb(null)).toMatchObject({ diagnostics: [], state: { exec: { long: { exit_code: 0 } } } }));

test('A limit in timeouts ends the creation of a container, which says where to raise it', async () => {
  const { diagnostics } = await createdWeb({ create: '20m', read: null, update: null, delete: null });
  expect(diagnostics).toMatchObject([
    { summary: 'Timed out: create gantry_container', detail: expect.stringContaining('timeouts attribute') as string },
  ]);
});

test('The limits of a container are added up: its clean stop where it stops, its waits and enabled commands where it starts', () => {
  const off = { ...longCommand, enabled: false };
  const state = { wait_for: [longWait], exec: { long: longCommand, off }, stop_timeout: 3600 } as unknown as Parameters<
    typeof addedLimitMs
  >[1];
  const limits = (['create', 'read', 'update', 'delete'] as const).map(
    (operation) => addedLimitMs(operation, state) / minuteMs,
  );
  expect(limits).toEqual([121, 0, 181, 60]);
});

// Commands that may take longer than an hour: their own `timeout` is the only limit.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { containerExecAction } from '../../provider/actions/container-exec.ts';
import type { Link } from '../../provider/connection/link.ts';
import { containerExecEphemeral } from '../../provider/ephemeral/container-exec.ts';
import { invokeAction } from '../../provider/framework/actions/run-action.ts';
import { applyChange } from '../../provider/framework/apply.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { EphemeralServer } from '../../provider/framework/ephemeral/ephemeral-server.ts';
import type { AnyProvider } from '../../provider/framework/provider.ts';
import type { ValueMap } from '../../provider/framework/value.ts';
import { containerExec } from '../../provider/resources/container/container-exec-resource.ts';

const minuteMs = 60_000;
const explain = (what: string, error: unknown) => [failure(what, String(error))];
const provider = { explain } as unknown as AnyProvider<Link>;
const stopping = new AbortController().signal;

/** A server whose commands take an hour and a half. */
const client = {
  client: {
    get: async () => ({ metadata: { status: 'Running', created_at: 'now' } }),
    exec: async (_container: string, _spec: object, signal: AbortSignal) => ({
      exited: new Promise<number>((resolve, reject) => {
        setTimeout(() => resolve(0), 90 * minuteMs);
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
    }),
  },
  reader: { read: async () => ({ object: { created_at: 'now' } }) },
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

// A command of a new container that Ctrl-C kills: an error would have Terraform replace the container, so the next apply runs it.
import { expect, test } from 'vitest';
import type { Link } from '../../../provider/connection/link.ts';
import { applyChange } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import { versionKey } from '../../../provider/framework/object-type.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import type { AnyProvider, AnyResource } from '../../../provider/framework/provider.ts';
import { unknownValue, type ValueMap } from '../../../provider/framework/value.ts';
import { container } from '../../../provider/resources/container/container.ts';
import { liveContainer } from '../../support/fakes/worlds.ts';

const explain = (what: string, error: unknown) => [failure(what, String(error))];
const seen = liveContainer('web', { created_at: 'now' });
const ran: string[] = [];
const stop = new AbortController();

/** A server on which the user presses Ctrl-C while the first command runs. */
const client = {
  client: {
    get: async () => ({ metadata: seen, etag: 'e' }),
    create: async () => ({}),
    put: async () => ({}),
    putContainerState: async () => ({}),
    operations: { run: (begin: () => Promise<unknown>) => begin() },
    exec: async (_container: string, { command }: { readonly command: readonly string[] }, signal: AbortSignal) => {
      ran.push(command.join(' '));
      if (ran.length === 1) stop.abort(new Error('interrupted'));
      return { exited: signal.aborted ? Promise.reject(signal.reason as Error) : Promise.resolve(0) };
    },
  },
  reader: { written() {}, read: async () => ({ object: seen }) },
  activity: { during: (work: () => Promise<unknown>) => work(), hasWritten: false },
  server: { api_extensions: [], environment: { server: 'gantry' } },
} as unknown as Link;

const resource: AnyResource<Link> = container;
const command = (word: string): ValueMap => ({ command: [word], on: 'change', enabled: true, timeout: '5m' });
const config: ValueMap = {
  ...Object.fromEntries(Object.keys(container.attributes).map((name) => [name, null])),
  name: 'web',
  profiles: ['default'],
  exec: { a: command('one'), b: command('two') },
};
const plan = async (prior: ValueMap | null, privateData: Readonly<Record<string, string>>): Promise<ValueMap> => {
  const deps = { resource, client: undefined, explain };
  const { planned, diagnostics } = await planResource(deps, { config, prior, isImported: false, privateData });
  expect(diagnostics).toEqual([]);
  return planned ?? {};
};
const apply = (prior: ValueMap | null, planned: ValueMap, stopping: AbortSignal, link = client) => {
  const provider = { explain } as unknown as AnyProvider<Link>;
  return applyChange(
    { provider, resource, client: link, stopping },
    { prior, planned, config, privateData: { [versionKey]: 'e' } },
  );
};
const codes = (state: ValueMap | null): unknown =>
  Object.values((state?.['exec'] ?? {}) as Record<string, ValueMap>).map((one) => one['exit_code']);

test('A command that was interrupted leaves a new container without an error, and the next apply runs it', async () => {
  const created = await apply(null, await plan(null, {}), stop.signal);
  expect(created.diagnostics).toMatchObject([
    { severity: 'warning', detail: 'The next apply runs a, b; a may have begun.' },
  ]);
  expect([codes(created.state), ran]).toEqual([[null, null], ['one']]);
  const again = await plan(created.state, created.privateData);
  expect(codes(again)).toEqual([unknownValue, unknownValue]);
  const updated = await apply(created.state, again, new AbortController().signal);
  expect(updated.diagnostics).toEqual([]);
  expect([codes(updated.state), ran]).toEqual([
    [0, 0],
    ['one', 'one', 'two'],
  ]);
  expect(codes(await plan(updated.state, updated.privateData))).toEqual([0, 0]);
  // Commands of an imported container count as run.
  const noted = await plan(created.state, { noted_commands: 'a\nb' });
  expect(codes(noted)).toEqual([null, null]);
});

test('A command of a start that did not run counts as never run, so that the next apply runs it', async () => {
  const exec = { a: { ...command('one'), on: 'start', exit_code: 0, stdout: '', stderr: '' } };
  const prior = { ...config, exec, running: true };
  const stopped = { metadata: { ...seen, status: 'Stopped', status_code: 102 }, etag: 'e' };
  const dies = async (): Promise<never> => Promise.reject(new Error('the daemon died'));
  const dying = { ...client, client: { ...client.client, get: async () => stopped, exec: dies } } as unknown as Link;
  const begun = await apply(prior, prior, new AbortController().signal, dying);
  expect(begun.diagnostics).toMatchObject([{ severity: 'error', detail: 'Error: the daemon died' }]);
  expect(codes(begun.state)).toEqual([null]);
  const ended = await apply(begun.state, prior, new AbortController().signal);
  expect([codes(ended.state), 'owed_commands' in ended.privateData]).toEqual([[0], false]);
});

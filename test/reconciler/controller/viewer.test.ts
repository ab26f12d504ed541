// `gantry ui`: the view of one host with and without manifests, updates after changes, and possible actions.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ObjectDetail, ObjectPage, Overview, SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { ask, cookiesOf } from '../../support/controller/http-harness.ts';
import { openMemoryDaemon, type MemoryDaemon } from '../../support/daemons/in-memory.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: MemoryDaemon;
const folder = tempFolder('gantry-ui-');
beforeAll(async () => {
  daemon = await openMemoryDaemon();
  await writeFile(
    join(folder, 'stack.yaml'),
    `kind: profile
name: web
config: { user.color: blue, environment.PASSWORD: hunter2 }
---
kind: profile
name: new
config: { user.color: red }
`,
  );
  await daemon.client.create('profile', { name: 'web', config: { 'user.color': 'green' } });
  await daemon.client.create('profile', { name: 'other', config: { 'user.color': 'white' } });
});
afterAll(() => daemon?.close());

interface Opened {
  readonly url: string;
  readonly ticket: string;
  read<T>(path: string): Promise<T>;
  post(path: string, body: unknown): Promise<{ readonly status: number; readonly text: string }>;
  end(): Promise<CliRun>;
}

async function open(...args: readonly string[]): Promise<Opened> {
  let text = '';
  let interrupt = (): void => {};
  const running = cli(['ui', '--host', daemon.host, ...args], {
    onStdout: (more) => (text += more),
    interrupts: (given) => (interrupt = given),
  });
  let ended: CliRun | undefined;
  void running.then((run) => (ended = run));
  await until(() => text.includes('works once') || ended !== undefined);
  if (ended !== undefined) throw new Error(`gantry ui ended: ${ended.stderr}`);
  const ticket = /Open (\S+)/.exec(text)?.[1] ?? '';
  const url = new URL(ticket).origin;
  const cookie = cookiesOf(await ask(ticket));
  const session = (await ask(`${url}/api/v1/session`, { headers: { cookie } })).json<{ csrfToken: string }>();
  return {
    url,
    ticket,
    read: async <T>(path: string) => (await ask(`${url}/api/v1/${path}`, { headers: { cookie } })).json<T>(),
    post: (path, body) =>
      ask(`${url}/api/v1/${path}`, { body, headers: { cookie, 'x-csrf-token': session.csrfToken, origin: url } }),
    end: async () => {
      interrupt();
      return running;
    },
  };
}

const setOf = async (page: Opened): Promise<SetStatus | undefined> => (await page.read<Overview>('overview')).sets[0];
const statusesOf = async (page: Opened): Promise<Record<string, string>> => {
  const { objects } = await page.read<ObjectPage>('sets/default/objects');
  return Object.fromEntries(objects.map(({ address, status }) => [address, status]));
};

describe('gantry ui', () => {
  test('shows the live objects without manifests', async () => {
    const page = await open();
    onTestFinished(async () => expect((await page.end()).code).toBe(0));
    await until(async () => (await statusesOf(page))['profile/other'] === 'undeclared');
    expect(await setOf(page)).toMatchObject({ status: 'unknown', problems: [] });
    const [host] = (await setOf(page))?.hosts ?? [];
    expect(host?.objects).toMatchObject({ total: 0, synced: 0, drifted: 0, failed: 0 });
    expect(host?.objects.undeclared).toBe(Object.keys(await statusesOf(page)).length);
    expect((await setOf(page))?.message).toContain('No manifests were given');
  });

  test('shows declared objects beside live ones, and follows a change of the host', async () => {
    const page = await open(join(folder, 'stack.yaml'));
    onTestFinished(async () => void (await page.end()));
    await until(async () => (await setOf(page))?.status === 'drifted');
    expect(await statusesOf(page)).toMatchObject({
      'profile/web': 'drifted',
      'profile/new': 'missing',
      'profile/other': 'undeclared',
    });
    expect((await setOf(page))?.hosts[0]?.objects).toMatchObject({ total: 2, synced: 0, drifted: 2 });
    const [host] = (await page.read<Overview>('overview')).hosts;
    const where = `host=${encodeURIComponent(host?.name ?? '')}&address=profile/web`;
    const detail = await page.read<ObjectDetail>(`sets/default/object?${where}`);
    expect(detail.differences).toContainEqual(
      expect.objectContaining({ path: 'config.user.color', desired: 'blue', live: 'green' }),
    );
    expect(JSON.stringify(detail)).not.toContain('hunter2');
    expect(await page.read('sets/default/drift')).toMatchObject([{ address: 'profile/web', action: 'reported' }]);
    await daemon.client.create('profile', { name: 'late', config: {} });
    await until(async () => 'profile/late' in (await statusesOf(page)));
  });

  test('shows the errors of manifests that were broken later', async () => {
    const file = join(folder, 'later.yaml');
    await writeFile(file, 'kind: profile\nname: web\n');
    const page = await open(file);
    onTestFinished(async () => void (await page.end()));
    await until(async () => (await setOf(page))?.hosts[0]?.objects.total === 1);
    await writeFile(file, 'kind: profile\nnonsense: true\n');
    await until(async () => (await setOf(page))?.status === 'failed');
    expect((await setOf(page))?.problems.join('\n')).toContain('later.yaml:2');
    expect(await statusesOf(page)).toMatchObject({ 'profile/web': 'unknown', 'profile/other': 'unknown' });
  });

  test('works with containers, and with --read-only it does not', async () => {
    const page = await open();
    const closed = await open('--read-only');
    onTestFinished(async () => {
      await page.end();
      await closed.end();
    });
    await until(async () => (await setOf(page)) !== undefined && (await setOf(closed)) !== undefined);
    const host = (await page.read<Overview>('overview')).hosts[0]?.name;
    expect(await page.read(`hosts/${host}/containers`)).toMatchObject({ containers: [] });
    expect((await page.post(`hosts/${host}/containers/no/power`, { action: 'start' })).status).toBe(404);
    expect(await closed.read('session')).toMatchObject({ role: 'view', console: false });
    expect((await closed.post(`hosts/${host}/containers/no/power`, { action: 'start' })).status).toBe(403);
    expect(await closed.read(`hosts/${host}/containers`)).toMatchObject({ error: { code: 'forbidden' } });
  });

  test('refuses changes of declared objects, also in a session that works with containers', async () => {
    const page = await open();
    onTestFinished(async () => void (await page.end()));
    await until(async () => (await setOf(page)) !== undefined);
    for (const [path, body] of [
      ['sync', {}],
      ['suspend', { reason: 'test' }],
      ['resume', {}],
      ['rollback', { revision: 'abcdef1', reason: 'test' }],
      ['preview', { ref: 'main' }],
    ] as const) {
      const { status, text } = await page.post(`sets/default/${path}`, body);
      expect({ path, status }).toEqual({ path, status: 409 });
      expect(text).toContain('only shows the host');
    }
  });

  test('admits only the printed address, once', async () => {
    const page = await open();
    onTestFinished(async () => void (await page.end()));
    expect((await ask(`${page.url}/api/v1/overview`)).status).toBe(401);
    expect(cookiesOf(await ask(page.ticket))).toBe('');
  });

  test.each([
    ['an address that is none', ['--listen', 'nowhere'], /ADDRESS:PORT/],
    ['a file that is not there', ['missing.yaml'], /missing\.yaml/],
  ])('refuses %s', async (_what, args, message) => {
    const run = await cli(['ui', '--host', daemon.host, ...args]);
    expect(run.code).not.toBe(0);
    expect(run.stderr).toMatch(message);
  });
});

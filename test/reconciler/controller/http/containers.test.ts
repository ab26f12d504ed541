// Manual work on containers over the API, on a real daemon with the simulation: figures, power, snapshots, logs, files, and rights.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { AuditLog } from '../../../../reconciler/controller/audit/audit-log.ts';
import { ContainerList, FileView } from '../../../../reconciler/controller/contract/index.ts';
import { validateBody } from '../../../../server/api/schema/validate-json.ts';
import { createClient, type Client } from '../../../../server/client/client.ts';
import { FakeController } from '../../../support/controller/fake-controller.ts';
import { ask, logIn, startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { createContainer, makeSeeded, setState, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const folder = tempFolder('gantry-by-hand-');
let daemon: TestDaemon;
let client: Client;
let http: HttpHarness;
let audit: AuditLog;
const connect = (host: string) =>
  host === 'h1' ? Promise.resolve(client) : Promise.reject(new Error(`there is no host ${host}`));
beforeAll(async () => {
  daemon = await makeSeeded();
  await createContainer(daemon, 'c1');
  await setState(daemon, 'c1', 'start');
  client = createClient(`unix://${daemon.socketPath}`);
  audit = new AuditLog(join(folder, 'audit.jsonl'), Date.now);
  http = await startHttp({
    console: true,
    audit,
    controller: new FakeController(connect),
    grants: [{ users: ['viewer'], hosts: ['h1'], rights: ['console'] }],
  });
});
afterAll(async () => {
  await http.close();
  await audit.close();
  await client.close();
  await daemon.cleanUp();
});

const token = tokens.operate;
const on = '/api/v1/hosts/h1/containers';
const octets = { 'content-type': 'application/octet-stream' };
const list = async (): Promise<ContainerList> => {
  const answer = (await http.ask(on, { token })).json<ContainerList>();
  expect(validateBody(ContainerList, answer, { unknownKeys: 'report' })).toEqual([]);
  return answer;
};
const upload = (path: string, body: string, more: object = {}) =>
  http.ask(`${on}/c1/file?path=${encodeURIComponent(path)}`, {
    method: 'POST',
    token,
    body,
    headers: { ...octets, 'content-length': String(Buffer.byteLength(body)) },
    ...more,
  });

describe('work on a container by hand', () => {
  test('shows figures of a running container, stops it and starts it again', async () => {
    const [before] = (await list()).containers;
    expect(before).toMatchObject({ name: 'c1', status: 'Running', snapshots: [] });
    expect(before?.figures?.processes).toBeGreaterThan(0);
    const stop = { token, body: { action: 'stop', force: true, reason: 'test' } };
    expect((await http.ask(`${on}/c1/power`, stop)).status).toBe(200);
    const [stopped] = (await list()).containers;
    expect(stopped?.status).toBe('Stopped');
    expect(stopped).not.toHaveProperty('figures');
    expect((await http.ask(`${on}/c1/power`, { token, body: { action: 'start' } })).status).toBe(200);
    const again = await http.ask(`${on}/c1/power`, { token, body: { action: 'start' } });
    expect([again.status >= 400 && again.status < 500, again.text]).toEqual([true, expect.stringContaining('h1: ')]);
  });

  test('takes, restores and deletes a snapshot', async () => {
    const change = async (body: object) => (await http.ask(`${on}/c1/snapshot`, { token, body })).status;
    await http.ask(`${on}/c1/power`, { token, body: { action: 'stop', force: true } });
    expect(await change({ action: 'take', name: 'noon' })).toBe(200);
    expect((await list()).containers[0]?.snapshots).toMatchObject([{ name: 'noon', isStateful: false }]);
    expect(await change({ action: 'restore', name: 'noon' })).toBe(200);
    expect(await change({ action: 'restore' })).toBe(400);
    expect(await change({ action: 'restore', name: 'none' })).toBe(404);
    expect(await change({ action: 'delete', name: 'noon' })).toBe(200);
    expect((await list()).containers[0]?.snapshots).toEqual([]);
    await http.ask(`${on}/c1/power`, { token, body: { action: 'start' } });
  });

  test('writes a file, finds it in its directory, and reads it as a download', async () => {
    expect((await upload('/a b.txt', 'hello')).status).toBe(200);
    const files = await http.ask(`${on}/c1/files?path=/`, { token });
    expect(validateBody(FileView, files.json(), { unknownKeys: 'report' })).toEqual([]);
    expect(files.json<FileView>()).toMatchObject({
      type: 'directory',
      entries: expect.arrayContaining([expect.objectContaining({ name: 'a b.txt', type: 'file', sizeBytes: 5 })]),
    });
    const file = await http.ask(`${on}/c1/file?path=${encodeURIComponent('/a b.txt')}`, { token });
    expect([file.text, file.headers['content-type'], file.headers['x-content-type-options']]).toEqual([
      'hello',
      'application/octet-stream',
      'nosniff',
    ]);
    expect(file.headers['content-disposition']).toBe("attachment; filename*=UTF-8''a%20b.txt");
    expect((await http.ask(`${on}/c1/file?path=/`, { token })).status).toBe(400);
    const nowhere = await upload('/none/deep.txt', 'x'.repeat(300_000));
    expect([nowhere.status, nowhere.text]).toEqual([404, expect.stringContaining('h1: ')]);
    expect((await http.ask(`${on}/c1/files?path=/none`, { token })).status).toBe(404);
  });

  test('reads what the container wrote to its console', async () => {
    const log = await http.ask(`${on}/c1/log`, { token });
    expect([log.status, log.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  });

  test.each([
    ['a relative path', '/c1/files?path=etc', 400, 'absolute'],
    ['a path with a zero byte', '/c1/files?path=%2Fetc%00', 400, 'absolute'],
    ['a container that is not there', '/none/files', 404, 'h1: '],
  ])('refuses %s', async (_what, path, status, message) => {
    const reply = await http.ask(`${on}${path}`, { token });
    expect([reply.status, reply.text]).toEqual([status, expect.stringContaining(message)]);
  });

  test('refuses a body of another content type, such as forms of other sites send', async () => {
    expect((await upload('/x', 'x', { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
  });
});

describe('who may work on containers', () => {
  test('a grant for consoles on the host lets a viewer, and another host stays closed', async () => {
    expect((await http.ask(on, { token: tokens.view })).status).toBe(200);
    const other = await http.ask('/api/v1/hosts/h2/containers', { token: tokens.view });
    expect([other.status, other.text]).toEqual([403, expect.stringContaining('no right to console')]);
    const stop = { token: tokens.view, body: { action: 'stop' } };
    expect((await http.ask('/api/v1/hosts/h2/containers/c1/power', stop)).status).toBe(403);
  });

  test('all requests are refused if consoles are off', async () => {
    const closed = await startHttp({ controller: new FakeController(connect) });
    onTestFinished(() => closed.close());
    const reply = await closed.ask(on, { token });
    expect([reply.status, reply.text]).toEqual([403, expect.stringContaining('set console: true')]);
    expect((await closed.ask(`${on}/c1/file?path=/etc/passwd`, { token })).status).toBe(403);
  });

  test('a cookie alone does not write a file', async () => {
    const { cookie } = await logIn(http, token);
    const url = `${http.listener.url}${on}/c1/file?path=/forged`;
    const reply = await ask(url, { method: 'POST', body: 'x', headers: { ...octets, cookie } });
    expect(reply.status).toBe(403);
    expect((await http.ask(`${on}/c1/files?path=/forged`, { token })).status).toBe(404);
  });

  test('changes and downloads are in the audit log with host and container, reads are not', async () => {
    const entries = await audit.list({ limit: 1000 });
    expect(new Set(entries.map(({ what }) => what))).toEqual(new Set(['power', 'snapshot', 'upload', 'file']));
    expect(entries.find(({ what }) => what === 'upload')).toMatchObject({
      who: 'operateer',
      hosts: ['h1'],
      request: { container: 'c1', path: '/a b.txt' },
    });
    expect(entries.find(({ what }) => what === 'power')).toMatchObject({ why: 'test', request: { action: 'stop' } });
    expect(JSON.stringify(entries)).not.toContain('hello');
  });
});

// Rights of single users for sets and hosts, and their requests in the audit log.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AuditLog } from '../../../../reconciler/controller/audit/audit-log.ts';
import type { AuditEntry } from '../../../../reconciler/controller/contract/index.ts';
import { allows, type WantedRight } from '../../../../reconciler/controller/http/access/grants.ts';
import { aSet, FakeController } from '../../../support/controller/fake-controller.ts';
import { startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const controller = new FakeController();
controller.sets = [aSet('web'), aSet('pay')];
let http: HttpHarness;
let audit: AuditLog;
let file = '';
beforeAll(async () => {
  file = join(tempFolder('gantry-audit-'), 'audit.jsonl');
  audit = new AuditLog(file, Date.now);
  http = await startHttp({
    controller,
    audit,
    grants: [{ users: ['viewer'], sets: ['we*'], rights: ['sync', 'suspend'] }],
  });
});
afterAll(async () => {
  await http.close();
  await audit.close();
});
beforeEach(() => void controller.asked.splice(0));

const post = (set: string, action: string, body: object, token = tokens.view) =>
  http.ask(`/api/v1/sets/${set}/${action}`, { token, body });
const entries = async () => (await http.ask('/api/v1/audit', { token: tokens.operate })).json<readonly AuditEntry[]>();

describe('a grant', () => {
  test('gives a viewer the named rights, for its sets only', async () => {
    expect((await post('web', 'sync', {})).status).toBe(202);
    expect((await post('pay', 'sync', {})).status).toBe(403);
    expect((await post('web', 'rollback', { revision: 'c0ffee', reason: 'x' })).status).toBe(403);
    expect((await post('web', 'prune', { revision: 'c0ffee', reason: 'x' })).status).toBe(403);
    expect((await post('web', 'approve', { revision: 'c0ffee', plan: 'p', reason: 'x' })).status).toBe(403);
    expect(controller.asked.map(({ what, set }) => `${what} ${set}`)).toEqual(['sync web']);
  });

  test('to suspend does not allow ending a rollback', async () => {
    const held = { id: 'rollback', set: 'web', reason: 'held', by: 'ann', since: '2030-01-31T12:00:00Z' };
    controller.sets = [aSet('web', { suspensions: [held] }), aSet('pay')];
    const refused = await post('web', 'resume', {});
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('no right to rollback the set web')]);
    expect((await post('web', 'resume', { id: 'rollback' })).status).toBe(403);
    expect((await post('web', 'resume', { id: 's1' })).status).toBe(200);
    controller.sets = [aSet('web'), aSet('pay')];
  });

  test('to sync does not show a viewer the values that the role view never gets', async () => {
    const change = { address: 'profile/web', kind: 'profile', name: 'web', action: 'update', effect: 'live' } as const;
    const difference = { desired: 'new tale', live: 'old tale', effect: 'live', isSecret: false } as const;
    const differences = ['config.environment.TALE', 'description'].map((path) => ({ ...difference, path }));
    const objects = [{ ...change, reasons: [], differences }];
    const changes = { create: 0, update: 1, delete: 0 };
    controller.previewed = { hosts: [{ host: 'h1', changes, restarts: 0, objects }] };
    const seen = async (token: string) => (await post('web', 'preview', { ref: 'main' }, token)).text.split(' tale');
    expect([await seen(tokens.view), await seen(tokens.operate)].map(({ length }) => length - 1)).toEqual([2, 4]);
    controller.previewed = {};
  });

  test('is shown to the page of the session', async () => {
    const reply = await http.ask('/api/v1/session', { token: tokens.view });
    expect(reply.json()).toMatchObject({ role: 'view', may: [{ set: 'web', rights: ['sync', 'suspend'] }] });
  });

  const web = { name: 'h1', labels: { role: 'web' }, groups: [] };
  const db = { name: 'h2', labels: { role: 'db' }, groups: [] };
  const grants = [
    { users: ['bob'], hosts: ['role=web'], rights: ['sync', 'console'] as const },
    { groups: ['ops'], rights: ['approve'] as const },
  ];
  const bob = { role: 'view', token: { name: 'bob' } } as const;
  test.each<[string, object, WantedRight, boolean]>([
    ['its host', bob, { right: 'sync', set: 'web', hosts: [web] }, true],
    ['another host', bob, { right: 'sync', set: 'web', hosts: [db] }, false],
    ['both hosts', bob, { right: 'sync', set: 'web', hosts: [web, db] }, false],
    ['a set without hosts', bob, { right: 'sync', set: 'web', hosts: [] }, false],
    ['a console of its host', bob, { right: 'console', hosts: [web] }, true],
    ['a console of another host', bob, { right: 'console', hosts: [db] }, false],
    ['another right', bob, { right: 'approve', set: 'web', hosts: [web] }, false],
    ['a group', { role: 'view', groups: ['ops'] }, { right: 'approve', set: 'web', hosts: [web] }, true],
    [
      'a name that only the issuer gave',
      { role: 'view', name: 'bob' },
      { right: 'sync', set: 'web', hosts: [web] },
      false,
    ],
    ['a user without a role', { token: { name: 'bob' } }, { right: 'sync', set: 'web', hosts: [web] }, false],
    ['the role operate', { role: 'operate' }, { right: 'rollback', set: 'web', hosts: [db] }, true],
  ])('for some hosts is asked about %s', (_what, who, wanted, isAllowed) => {
    expect(allows(grants, who, wanted)).toBe(isAllowed);
  });
});

describe('the audit log', () => {
  test('records who requested what, from where and why, before and after it was done, and refusals', async () => {
    const before = (await entries()).length;
    await post('web', 'suspend', { reason: 'load test', host: 'h1' });
    await post('pay', 'suspend', { reason: 'mischief' });
    await post('nosuch', 'sync', {}, tokens.operate);
    const found = (await entries()).slice(before);
    const suspend = { who: 'viewer', from: '127.0.0.1', via: 'token', what: 'suspend', set: 'web', why: 'load test' };
    expect(found).toMatchObject([
      { ...suspend, hosts: ['h1'], outcome: 'asked' },
      { ...suspend, hosts: ['h1'], outcome: 'done' },
      { who: 'viewer', set: 'pay', what: 'suspend', outcome: 'denied' },
      { who: 'operateer', set: 'nosuch', what: 'sync', outcome: 'asked' },
      { who: 'operateer', set: 'nosuch', outcome: 'refused', message: expect.stringContaining('no set') },
    ]);
    expect(found[0]?.id).toBe(found[1]?.id);
  });

  test('is for the role operate, and comes in pages', async () => {
    expect((await http.ask('/api/v1/audit', { token: tokens.view })).status).toBe(403);
    const all = await entries();
    const page = await http.ask('/api/v1/audit?after=1&limit=2', { token: tokens.operate });
    expect(page.json<readonly AuditEntry[]>()).toEqual(all.slice(1, 3));
    const web = await http.ask('/api/v1/audit?set=pay', { token: tokens.operate });
    expect(web.json<readonly AuditEntry[]>().every(({ set }) => set === 'pay')).toBe(true);
  });

  test('is append-only: a truncated line stays, and the next one is intact', async () => {
    const other = join(tempFolder('gantry-audit-'), 'audit.jsonl');
    const entry = { who: 'ann', from: '::1', via: 'token', what: 'sync', outcome: 'asked' } as const;
    const first = new AuditLog(other, Date.now);
    await first.add(entry);
    await first.close();
    appendFileSync(other, '{"at":"2030');
    const torn = readFileSync(other, 'utf8');
    const second = new AuditLog(other, Date.now);
    await second.add({ ...entry, who: 'bob' });
    expect((await second.list({})).map(({ who, number }) => [who, number])).toEqual([
      ['ann', 1],
      ['bob', 2],
    ]);
    expect(readFileSync(other, 'utf8').startsWith(torn)).toBe(true);
    await second.close();
  });

  test('prevents all changes if it cannot be written', async () => {
    const folder = tempFolder('gantry-audit-');
    writeFileSync(join(folder, 'state'), '');
    mkdirSync(join(folder, 'x'));
    const broken = new AuditLog(join(folder, 'state/audit.jsonl'), Date.now);
    const own = await startHttp({ audit: broken });
    const reply = await own.ask('/api/v1/sets/web/sync', { token: tokens.operate, body: {} });
    expect([reply.status, reply.text]).toEqual([503, expect.stringContaining('the audit log cannot be written')]);
    expect(own.controller.asked).toEqual([]);
    await own.close();
  });
});

// `gantry controller audit`: prints and exports the audit log of a running controller.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AuditLog } from '../../../reconciler/controller/audit/audit-log.ts';
import { cli } from '../../support/cli/io.ts';
import { startHttp, tokens, type HttpHarness } from '../../support/controller/http-harness.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let http: HttpHarness;
let log: AuditLog;
beforeAll(async () => {
  log = new AuditLog(join(tempFolder('gantry-audit-'), 'audit.jsonl'), Date.now);
  http = await startHttp({ audit: log });
  await http.ask('/api/v1/sets/web/sync', { token: tokens.operate, body: { reason: 'it\n\u001b[31mlooks red' } });
  await http.ask('/api/v1/sets/web/sync', { token: tokens.view, body: {} });
});
afterAll(async () => {
  await http.close();
  await log.close();
});
const audit = (...args: readonly string[]) => cli(['controller', 'audit', ...args, ...http.asOperator]);

test('the log is a table without foreign control characters', async () => {
  const { code, stdout } = await audit('web');
  expect(code).toBe(0);
  expect(stdout).toMatch(/operateer +127\.0\.0\.1 +sync +web +asked/);
  expect(stdout).toMatch(/operateer +127\.0\.0\.1 +sync +web +done/);
  expect(stdout).toMatch(/viewer +127\.0\.0\.1 +sync +web +denied/);
  expect(stdout).not.toContain('\u001b');
});

test('the log is exported whole as JSON, and a set without entries has none', async () => {
  const found = JSON.parse((await audit('-o', 'json')).stdout) as readonly { readonly who: string }[];
  expect(found.map(({ who }) => who)).toEqual(['operateer', 'operateer', 'viewer']);
  expect((await audit('db')).stdout.trim()).toBe('Nothing was asked.');
});

test('an invalid time is refused', async () => {
  expect(await audit('--since', 'yesterday')).toMatchObject({ code: 64, stderr: expect.stringContaining('--since') });
});

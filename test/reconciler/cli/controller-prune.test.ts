// `gantry controller prune`: shows objects that await an approval, and approves exactly those.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { aSet } from '../../support/controller/fake-controller.ts';
import { startHttp, type HttpHarness } from '../../support/controller/http-harness.ts';
import { cli } from '../../support/cli/io.ts';

let http: HttpHarness;
beforeAll(async () => void (http = await startHttp()));
afterAll(() => http.close());
beforeEach(() => {
  const hosts = [{ host: 'h1', count: 3, objects: ['profile/old', 'container/old'] }];
  http.controller.sets = [aSet('web', { pruneGate: { revision: 'c0ffee0123456789', hosts } }), aSet('db')];
  http.controller.asked.length = 0;
});
const prune = (...args: readonly string[]) => cli(['controller', 'prune', ...args, ...http.asOperator]);

test('waiting objects are shown, and nothing is approved without --approve', async () => {
  const { code, stdout } = await prune('web');
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `Revision c0ffee012345 no longer declares:
  h1: profile/old, container/old and 1 more
gantry controller prune web --approve --reason TEXT deletes them.
`,
  });
  expect(http.controller.asked).toEqual([]);
});

test('an approval names the revision that was shown, and needs a reason', async () => {
  expect(await prune('web', '--approve')).toMatchObject({ code: 64, stderr: expect.stringContaining('--reason') });
  expect(http.controller.asked).toEqual([]);
  const { stdout } = await prune('web', '--approve', '--reason', 'moved');
  expect(stdout).toContain('They are deleted now');
  const request = { revision: 'c0ffee0123456789', reason: 'moved' };
  expect(http.controller.asked).toEqual([{ what: 'prune', set: 'web', request, by: 'operateer' }]);
});

test('a set without waiting objects is reported, and an unknown set is refused with the known ones', async () => {
  expect((await prune('db')).stdout).toBe('Nothing of the set db waits for an approval.\n');
  expect(await prune('none')).toMatchObject({ code: 1, stderr: expect.stringContaining('it has web, db') });
});

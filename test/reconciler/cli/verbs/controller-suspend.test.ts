// `gantry controller suspend`: which object it names, and what it says about one that the set does not have.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { anObject, aSet } from '../../../support/controller/fake-controller.ts';
import { startHttp, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { cli } from '../../../support/cli/io.ts';

let http: HttpHarness;
beforeAll(async () => void (http = await startHttp()));
afterAll(() => http.close());
beforeEach(() => {
  http.controller.sets = [aSet('web')];
  http.controller.items = [anObject('web1')];
  http.controller.asked.length = 0;
});

async function suspended(object: string) {
  const words = ['suspend', 'web', '--reason', 'test', '--object', object];
  const { code, stderr } = await cli(['controller', ...words, ...http.asOperator]);
  return {
    code,
    stderr,
    addresses: http.controller.asked.map(({ request }) => (request as { address?: string }).address),
  };
}

test.each([
  ['web1', 'container/web1'],
  ['c*/web1', 'c*/web1'],
  ['web*', 'container/web*'],
  ['*', '*'],
])('--object %s suspends %s', async (object, address) => {
  expect(await suspended(object)).toEqual({ code: 0, stderr: '', addresses: [address] });
});

test.each([
  ['2d', 172_800_000],
  ['1d12h', 129_600_000],
  ['999999999d', 36_525 * 86_400_000],
])('--for %s is a time from now, as in gantry.yaml', async (written, expectedMs) => {
  const words = ['suspend', 'web', '--reason', 'test', '--for', written];
  const before = Date.now();
  const { code, stderr } = await cli(['controller', ...words, ...http.asOperator]);
  expect([code, stderr]).toEqual([0, '']);
  const [{ request } = { request: {} }] = http.controller.asked;
  const forMs = Date.parse((request as { until: string }).until) - before;
  expect(Math.abs(forMs - expectedMs)).toBeLessThan(60_000);
});

test('an object that the set does not have is reported, and an unknown kind is refused', async () => {
  expect(await suspended('pool/fast')).toEqual({
    code: 0,
    stderr: 'The set web has no storage_pool/fast now\n',
    addresses: ['storage_pool/fast'],
  });
  expect((await suspended('nonsense/x')).code).toBe(64);
  expect(http.controller.asked).toHaveLength(1);
});

// Profiles of a daemon over core.debug_address: what pprof reads, who may ask, and answers to busy or wrong addresses.
import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { beforeAll, expect, test } from 'vitest';
import { type TestDaemon } from '../../support/daemons/daemon.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { until } from '../../support/until.ts';

interface Got {
  readonly status: number;
  readonly bytes: Buffer;
}

const daemon = await fileDaemon();
let port = 0;
beforeAll(async () => {
  port = await freePort();
  expect((await set(`:${port}`)).status).toBe(200);
});

const set = (address: string): ReturnType<TestDaemon['call']> =>
  daemon.call('PATCH', '/1.0', { config: { 'core.debug_address': address } });

function get(path: string, headers: Record<string, string> = {}, method = 'GET', host = '127.0.0.1'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const read = ({ bytes }: Got): Profile => Profile.decode(gunzipSync(bytes));
const typesOf = ({ sampleType, stringTable }: Profile): string[] =>
  sampleType.map(({ type, unit }) => `${stringTable.strings[Number(type)]}/${stringTable.strings[Number(unit)]}`);
const namesOf = (profile: Profile): string[] =>
  profile.function.map(({ name }) => profile.stringTable.strings[Number(name)] ?? '');

/** The function that the profile must show. */
function burnProcessorTime(untilMs: number): number {
  let sum = 0;
  while (performance.now() < untilMs) for (let at = 0; at < 10_000; at += 1) sum += Math.sqrt(at);
  return sum;
}

test('a profile of the processor names the function that took its time, and the time it took', async () => {
  const taken = get('/debug/pprof/profile?seconds=1');
  await until(async () => (await get('/debug/pprof/profile?seconds=1')).status === 503);
  burnProcessorTime(performance.now() + 400);
  const profile = read(await taken);
  expect(typesOf(profile)).toEqual(['samples/count', 'cpu/nanoseconds']);
  const burning = profile.function.find(
    ({ name }) => profile.stringTable.strings[Number(name)] === 'burnProcessorTime',
  );
  const inside = profile.sample.filter(({ locationId }) => locationId.some((id) => Number(id) === Number(burning?.id)));
  const spentMs = inside.reduce((sum, { value }) => sum + Number(value[1]) / 1e6, 0);
  expect(spentMs).toBeGreaterThan(200);
  expect(namesOf(profile)).not.toContain('(idle)');
});

test('a profile of memory has bytes by stack, without freed memory', async () => {
  const kept = allocateForTheProfile();
  const profile = read(await get('/debug/pprof/heap'));
  expect(typesOf(profile)).toEqual(['inuse_space/bytes']);
  expect(namesOf(profile)).toContain('allocateForTheProfile');
  expect(kept.length).toBeGreaterThan(0);
});

function allocateForTheProfile(): unknown[] {
  return Array.from({ length: 200_000 }, (_, at) => ({ at, text: [at, at] }));
}

test('the index names the profiles, and an unknown one answers 404 with the index', async () => {
  expect((await get('/debug/pprof/')).bytes.toString()).toContain('/debug/pprof/heap');
  const missing = await get('/debug/pprof/goroutine');
  expect([missing.status, missing.bytes.toString()]).toEqual([404, expect.stringContaining('/debug/pprof/profile')]);
  expect((await get('/1.0')).status).toBe(404);
});

test.each(['0', '301', '1.5', '-1', '99999999999', 'x', ''])(
  'seconds=%s answers 400 and says what is allowed',
  async (text) => {
    const answer = await get(`/debug/pprof/profile?seconds=${text}`);
    expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringContaining('from 1 to 300')]);
  },
);

test('a web page is refused, by the name it used and by its origin', async () => {
  for (const headers of [
    { host: 'evil.example' },
    { origin: 'http://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
  ])
    expect((await get('/debug/pprof/heap', headers)).status, JSON.stringify(headers)).toBe(403);
  expect((await get('/debug/pprof/heap', { host: `localhost:${port}` })).status).toBe(200);
  expect((await get('/debug/pprof/heap', {}, 'POST')).status).toBe(405);
});

test('an address without a host is the loopback alone', async () => {
  const others = Object.values((await import('node:os')).networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  for (const { address } of others)
    await expect(get('/debug/pprof/', {}, 'GET', address)).rejects.toThrow('ECONNREFUSED');
  expect((await get('/debug/pprof/')).status).toBe(200);
});

test('a disconnect ends the profile, so that the next one need not wait', async () => {
  const sent = request({ host: '127.0.0.1', port, path: '/debug/pprof/profile?seconds=300', agent: false });
  sent.on('error', () => {});
  sent.end();
  await until(async () => (await get('/debug/pprof/profile?seconds=1')).status === 503);
  sent.destroy();
  await until(async () => (await get('/debug/pprof/profile?seconds=1')).status === 200);
});

test('a taken address answers 500 by its key and stays stored; unset, nothing listens', async () => {
  const { createServer } = await import('node:net');
  const busy = createServer();
  await new Promise<void>((resolve) => void busy.listen(0, '127.0.0.1', resolve));
  const taken = `127.0.0.1:${(busy.address() as { port: number }).port}`;
  const answer = await set(taken);
  expect([answer.status, answer.bytes.toString()]).toEqual([
    500,
    expect.stringContaining(`core.debug_address was saved, but listening on ${taken} failed`),
  ]);
  await new Promise((resolve) => busy.close(resolve));
  expect((await set(`:${port}`)).status).toBe(200);
  expect((await get('/debug/pprof/')).status).toBe(200);
  expect((await set('')).status).toBe(200);
  await expect(get('/debug/pprof/')).rejects.toThrow('ECONNREFUSED');
  expect((await set('nine thousand')).status).toBe(400);
});

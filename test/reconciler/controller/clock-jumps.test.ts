// Leases, claims and pauses of the controller with clocks of the test: they hold as long when a clock jumps.
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { claimBy, claimIn, claimMs, othersClaim } from '../../../reconciler/controller/decide/set-claim.ts';
import { claimantOf, HostClaim } from '../../../reconciler/controller/hosts/host-claim.ts';
import type { HostLink } from '../../../reconciler/controller/hosts/host-link.ts';
import { Lease } from '../../../reconciler/controller/hosts/lease.ts';
import { steadyClock } from '../../../reconciler/controller/hosts/steady-clock.ts';
import { Attempts } from '../../../reconciler/controller/sets/on-host/attempts.ts';
import { LookLoop } from '../../../reconciler/controller/sets/on-host/look-loop.ts';
import { repairPauseMs } from '../../../reconciler/core/drift/repair-pace.ts';
import { claimKey, lockKey } from '../../../reconciler/core/ownership/set-state.ts';
import { newLock } from '../../../reconciler/engine/notes/lock.ts';
import { ClientError } from '../../../server/client/client-error.ts';

const hourMs = 3_600_000;
const startMs = Date.parse('2026-03-01T10:00:00Z');

let wallMs = startMs;
let upMs = 5000;
beforeEach(() => {
  [wallMs, upMs] = [startMs, 5000];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());
const pass = async (ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= 250) {
    wallMs += 250;
    upMs += 250;
    await vi.advanceTimersByTimeAsync(250);
  }
};

/** A host that keeps the config of its server. */
class FakeServer {
  config: Record<string, string> = {};
  isAway = false;
  readonly link = this.linkThat(() => this.isAway);

  linkThat(isAway: () => boolean): HostLink {
    const answer = <T>(value: T): Promise<T> =>
      isAway() ? Promise.reject(new Error('no answer')) : Promise.resolve(value);
    const client = {
      server: () => answer({ metadata: { config: { ...this.config } } }),
      patchServer: ({ config }: { config: Record<string, string> }) => {
        const patched = Object.entries({ ...this.config, ...config }).filter(([, value]) => value !== '');
        if (!isAway()) this.config = Object.fromEntries(patched);
        return answer({});
      },
      get: () => Promise.reject(new ClientError('notFound', 'not found', { status: 404 })),
    };
    const host = { name: 'h1', address: 'https://h1' };
    return { client, host, isOnline: true, status: { status: 'online' } } as unknown as HostLink;
  }
}

function begun(...links: readonly HostLink[]): Lease {
  const end = new AbortController();
  const lease = new Lease({
    name: 'main',
    links,
    nowMs: () => wallMs,
    steadyMs: steadyClock(
      () => wallMs,
      () => upMs,
    ),
    onChange: () => {},
  });
  void lease.run(end.signal);
  onTestFinished(() => end.abort());
  return lease;
}

test('a controller that reaches no host is not active after the time of its lock, although its clock was set back', async () => {
  const server = new FakeServer();
  const lease = begun(server.link);
  await pass(1000);
  expect(lease.isActive).toBe(true);
  server.isAway = true;
  wallMs -= hourMs;
  await pass(12_000);
  expect(lease.isActive).toBe(false);
});

test('the lock of a controller that is gone is taken after its time, although the clock of that one was ahead', async () => {
  const server = new FakeServer();
  const gone = { ...newLock('gone', startMs + hourMs, 9000), boot: 'another boot' };
  server.config = { [lockKey('controller-main')]: JSON.stringify(gone) };
  const lease = begun(server.link);
  await pass(8000);
  expect([lease.isActive, lease.isTaken]).toEqual([false, true]);
  await pass(3000);
  expect(lease.isActive).toBe(true);
});

test('a lock that does not suffice is released for a controller that reaches more hosts', async () => {
  const [near, ...far] = Array.from({ length: 3 }, () => new FakeServer());
  if (near === undefined) throw new Error('there is no server');
  const hasLock = ({ config }: FakeServer): boolean => lockKey('controller-main') in config;
  const one = begun(near.link, ...far.map((server) => server.linkThat(() => true)));
  await pass(1000);
  expect([one.isActive, ...[near, ...far].map(hasLock)]).toEqual([false, true, false, false]);
  const two = begun(near.link, ...far.map(({ link }) => link));
  await pass(16_000);
  expect([one.isActive, two.isActive, one.isTaken]).toEqual([false, true, true]);
});

test('a claim is renewed after the clock was set back, so that others do not take it for one of a wrong clock', async () => {
  const server = new FakeServer();
  const own = claimantOf('1', { name: 'main' }, [server.link]);
  const key = claimKey('web');
  server.config = { [key]: JSON.stringify(claimBy(own, undefined, wallMs)) };
  const claim = new HostClaim({ set: 'web', link: server.link, own: () => own, nowMs: () => wallMs });
  const { signal } = new AbortController();
  await claim.renew(signal);
  wallMs -= hourMs;
  await claim.renew(signal);
  const other = claimantOf('2', { name: 'second' }, []);
  expect(othersClaim(claimIn(server.config, key), other, wallMs + claimMs / 2)).toMatchObject({ id: '1' });
});

test('a try that failed is repeated after its pause at the latest, although the clock was set back', () => {
  const attempts = new Attempts({ firstMs: 1000, longestMs: 60_000 });
  attempts.notDone('r1', startMs);
  expect(attempts.waitMs(startMs)).toBeGreaterThan(0);
  expect(attempts.waitMs(startMs + 1000)).toBeLessThanOrEqual(0);
  expect(attempts.waitMs(startMs - hourMs)).toBe(0);
});

test('repairs of the future, before the clock was set back, pause nothing', () => {
  const repairs = [startMs, startMs + 1, startMs + 2];
  expect(repairPauseMs(repairs, startMs + 2)).toBe(5000);
  expect(repairPauseMs(repairs, startMs - hourMs)).toBe(0);
});

test('the steady clock ignores that the wall clock is set back, and counts the time of a suspended machine', () => {
  const now = steadyClock(
    () => wallMs,
    () => upMs,
  );
  const firstMs = now();
  wallMs -= hourMs;
  upMs += 10;
  expect(now() - firstMs).toBe(10);
  wallMs += 20_010;
  upMs += 10;
  expect(now() - firstMs).toBe(20_020);
  wallMs += 60;
  upMs += 10;
  expect(now() - firstMs).toBe(20_030);
});

test('a suspension that ends during a comparison, which still counts it, leads to another comparison', async () => {
  let looks = 0;
  const stop = new AbortController();
  const endMs = wallMs + 100;
  const loop = new LookLoop();
  loop.ask();
  const look = async (): Promise<boolean> => {
    looks += 1;
    wallMs += 150;
    return true;
  };
  // A suspension that has ended is not among those that end.
  const dueMs = (): readonly number[] => [endMs].filter((ms) => ms > wallMs);
  const ended = loop.run({ look, dueMs, nowMs: () => wallMs }, stop.signal);
  await vi.advanceTimersByTimeAsync(1000);
  expect(looks).toBe(2);
  stop.abort();
  await ended;
});

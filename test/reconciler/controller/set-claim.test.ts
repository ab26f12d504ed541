// Whether a controller may bring a set to a host that another one may have.
import { expect, test } from 'vitest';
import { ClaimedError, claiming, claimMs, claimOf } from '../../../reconciler/controller/hosts/set-claim.ts';
import { claimKey } from '../../../reconciler/core/ownership/set-state.ts';
import type { HostLink } from '../../../reconciler/controller/hosts/host-link.ts';
import type { Plan } from '../../../reconciler/core/plan/plan.ts';

const key = claimKey('web');
const claim = (controller: string, ...hosts: readonly string[]) =>
  claimOf(
    controller,
    'root@x',
    hosts.map((name) => ({ host: { name, address: `https://${name}` } }) as Pick<HostLink, 'host'>),
  );
const other = { opened: () => ({ more: 'x' }), closed: () => ({}) };
/** The notes of a run of `own` where `found` is noted. */
const opened = (own: ReturnType<typeof claim>, found: string, atMs: number) =>
  claiming(other, 'web', own).opened({ [key]: found }, {} as Plan, 'run', atMs);

test('a controller takes a set that nobody has, that it has, or whose controller it shares a lock with', () => {
  const first = opened(claim('main', 'h1', 'h2', 'h3'), '', 1000);
  expect(first['more']).toBe('x');
  const found = first[key] ?? '';
  expect(opened(claim('main', 'h1', 'h2', 'h3'), found, 2000)[key]).not.toBe(found);
  expect(opened(claim('main', 'h3', 'h4', 'h5'), found, 2000)[key]).toContain('h5');
  for (const junk of ['', 'null', '{}', '{"controller":"x","who":"y","at":"z"}', '['])
    expect(opened(claim('second', 'h9'), junk, 2000)[key]).toContain('second');
});

test('a controller of another name or without a common lock gets a set ten minutes after the last run of the one that has it', () => {
  const found = opened(claim('main', 'h1'), '', 1000)[key] ?? '';
  for (const own of [claim('second', 'h1'), claim('main', 'h2')]) {
    expect(() => opened(own, found, 2000)).toThrow(ClaimedError);
    expect(() => opened(own, found, claimMs + 999)).toThrow('main of root@x');
    expect(opened(own, found, claimMs + 1001)[key]).toContain(own.controller);
  }
});

test('a claim of a clock that is far ahead keeps nobody away', () => {
  const found = opened(claim('main', 'h1'), '', 10 * claimMs)[key] ?? '';
  expect(opened(claim('second', 'h2'), found, 1000)[key]).toContain('second');
});

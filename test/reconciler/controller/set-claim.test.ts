// Claims of controllers on sets of a host, and the identity by which a controller recognizes its own claims.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  claimBy,
  claimIn,
  claimMs,
  othersClaim,
  type Claimant,
  type SetClaim,
} from '../../../reconciler/controller/decide/set-claim.ts';
import { claimantOf } from '../../../reconciler/controller/hosts/host-claim.ts';
import { identityIn } from '../../../reconciler/controller/sets/identity.ts';
import type { HostLink } from '../../../reconciler/controller/hosts/host-link.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const claimant = (id: string, name: string, ...hosts: readonly string[]): Claimant =>
  claimantOf(
    id,
    { name },
    hosts.map((host) => ({ host: { name: host, address: `https://${host}` } }) as Pick<HostLink, 'host'>),
  );
const first = claimant('1', 'main', 'h1', 'h2', 'h3');
const made: SetClaim = claimBy(first, undefined, 1000);
const isRefused = (own: Claimant, atMs: number, found = made): boolean => othersClaim(found, own, atMs) !== undefined;

test('a controller may claim an unclaimed set, its own under any name and hosts, and one of a controller with a common lock host', () => {
  expect(othersClaim(undefined, claimant('2', 'second', 'h9'), 2000)).toBeUndefined();
  expect(isRefused(claimant('1', 'renamed', 'h9'), 2000)).toBe(false);
  expect(isRefused(claimant('2', 'main', 'h3', 'h4', 'h5'), 2000)).toBe(false);
});

test('another controller gets a set ten minutes after the last renewal of its claim', () => {
  for (const own of [claimant('2', 'second', 'h1'), claimant('2', 'main', 'h4')]) {
    expect(isRefused(own, 2000)).toBe(true);
    expect(isRefused(own, claimMs + 999)).toBe(true);
    expect(isRefused(own, claimMs + 1000)).toBe(false);
    const renewed = claimBy(first, made, 5000);
    expect(isRefused(own, claimMs + 4999, renewed)).toBe(true);
    expect([renewed.since, claimBy(own, made, 5000).since]).toEqual([made.since, '1970-01-01T00:00:05.000Z']);
  }
});

test('a claim from a clock far ahead blocks no one, and a malformed claim counts as none', () => {
  expect(isRefused(claimant('2', 'second', 'h9'), 1000, claimBy(first, undefined, 10 * claimMs))).toBe(false);
  expect(claimIn({ key: JSON.stringify(made) }, 'key')).toEqual(made);
  for (const junk of ['', 'null', '{}', '{"id":"1","controller":"x","who":"y","since":"","at":"z","locks":{}}', '['])
    expect(claimIn({ key: junk }, 'key')).toBeUndefined();
});

test('a state directory has one identity despite concurrent readers, and a damaged one is not replaced silently', async () => {
  const folder = join(tempFolder('identity-'), 'state');
  const found = await Promise.all(Array.from({ length: 5 }, () => identityIn(folder)));
  expect(new Set([...found, await identityIn(folder)]).size).toBe(1);
  expect(JSON.parse(await readFile(join(folder, 'identity.json'), 'utf8'))).toEqual({ id: found[0] });
  await writeFile(join(folder, 'identity.json'), '{}');
  await expect(identityIn(folder)).rejects.toThrow('is damaged: restore it, or delete it to begin with a new identity');
});

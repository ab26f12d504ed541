// The world of a proof of a verb: `lxc` on one way to a daemon, that daemon's API, and a second daemon to copy to.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Json, TestDaemon } from '../../support/daemons/daemon.ts';
import type { lxcClient } from '../../support/hosts/lxd-clients.ts';

export interface World {
  readonly lxc: ReturnType<typeof lxcClient>;
  readonly daemon: TestDaemon;
  /** The remote `b:`. */
  readonly other: TestDaemon;
  readonly work: string;
  /** The remote of the daemon over TLS. */
  readonly https: string;
}

export type Proof = (world: World) => Promise<unknown>;

let count = 0;
export const name = (): string => `n${(count += 1)}`;

/** A stopped container, made without `lxc`: `lxc init` and `lxc start` have proofs of their own. */
export async function made({ daemon }: Pick<World, 'daemon'>): Promise<string> {
  const container = name();
  await daemon.ok('POST', '/1.0/containers', { name: container, source: { type: 'image', alias: 'bb' } });
  return container;
}

export async function running(world: Pick<World, 'daemon'>): Promise<string> {
  const container = await made(world);
  await world.daemon.ok('PUT', `/1.0/containers/${container}/state`, { action: 'start' });
  return container;
}

export const container = ({ daemon }: Pick<World, 'daemon'>, of: string): Promise<Json> =>
  daemon.get(`/1.0/containers/${of}`);

export async function isGone({ daemon }: Pick<World, 'daemon'>, path: string): Promise<void> {
  expect([path, (await daemon.call('GET', path)).status]).toEqual([path, 404]);
}

/** `... show` piped through a change into `... edit`. */
export async function edited(
  { lxc }: World,
  show: readonly string[],
  edit: readonly string[],
  change: (text: string) => string,
): Promise<void> {
  const before = await lxc(...show);
  const after = change(before);
  expect(after).not.toBe(before);
  await piped({ lxc }, after, edit);
}

export async function piped({ lxc }: Pick<World, 'lxc'>, stdin: string, words: readonly string[]): Promise<void> {
  const ran = await lxc.run(words, { stdin });
  expect([words, ran.code, ran.stderr]).toEqual([words, 0, '']);
}

export function file({ work }: Pick<World, 'work'>, of: string, text?: string): string {
  const path = join(work, of);
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

export const textOf = (path: string): string => readFileSync(path, 'utf8');

/** Whether the current list has the text. */
export async function listed({ lxc }: World, text: string, ...words: readonly string[]): Promise<void> {
  expect(await lxc(...words, '-f', 'csv')).toContain(text);
}

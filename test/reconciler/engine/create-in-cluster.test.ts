// Networks and pools that are made in a cluster of LXD: first on each member, then as a whole, and described after that.
import { expect, test } from 'vitest';
import type { JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { EngineClient, StepContext } from '../../../reconciler/engine/steps/context.ts';
import { createOnMembers } from '../../../reconciler/engine/steps/member-config.ts';

async function requests(body: JsonObject): Promise<readonly unknown[]> {
  const sent: unknown[] = [];
  const note =
    (what: string) =>
    async (_kind: string, ...[first, second, third]: readonly unknown[]) => {
      sent.push([what, ...(what === 'patch' ? [first, second, third] : [(first as JsonObject)['config'], second])]);
      return { status: 200, metadata: {} };
    };
  const client = {
    server: async () => ({ metadata: { environment: { server: 'lxd' } } }),
    create: note('create'),
    patch: note('patch'),
    operations: { run: (begin: () => unknown) => begin() },
  } as unknown as EngineClient;
  const silent = { onOperation: () => undefined, onProgress: () => undefined };
  const context: StepContext = { client, ...silent, nowMs: () => 0, pause: async () => undefined };
  await createOnMembers(context, 'storage_pool', body, new AbortController().signal);
  return sent;
}

const pool = {
  name: 'fast',
  driver: 'dir',
  config: { 'user.a': 'b' },
  member_overrides: { m1: { source: '/a' }, m2: { source: '/b' } },
};
const made = [
  ['create', { source: '/a' }, { target: 'm1' }],
  ['create', { source: '/b' }, { target: 'm2' }],
  ['create', { 'user.a': 'b' }, {}],
];

test('a description is written after the creation, which ignores it', async () => {
  expect(await requests(pool)).toEqual(made);
  expect(await requests({ ...pool, description: 'mine' })).toEqual([
    ...made,
    ['patch', 'fast', { description: 'mine' }, {}],
  ]);
});

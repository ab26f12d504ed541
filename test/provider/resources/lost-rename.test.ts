// A rename that took effect although its answer was lost, or although a busy server refused it.
import { afterEach, expect, test } from 'vitest';
import { renameKind, type renamePath } from '../../../provider/resources/shared/rename.ts';
import { createClient } from '../../../server/client/client.ts';
import { startFakeDaemon, type FakeAnswer } from '../../support/fakes/http-daemon.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const former = { name: 'a/1' };
const wanted = { name: 'b/2' };
const gone: FakeAnswer = { error: 404, message: 'Storage volume not found', code: 'notFound' };

/** Renames an alias on a server that has these names after the first request, or the second if `later` answers one. */
async function rename(first: FakeAnswer, after: readonly string[], later?: FakeAnswer): Promise<number> {
  let names = [former.name];
  let posts = 0;
  const daemon = await startFakeDaemon({
    fallback: async ({ method, path }) => {
      const name = decodeURIComponent(path.split('/').at(-1) ?? '');
      if (!path.startsWith('/1.0/images/aliases/')) return undefined;
      if (!names.includes(name)) return gone;
      if (method === 'GET') return { sync: { name } };
      posts += 1;
      if (posts === 1 && later !== undefined) return first;
      names = [...after];
      return later ?? first;
    },
  });
  cleanups.push(() => daemon.stop());
  const client = createClient(daemon.host);
  cleanups.push(() => client.close());
  const link = {
    client,
    reader: { written() {} },
    activity: { during: (work: () => unknown) => work(), quietMs: () => 60_000 },
  };
  const context = { client: link, signal: new AbortController().signal } as unknown as Parameters<typeof renamePath>[0];
  await renameKind(context, 'image_alias', former, wanted);
  return posts;
}

const busy: FakeAnswer = { error: 500, message: 'Failed to begin transaction: context deadline exceeded' };

test.each([
  ['the connection broke', { hangUp: true } as const],
  ['a busy database refused it', busy],
])('A rename is done when %s and only the new name is there', async (_, first) => {
  expect(await rename(first, [wanted.name])).toBe(1);
});

test.each([
  ['neither name', []],
  ['both names', [former.name, wanted.name]],
  ['the former name', [former.name]],
])('A rename whose answer was lost fails when the server has %s', async (_, after) => {
  await expect(rename({ hangUp: true }, after)).rejects.toMatchObject({ code: 'unreachable' });
});

test('A rename that was refused for good fails, whatever the server has', async () => {
  const refused: FakeAnswer = { error: 400, message: 'no', code: 'badRequest' };
  await expect(rename(refused, [wanted.name])).rejects.toThrow('no');
});

test('A rename waits for a name that the same apply takes away from another object', async () => {
  const taken: FakeAnswer = { error: 409, message: 'Alias b/2 already exists', code: 'exists' };
  expect(await rename(taken, [wanted.name], { sync: {} })).toBe(2);
});

test(
  'A rename to a name that another object keeps fails as soon as the apply writes nothing else',
  { timeout: 8_000 },
  async () => {
    const taken: FakeAnswer = { error: 409, message: 'Alias b/2 already exists', code: 'exists' };
    await expect(rename(taken, [former.name])).rejects.toMatchObject({ code: 'exists' });
  },
);

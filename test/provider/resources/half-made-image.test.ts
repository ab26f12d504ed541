// An image whose creation failed halfway: the provider removes it, also after the time limit, and says so where it cannot.
import { expect, test } from 'vitest';
import { applyChange } from '../../../provider/framework/apply.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { image } from '../../../provider/resources/image/image.ts';
import { ClientError } from '../../../server/client/client-error.ts';
import { fingerprintOf } from '../../support/fakes/worlds.ts';

const fingerprint = fingerprintOf('half');
const nothing = Object.fromEntries(Object.keys(image.attributes).map((name) => [name, null]));
const planned: ValueMap = {
  ...nothing,
  source: { type: 'url', url: 'https://images.example/a' },
  properties: { os: 'toy' },
  timeouts: { create: '1s' },
};

/** The messages of a creation whose properties are not written, on a server that answers the deletion like this. */
async function created(put: (signal: AbortSignal) => Promise<unknown>, deletion: (signal: AbortSignal) => void) {
  const client = {
    list: async () => [],
    create: async () => ({ operation: { metadata: { fingerprint } } }),
    get: async () => ({ metadata: { fingerprint, properties: {} }, etag: 'e' }),
    put: (_kind: string, _name: string, _body: object, _options: object, signal: AbortSignal) => put(signal),
    delete: async (_kind: string, _name: string, signal: AbortSignal) => deletion(signal),
    operations: { run: (begin: () => Promise<unknown>) => begin() },
  };
  const link = { client, reader: { written() {} }, activity: { during: (work: () => Promise<unknown>) => work() } };
  const provider = { explain: (what: string, error: unknown) => [failure(what, String(error))] };
  const deps = { provider, resource: image, client: link, stopping: new AbortController().signal };
  const input = { prior: null, planned, config: planned, privateData: {} };
  const { state, diagnostics } = await applyChange(deps as unknown as Parameters<typeof applyChange>[0], input);
  expect(state).toBeNull();
  return diagnostics.map(({ severity, summary }) => `${severity}: ${summary}`);
}

const refused = (): Promise<never> => Promise.reject(new ClientError('badRequest', 'no', { status: 400 }));

test('A half-made image that cannot be removed is named in a warning', async () => {
  const said = await created(refused, () => {
    throw new ClientError('forbidden', 'no', { status: 403 });
  });
  expect(said).toContain(`warning: The image ${fingerprint} may still be on the server`);
});

test('A half-made image is removed after the time limit of its creation', async () => {
  const isAborted: boolean[] = [];
  const hangs = (signal: AbortSignal): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  expect(await created(hangs, (signal) => void isAborted.push(signal.aborted))).toHaveLength(1);
  expect(isAborted).toEqual([false]);
});

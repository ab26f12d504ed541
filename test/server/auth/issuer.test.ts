// The keys of an OpenID Connect issuer while it does not answer, and while the clock of the host is set.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Issuer } from '../../../server/auth/oidc/issuer.ts';

const dayMs = 86_400_000;

test('an issuer that failed is asked again after five seconds, and at once when the clock was set back a day', async () => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  let now = Date.parse('2026-01-02T00:00:00Z');
  const { port } = server.address() as AddressInfo;
  const issuer = new Issuer(
    `http://127.0.0.1:${port}`,
    () => now,
    () => undefined,
  );
  const ask = async (): Promise<number> => {
    const found = issuer.keyFor({ alg: 'RS256', kid: 'k' }, { payload: '', signature: '' });
    await expect(found).rejects.toThrow('does not give its keys');
    return asked;
  };
  expect([await ask(), await ask()]).toEqual([1, 1]);
  now += 5_000;
  expect([await ask(), await ask()]).toEqual([2, 2]);
  now -= dayMs;
  expect([await ask(), await ask()]).toEqual([3, 3]);
});

// A host that asks several members to be let in: an answer that is lost may have been a yes, and the next refusal says so.
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type KeyAndCertificate, makeSelfSigned } from '../../../../server/lib/self-signed.ts';
import { askToJoin } from '../../../../server/services/cluster/joining/ask-to-join.ts';

const dayMs = 24 * 60 * 60_000;
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const certificate = (): Promise<KeyAndCertificate> =>
  makeSelfSigned({
    commonName: 'a cluster',
    organization: 'gantry',
    subjectAltNames: ['127.0.0.1'],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + dayMs),
    usage: 'server',
    curve: 'P-256',
  });

/** HOST:PORT of a member that does this once it has read the request. */
async function member(pair: KeyAndCertificate, answer: (socket: TLSSocket) => void): Promise<string> {
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const refuses = (socket: TLSSocket): void => {
  const metadata = { code: 'exists', message: 'A cluster member named two already exists' };
  socket.end(`HTTP/1.1 409 Conflict\r\n\r\n${JSON.stringify({ metadata })}`);
};

const asked = (pair: KeyAndCertificate, addresses: readonly string[]): Promise<unknown> =>
  askToJoin(
    { addresses, certificate: pair.certPem },
    {
      server_name: 'two',
      address: '127.0.0.1:1',
      certificate: '',
      member_certificate: '',
      version: '1.0.0',
      architecture: 'x86_64',
      secret: 'secret',
    },
  );

test('a refusal after an answer that was lost names the member that may have let the host in, and the remedy', async () => {
  const pair = await certificate();
  const silent = await member(pair, (socket) => socket.destroy());
  const other = await member(pair, refuses);
  await expect(asked(pair, [silent, other])).rejects.toMatchObject({
    code: 'exists',
    message: `A cluster member named two already exists. The member at ${silent} was asked before and did not answer: it may have let this host in. If gantry cluster list shows two as offline, remove it with gantry cluster remove two --force, and join with a new token`,
  });
  await expect(asked(pair, [silent])).rejects.toMatchObject({
    code: 'badRequest',
    message: expect.stringContaining(`The member at ${silent} was asked before and did not answer`),
  });
});

test('a refusal by the first member that answers stays as it is', async () => {
  const pair = await certificate();
  const other = await member(pair, refuses);
  await expect(asked(pair, ['127.0.0.1:1', other])).rejects.toMatchObject({
    code: 'exists',
    message: 'A cluster member named two already exists',
  });
});

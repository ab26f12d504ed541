// The server name that TLS requests when an etcd is reached by its address: a name, and a certificate for that address.
import { createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { Member } from '../../../../server/store/etcd/member.ts';
import { makePair } from '../../../support/daemons/tls.ts';

/** What the server saw of a connection to `host`, whose certificate is for `named`. */
async function connect(host: string, named: string) {
  const { certPem, keyPem } = await makePair('etcd', { subjectAltNames: [named], usage: 'server' });
  const server = createServer({ cert: certPem, key: keyPem, ALPNProtocols: ['h2'] });
  const names: unknown[] = [];
  server.on('secureConnection', (socket: TLSSocket & { readonly servername?: string | false }) => {
    names.push(socket.servername);
    socket.on('error', () => {});
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const member = new Member(`${host}:${port}`, { tls: { ca: Buffer.from(certPem) } });
  try {
    const reason = await member.call('Status', {}, member.metadata(), 5_000).then(
      () => 'answered',
      (error: Error) => `${error.message}: ${String((error.cause as Error | undefined)?.message)}`,
    );
    return { names, reason };
  } finally {
    member.close();
    server.close();
  }
}

test('a connection to an address asks for no address as the name of the server', async () => {
  const { names } = await connect('127.0.0.1', '127.0.0.1');
  expect(names.length).toBeGreaterThan(0);
  expect(new Set(names)).toEqual(new Set(['etcd.gantry.internal']));
});

test('a connection to a name asks for that name', async () => {
  expect(new Set((await connect('localhost', 'localhost')).names)).toEqual(new Set(['localhost']));
});

test('a certificate for another address, or for the name that is asked for, is refused', async () => {
  for (const named of ['127.0.0.2', 'etcd.gantry.internal'])
    expect((await connect('127.0.0.1', named)).reason).toMatch(/not in the cert's list|does not match/);
});

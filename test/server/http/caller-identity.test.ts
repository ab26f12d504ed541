// The identity of a caller, also when its connection has ended.
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { type Bearers, identityOf } from '../../../server/http/caller-identity.ts';

test('an ended TLS connection is untrusted: its listeners end, other requests continue', () => {
  const socket = new TLSSocket(new Socket());
  socket.destroy();
  expect(socket.getPeerCertificate()).toBeNull();
  const identify = ({ peerCertificate }: { readonly peerCertificate?: Uint8Array }) => ({
    class: peerCertificate === undefined ? ('untrusted' as const) : ('trusted' as const),
  });
  const bearers = {} as Bearers;
  const { caller } = identityOf({ identify, bearers }, { socket, headers: {} } as unknown as IncomingMessage);
  expect(caller.class).toBe('untrusted');
});

// Who is at the other end of a request: what the connection proves, handed to the auth room's decision.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { CallerClass } from '../api/endpoints/endpoint.ts';
import { defaultProject } from '../api/project/project-names.ts';
import type { Caller } from '../services/caller.ts';

export interface Identity {
  readonly caller: Caller;
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
}

/** The auth room's decision on a connection: class and, with a certificate, its fingerprint. */
export type Identify = (connection: { readonly transport: 'unix' | 'tls'; readonly peerCertificate?: Uint8Array }) => {
  readonly class: CallerClass;
  readonly fingerprint?: string;
  readonly projects?: readonly string[];
};

/** Local socket: anyone who may open it. TLS: by client certificate, asked anew at each request since trust can end. */
export function identityOf(identify: Identify, request: IncomingMessage, project = defaultProject): Identity {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) {
    const found = identify({ transport: 'unix' });
    const requestor = { username: '', protocol: 'unix', address: '@' };
    return { caller: { class: found.class, requestor, project } };
  }
  const peer = socket.getPeerCertificate();
  const peerCertificate = peer.raw === undefined || peer.raw.length === 0 ? undefined : peer.raw;
  const found = identify({ transport: 'tls', ...(peerCertificate === undefined ? {} : { peerCertificate }) });
  const remoteHost = socket.remoteAddress ?? '';
  return {
    caller: {
      class: found.class,
      ...(found.projects === undefined ? {} : { projects: found.projects }),
      requestor: { username: found.fingerprint ?? '', protocol: 'tls', address: remoteHost },
      project,
    },
    ...(peerCertificate === undefined ? {} : { peerCertificate }),
    remoteHost,
  };
}

// Certificate endpoints: requests to use cases and back.
import type { Socket } from 'node:net';
import { certificateUrl, type Certificates } from '../../services/server/certificates.ts';
import type { TrustTokens } from '../../services/server/trust-tokens.ts';
import {
  async_,
  collection,
  done,
  found,
  movedTo,
  type RouteContext,
  type RouteReply,
  type RouteTable,
} from '../route.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface CertificateRoutesDeps {
  readonly certificates: Certificates;
  readonly trustTokens: Pick<TrustTokens, 'make'>;
  /** Where clients of this dialect connect: HOST:PORT each. */
  readonly addresses: () => readonly string[];
  /** Closes what the client has open; the socket is the request's own. */
  readonly endTrust: (fingerprint: string, asking: Socket) => void;
  /** Keeps the connection open for its answer until the returned function is called. */
  readonly exempt: (asking: Socket) => () => void;
}

export function certificateRoutes({ certificates, trustTokens, addresses, endTrust, exempt }: CertificateRoutesDeps) {
  /** `work` resolves to the certificate that lost trust, if any. A client that reduces its own trust gets the answer as the last one on
   *  this connection. */
  const reduceTrust = async (
    { request: { socket }, caller }: Pick<RouteContext, 'request' | 'caller'>,
    work: () => Promise<string | undefined>,
  ): Promise<RouteReply> => {
    const release = exempt(socket);
    try {
      const fingerprint = await work();
      if (fingerprint === undefined) return done;
      endTrust(fingerprint, socket);
      const { protocol, username } = caller.requestor;
      return protocol === 'tls' && username === fingerprint
        ? { kind: 'sync', metadata: {}, headers: { connection: 'close' } }
        : done;
    } finally {
      release();
    }
  };
  return {
    'certificates.list': ({ query }) =>
      collection(
        query,
        () => certificates.names().map(certificateUrl),
        () => certificates.list(),
      ),
    'certificates.create': async (context) => {
      const connection = {
        ...withoutUndefined({ peerCertificate: context.peerCertificate, remoteHost: context.remoteHost }),
      };
      const body = context.body;
      if (body.token === true && context.caller.class === 'trusted')
        return async_(await trustTokens.make(context.caller, body, addresses()));
      return movedTo(certificateUrl(await certificates.create(context.caller, body, connection, context.signal)));
    },
    'certificates.get': (context) => found(certificates.get(context.params.fingerprint)),
    'certificates.put': (context) => {
      const { caller, params, body, ifMatch } = context;
      return reduceTrust(context, () => certificates.put(caller, params.fingerprint, body, ifMatch));
    },
    'certificates.patch': (context) => {
      const { caller, params, body, ifMatch } = context;
      return reduceTrust(context, () => certificates.patch(caller, params.fingerprint, body, ifMatch));
    },
    'certificates.delete': (context) =>
      reduceTrust(context, () => certificates.delete(context.caller, context.params.fingerprint)),
  } satisfies Partial<RouteTable>;
}

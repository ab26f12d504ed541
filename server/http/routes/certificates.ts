// Certificate endpoints: requests to use cases and back.
import type { Socket } from 'node:net';
import { certificateUrl, type Certificates } from '../../services/server/certificates.ts';
import { async_, collection, done, movedTo, sync, type RouteTable } from '../route.ts';

export interface CertificateRoutesDeps {
  readonly certificates: Certificates;
  /** Where the clients of this dialect connect: each HOST:PORT. */
  readonly addresses: () => readonly string[];
  /** Ends all that the client has open; the socket is the one on which the request came. */
  readonly endTrust: (fingerprint: string, asking: Socket) => void;
}

export function certificateRoutes({ certificates, addresses, endTrust }: CertificateRoutesDeps) {
  const endNarrowed = (fingerprint: string | undefined, asking: Socket): void => {
    if (fingerprint !== undefined) endTrust(fingerprint, asking);
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
        ...(context.peerCertificate === undefined ? {} : { peerCertificate: context.peerCertificate }),
        ...(context.remoteHost === undefined ? {} : { remoteHost: context.remoteHost }),
      };
      const body = context.body;
      if (body.token === true && context.caller.class === 'trusted')
        return async_(certificates.makeToken(body, addresses()));
      return movedTo(certificateUrl(await certificates.create(context.caller, body, connection, context.signal)));
    },
    'certificates.get': (context) => {
      const { object, etag } = certificates.get(context.params.fingerprint);
      return sync(object, etag);
    },
    'certificates.put': async (context) => {
      const { caller, params, body, ifMatch } = context;
      endNarrowed(await certificates.put(caller, params.fingerprint, body, ifMatch), context.request.socket);
      return done;
    },
    'certificates.patch': async (context) => {
      const { caller, params, body, ifMatch } = context;
      endNarrowed(await certificates.patch(caller, params.fingerprint, body, ifMatch), context.request.socket);
      return done;
    },
    'certificates.delete': async (context) => {
      const fingerprint = await certificates.delete(context.caller, context.params.fingerprint);
      endTrust(fingerprint, context.request.socket);
      return done;
    },
  } satisfies Partial<RouteTable>;
}

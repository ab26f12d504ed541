// The TLS connections of each client certificate, so that all of them end when it is no longer trusted.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fingerprintOf } from '../../auth/identify.ts';

const answerMs = 1_000;

export class PeerConnections {
  readonly #sockets = new Map<string, Set<Socket>>();
  /** By fingerprint; a connection that is being closed tells its certificate no longer. */
  readonly #certificates = new Map<string, Uint8Array>();
  readonly #spared = new WeakSet<Socket>();
  readonly #ending = new WeakSet<Socket>();

  /** To be called when the handshake is done. Connections without a certificate are not kept. */
  add(socket: TLSSocket): void {
    const { raw } = socket.getPeerCertificate();
    if (raw === undefined || raw.length === 0) return;
    const fingerprint = fingerprintOf(raw);
    const sockets = this.#sockets.get(fingerprint) ?? new Set();
    this.#sockets.set(fingerprint, sockets.add(socket));
    this.#certificates.set(fingerprint, raw);
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size > 0 || this.#sockets.get(fingerprint) !== sockets) return;
      this.#sockets.delete(fingerprint);
      this.#certificates.delete(fingerprint);
    });
  }

  /** Cuts the connections of certificates (DER) that fit. Returns the fingerprints. */
  endWhere(fits: (certificate: Uint8Array) => boolean): readonly string[] {
    const ended: string[] = [];
    for (const [fingerprint, certificate] of this.#certificates) {
      if (!fits(certificate)) continue;
      ended.push(fingerprint);
      this.end(fingerprint);
    }
    return ended;
  }

  /** Cuts them all, whatever they are used for. `asking` is the one on which this was asked: it ends when it has its answer. */
  end(fingerprint: string, asking?: Socket): void {
    for (const socket of this.#sockets.get(fingerprint) ?? []) {
      if (socket !== asking && !this.#spared.has(socket)) socket.destroy();
      else if (!this.#ending.has(socket)) this.#endSoon(socket);
    }
  }

  /** A request on this connection changes the trust in its own client, of which this may hear before the request has its answer: until
   *  the returned function is called, the connection ends no sooner than that. */
  spare(socket: Socket): () => void {
    this.#spared.add(socket);
    return () => void this.#spared.delete(socket);
  }

  /** The answer that is being made says that it is the last one; a client that does not take it in time goes without. */
  #endSoon(socket: Socket): void {
    this.#ending.add(socket);
    const timer = setTimeout(() => socket.destroySoon(), answerMs);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  }
}

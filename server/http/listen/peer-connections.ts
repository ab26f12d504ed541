// The TLS connections of each client certificate, closed when it is no longer trusted.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fingerprintOf } from '../../auth/identify.ts';

const answerMs = 1_000;

export class PeerConnections {
  readonly #sockets = new Map<string, Set<Socket>>();
  /** By fingerprint; a closing connection no longer reveals its certificate. */
  readonly #certificates = new Map<string, Uint8Array>();
  readonly #exempt = new WeakSet<Socket>();
  readonly #ending = new WeakSet<Socket>();

  /** Call it after the handshake. Ignores connections without a certificate. */
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

  /** Closes the connections with matching certificates (DER). Returns the fingerprints. */
  endWhere(fits: (certificate: Uint8Array) => boolean): readonly string[] {
    const ended: string[] = [];
    for (const [fingerprint, certificate] of this.#certificates) {
      if (!fits(certificate)) continue;
      ended.push(fingerprint);
      this.end(fingerprint);
    }
    return ended;
  }

  /** Closes all of them, whatever their use; exempt ones end after their answer. */
  end(fingerprint: string): void {
    for (const socket of this.#sockets.get(fingerprint) ?? []) {
      if (!this.#exempt.has(socket)) socket.destroy();
      else if (!this.#ending.has(socket)) this.#endSoon(socket);
    }
  }

  /** For a request that changes the trust in its own client: until the returned function is called, the connection stays open for the
   *  answer. */
  exempt(socket: Socket): () => void {
    this.#exempt.add(socket);
    return () => void this.#exempt.delete(socket);
  }

  /** Marks the pending answer as the last one; a client that does not read it in time loses it. */
  #endSoon(socket: Socket): void {
    this.#ending.add(socket);
    const timer = setTimeout(() => socket.destroySoon(), answerMs);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  }
}

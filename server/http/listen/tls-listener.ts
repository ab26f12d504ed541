// A TLS listener whose address can change while the daemon runs.
import type { Pki } from '../../auth/pki.ts';
import { listenTls, type TlsListenerDeps, type TlsServer, type TlsSettings } from './listen.ts';

type Deps = TlsListenerDeps & { readonly certificate: () => TlsSettings; readonly pki: () => Pki | undefined };

export class TlsListener {
  readonly #deps: Deps;
  #listener: TlsServer | undefined;
  #wanted: string | undefined;
  #isClosed = false;
  readonly #draining = new Set<TlsServer>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** host:port as bound; undefined if it does not listen. */
  get address(): string | undefined {
    return this.#listener?.address;
  }

  /** Undefined or empty: stops listening. The current address changes nothing. On a throw it does not listen. Requests in progress on the
   *  old address, such as the one that requested the move, still get their answer. */
  async listen(address: string | undefined): Promise<void> {
    const wanted = address === '' ? undefined : address;
    if (wanted === this.#wanted) return;
    this.#release();
    if (wanted === undefined) return;
    this.#listener = await listenTls(this.#deps, wanted, this.#deps.certificate(), this.#deps.pki());
    this.#wanted = wanted;
    // It may have been closed meanwhile.
    if (this.#isClosed) await this.close();
  }

  /** Call when the certificate or the authority has changed; open connections stay. */
  renew(): void {
    this.#listener?.use(this.#deps.certificate(), this.#deps.pki());
  }

  /** It does not listen again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#release();
    await Promise.all([...this.#draining].map((server) => server.close()));
  }

  /** The port is free when it returns; the connections end later by themselves. */
  #release(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#wanted = undefined;
    if (listener === undefined) return;
    this.#draining.add(listener);
    void listener.drain().then(() => this.#draining.delete(listener));
  }
}

// The TLS listener as something that can be moved: the address may change while the daemon runs.
import { listenTls, type Listener, type ListenerDeps, type TlsSettings } from './listeners.ts';

export class TlsListener {
  readonly #deps: ListenerDeps & { readonly certificate: TlsSettings };
  #listener: Listener | undefined;
  #wanted: string | undefined;

  constructor(deps: ListenerDeps & { readonly certificate: TlsSettings }) {
    this.#deps = deps;
  }

  /** host:port as bound; undefined while there is none. */
  get address(): string | undefined {
    return this.#listener?.address;
  }

  /** undefined or empty: none. The same address again changes nothing. On a throw there is no listener. */
  async listen(address: string | undefined): Promise<void> {
    const wanted = address === '' ? undefined : address;
    if (wanted === this.#wanted) return;
    await this.close();
    if (wanted === undefined) return;
    this.#listener = await listenTls(this.#deps, wanted, this.#deps.certificate);
    this.#wanted = wanted;
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#wanted = undefined;
    await listener?.close();
  }
}

// The TLS listeners, one per dialect: which of them listens where, by the daemon's flags and core.https_address.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface AddressListener {
  readonly address: string | undefined;
  /** undefined or empty: none. */
  listen(address: string | undefined): Promise<void>;
}

export interface DialectListener {
  readonly dialect: string;
  readonly listener: AddressListener;
  /** The address given on the command line, which overrides the config. */
  readonly fixed?: string;
}

export interface ListenerConfig {
  readonly address: string;
  readonly dialect: string;
}

export class HttpsListeners {
  #all: readonly DialectListener[] = [];

  /** Opens listeners with a fixed address; throws if one fails. */
  async attach(all: readonly DialectListener[]): Promise<void> {
    this.#all = all;
    for (const { listener, fixed } of all) if (fixed !== undefined) await listener.listen(fixed);
  }

  /** The others: the configured dialect's listener takes the configured address, after the rest has released theirs. */
  async follow({ address, dialect }: ListenerConfig): Promise<void> {
    const free = this.#all.filter(({ fixed }) => fixed === undefined);
    for (const each of free) if (each.dialect !== dialect) await each.listener.listen(undefined);
    await free.find((each) => each.dialect === dialect)?.listener.listen(address);
  }

  /** Where clients of this dialect may connect: HOST:PORT each. */
  addresses(dialect: string): readonly string[] {
    const bound = this.#all.find((each) => each.dialect === dialect)?.listener.address;
    return bound === undefined ? [] : reachable(bound, globalAddresses);
  }
}

/** Whether a connection to the address reaches a listener bound so, HOST:PORT each. Pure. */
export function serves(bound: string | undefined, address: string | undefined): boolean {
  const [, host, port] = /^(.*):(\d+)$/.exec(bound ?? '') ?? [];
  const [, wanted, wantedPort] = /^(.*):(\d+)$/.exec(address ?? '') ?? [];
  if (port === undefined || port !== wantedPort) return false;
  return host === wanted || host === '' || host === '[::]' || host === '0.0.0.0';
}

/** A listener on all addresses is reached at each global one (real system section 1.3). Pure but for `global`. */
export function reachable(bound: string, global: () => readonly string[]): readonly string[] {
  const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(bound) ?? [];
  if (host !== '[::]' && host !== '0.0.0.0') return [bound];
  const fitting = global().filter((address) => host === '[::]' || isIP(address) === 4);
  return fitting.map((address) => `${isIP(address) === 6 ? `[${address}]` : address}:${port}`);
}

const globalAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ address, internal }) => !internal && !/^(?:fe[89ab]|169\.254\.)/i.test(address))
    .map(({ address }) => address);

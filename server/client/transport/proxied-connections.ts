// Connections of undici to several servers, each through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for it.
import type { Dispatcher } from 'undici';
import { proxiesIn, proxyFor } from '../../lib/shared/net/proxy-for.ts';

export interface Connections {
  /** Throws if the environment names a proxy that cannot be used. */
  to(url: URL): Promise<Dispatcher>;
  /** Ends them at once. */
  destroy(): Promise<void>;
}

export interface ConnectionOptions {
  /** PEM, instead of the authorities of this machine. */
  readonly ca?: string | undefined;
  readonly maxResponseSize?: number;
}

/** One dispatcher without a proxy, one per proxy. */
export function proxiedConnections(
  { ca, ...options }: ConnectionOptions,
  env: Readonly<Record<string, string | undefined>>,
): Connections {
  const made = new Map<string, Promise<Dispatcher>>();
  const trust = ca === undefined ? {} : { ca };
  const make = async (proxy: string): Promise<Dispatcher> => {
    // The bundle has only the default export.
    const { Agent, Pool, ProxyAgent } = (await import('undici')).default;
    if (proxy === '') return new Agent({ ...options, connect: trust });
    return new ProxyAgent({
      uri: proxy,
      proxyTunnel: false,
      requestTls: trust,
      clientFactory: (origin, client) => new Pool(origin, { ...client, ...options }),
    });
  };
  return {
    to(url) {
      const proxy = proxyFor(url, proxiesIn(env)) ?? '';
      if (proxy !== '' && !/^https?:$/.test(URL.canParse(proxy) ? new URL(proxy).protocol : ''))
        throw new Error(
          `the proxy of the environment (HTTPS_PROXY or HTTP_PROXY) is not understood: write http://HOST:PORT, or add ${url.hostname} to NO_PROXY`,
        );
      const known = made.get(proxy) ?? make(proxy);
      made.set(proxy, known);
      return known;
    },
    async destroy() {
      const all = await Promise.all(made.values());
      await Promise.all(all.map((one) => one.destroy()));
    },
  };
}

// The server object (spec 2.3) as callers see it: what the daemon and its host are, and the config.
import { hostname, machine, release, type as systemType } from 'node:os';
import { servedExtensions } from '../../api/server/extensions.ts';
import { renderServerConfig, type StoredServerConfig } from '../../api/server/server-config.ts';
import type { Server, ServerEnvironment } from '../../api/server/server.ts';
import { version } from '../../api/version.ts';
import { authMethods } from '../../auth/oidc/settings.ts';
import { keepJson } from '../../lib/cached-json.ts';
import type { LoopFigures } from '../../lib/event-loop-monitor.ts';
import type { Caller } from '../shared/caller.ts';
import { etagOf } from '../shared/etag.ts';
import type { ServiceParts } from '../shared/service-parts.ts';
import { storedConfig } from '../shared/settings.ts';
import type { Pools } from '../storage/pools.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface ServerViewDeps extends Pick<ServiceParts, 'records' | 'runtime'> {
  readonly pools: Pools;
  readonly certificate: () => { readonly certPem: string; readonly fingerprint: string };
  readonly loop: { readonly figures: LoopFigures };
  readonly unprivilegedOnly: boolean;
  readonly architectures: readonly string[];
  readonly cluster: { readonly isOn: boolean; readonly ownName: string; readonly ownAddress: string | undefined };
  /** Why writes are refused now. */
  readonly readOnly: () => string | undefined;
}

/** As clients see it. A member has the address that it joined with, stored in its record and not among its keys. */
export const shownConfig = (
  stored: StoredServerConfig,
  ownAddress: string | undefined,
): Record<string, string | true> =>
  renderServerConfig(ownAddress === undefined ? stored : { ...stored, 'cluster.https_address': ownAddress });

const untrustedView = {
  api_extensions: [...servedExtensions],
  api_status: 'stable',
  api_version: '1.0',
  public: false,
};

/** How long a changed host name may go unnoticed. */
const hostnameCacheMs = 1000;

interface TrustedView {
  /** What it was rendered from. */
  readonly of: readonly unknown[];
  readonly object: Partial<Server>;
  readonly etag: string;
}

export class ServerView {
  readonly #deps: ServerViewDeps;
  /** By dialect and project. */
  readonly #views = new Map<string, TrustedView>();
  #host = { name: '', askAgainMs: 0 };

  constructor(deps: ServerViewDeps) {
    this.#deps = deps;
  }

  /** The specification lists its fields; LXD clients choose their method by `auth_methods`. */
  untrusted(dialect: string, auth: Caller['class']): Partial<Server> {
    const methods = dialect === 'lxd' ? { auth_methods: authMethods(storedConfig(this.#deps.records)) } : {};
    return { ...untrustedView, ...methods, auth };
  }

  /** `addresses`: where clients of the dialect may connect. Every client reads it first: rendered again only after a change of its inputs. */
  trusted(dialect: string, project: string, addresses: readonly string[]): TrustedView {
    const stored = storedConfig(this.#deps.records);
    const { generation } = this.#deps.records.pools;
    const { longestMs, overLimit } = this.#deps.loop.figures;
    const readOnly = this.#deps.readOnly();
    const key = `${dialect} ${project}`;
    const of = [
      this.#deps.certificate(),
      stored,
      generation,
      addresses.join(),
      this.#hostname(),
      this.#deps.cluster.ownName,
      this.#deps.cluster.ownAddress,
      longestMs,
      overLimit,
      readOnly,
    ];
    const kept = this.#views.get(key);
    if (kept !== undefined && of.every((part, index) => part === kept.of[index])) return kept;
    const config = shownConfig(stored, this.#deps.cluster.ownAddress);
    const object = keepJson({
      ...untrustedView,
      auth: 'trusted' as const,
      auth_methods: authMethods(stored),
      config,
      environment: this.#environment(addresses, readOnly, project),
    });
    const view = { of, object, etag: etagOf.serverConfig(config) };
    this.#views.set(key, view);
    return view;
  }

  /** Asking the kernel costs a fifth of a small answer: at most once a second. */
  #hostname(): string {
    const now = performance.now();
    if (now >= this.#host.askAgainMs) this.#host = { name: hostname(), askAgainMs: now + hostnameCacheMs };
    return this.#host.name;
  }

  #environment(addresses: readonly string[], readOnly: string | undefined, project: string): ServerEnvironment {
    const { runtime, pools, loop, unprivilegedOnly } = this.#deps;
    const { certPem, fingerprint } = this.#deps.certificate();
    const { limitMs, longestMs, overLimit } = loop.figures;
    const drivers = pools.driversInUse();
    return {
      addresses: [...addresses],
      architectures: [...this.#deps.architectures],
      certificate: certPem,
      certificate_fingerprint: fingerprint,
      driver: runtime.name,
      driver_version: runtime.version,
      event_loop: { limit_ms: limitMs, longest_ms: longestMs, over_limit: overLimit },
      kernel: systemType(),
      kernel_architecture: machine(),
      kernel_features: { idmapped_mounts: String(runtime.rootfsIdmapped) },
      kernel_version: release(),
      project,
      ...withoutUndefined({ read_only: readOnly }),
      server: 'gantry',
      server_clustered: this.#deps.cluster.isOn,
      server_name: this.#deps.cluster.isOn ? this.#deps.cluster.ownName : this.#hostname(),
      server_pid: process.pid,
      server_version: version,
      storage: drivers.join(' | '),
      storage_supported_drivers: pools
        .drivers()
        .map((name) => ({ Name: name, Version: '1', Remote: name.startsWith('ceph') })),
      storage_version: drivers.map(() => '1').join(' | '),
      ...(unprivilegedOnly ? { unprivileged_only: true } : {}),
    };
  }
}

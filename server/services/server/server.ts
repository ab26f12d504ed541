// The server object and its config (spec 2.3): reads and changes them, and moves the TLS listener after a change.
import type { ServiceParts } from '../shared/service-parts.ts';
import { hostname, machine, release, type as systemType } from 'node:os';
import { architecturesOfHost } from '../../api/image/architectures.ts';
import { errors } from '../../api/errors.ts';
import { servedExtensions } from '../../api/server/extensions.ts';
import {
  mergeServerConfig,
  renderServerConfig,
  serverConfigValue,
  validateServerConfig,
  type StoredServerConfig,
} from '../../api/server/server-config.ts';
import type { Server, ServerEnvironment, ServerPut } from '../../api/server/server.ts';
import { version } from '../../api/version.ts';
import { authMethods, oidcSettings, type OidcSettings } from '../../auth/oidc/settings.ts';
import { hashPassword } from '../../lib/secrets.ts';
import type { Problem } from '../../api/problem.ts';
import { keepJson } from '../../lib/cached-json.ts';
import { errorText, reasonOf } from '../../lib/shared/reason.ts';
import type { LoopFigures } from '../../lib/event-loop-monitor.ts';
import { isTrustedCaller, type Caller } from '../shared/caller.ts';
import { packerOf } from '../shared/compression.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import type { Pools } from '../storage/pools.ts';
import { putConfig, storedConfig, storedDialect } from '../shared/settings.ts';
import {
  HttpsListeners,
  serves,
  type AddressListener,
  type ListenerConfig,
  type DialectListener,
} from './https-listeners.ts';

export interface ServerSettingsDeps extends Pick<ServiceParts, 'records' | 'events' | 'runtime' | 'log'> {
  readonly pools: Pools;
  /** The certificate shown to clients. */
  readonly certificate: () => { readonly certPem: string; readonly fingerprint: string };
  readonly loop: { readonly figures: LoopFigures };
  /** The daemon runs unprivileged containers only. */
  readonly unprivilegedOnly: boolean;
  readonly cluster: { readonly isOn: boolean; readonly ownName: string; readonly ownAddress: string | undefined };
  /** The listener for the other members of the cluster; shared with the clients' if that has its address. */
  readonly listenForMembers: (address: string | undefined) => Promise<void>;
  /** Why writes are refused now. */
  readonly readOnly: () => string | undefined;
  /** Resolves when followers of the config have applied it. */
  readonly settled: () => Promise<void>;
}

/** Config keys of single-purpose listeners. */
const addressKeys = ['core.metrics_address', 'core.debug_address'] as const;
export type AddressKey = (typeof addressKeys)[number];

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

export class ServerSettings {
  readonly #deps: ServerSettingsDeps;
  /** By dialect and project. */
  readonly #views = new Map<string, TrustedView>();
  readonly #listeners = new HttpsListeners();
  #addresses: Readonly<Partial<Record<AddressKey, AddressListener>>> = {};
  #host = { name: '', askAgainMs: 0 };
  /** By config key. */
  readonly #listenProblems = new Map<string, string>();
  #oidc: { readonly of: StoredServerConfig; readonly settings: OidcSettings | undefined } | undefined;

  constructor(deps: ServerSettingsDeps) {
    this.#deps = deps;
  }

  /** Opens the TLS listeners that the flags and the config request. Only a flag's address must succeed: a daemon that cannot start because
   *  of a config key could not receive a new value. */
  async attachListeners(
    listeners: readonly DialectListener[],
    addresses: Readonly<Record<AddressKey, AddressListener>>,
  ): Promise<void> {
    this.#addresses = addresses;
    await this.#listeners.attach(listeners);
    const configured = this.#configuredHttps();
    try {
      await this.#listeners.follow(configured);
    } catch (error) {
      this.#unserved('core.https_address', configured.address, error);
    }
    for (const key of addressKeys) {
      const address = this.#addressOf(key);
      await addresses[key].listen(address).catch((error: unknown) => this.#unserved(key, address, error));
    }
  }

  /** One sentence per configured address where the server could not listen. */
  get problems(): readonly string[] {
    return [...this.#listenProblems.values()];
  }

  #unserved(key: string, address: string, error: unknown): void {
    const problem = `Listening on ${key} ${address} failed: ${errorText(error)}`;
    this.#deps.log.error(problem);
    this.#listenProblems.set(key, problem);
  }

  /** The issuer of accepted tokens, by the current config. */
  oidc(): OidcSettings | undefined {
    const config = this.#config();
    if (this.#oidc?.of !== config) this.#oidc = { of: config, settings: oidcSettings(config) };
    return this.#oidc.settings;
  }

  /** Where clients of the dialect may connect: each HOST:PORT. */
  addresses(dialect: string): readonly string[] {
    const listening = this.#listeners.addresses(dialect);
    const { ownAddress } = this.#deps.cluster;
    // Clients are also served at the address for members, in the members' dialect.
    const isServedThere = dialect === 'svc' && listening.length === 0 && ownAddress !== undefined;
    return isServedThere ? [ownAddress] : listening;
  }

  async get(caller: Caller, dialect: string): Promise<{ readonly object: Partial<Server>; readonly etag?: string }> {
    if (isTrustedCaller(caller)) return this.#trustedView(dialect, caller.project);
    // The specification lists the fields for untrusted callers; LXD clients choose their method by `auth_methods`.
    const methods = dialect === 'lxd' ? { auth_methods: authMethods(this.#config()) } : {};
    return { object: { ...untrustedView, ...methods, auth: caller.class } };
  }

  /** Every client reads it first: rendered again only after a change of its inputs. */
  #trustedView(dialect: string, project: string): TrustedView {
    const stored = this.#config();
    const addresses = this.addresses(dialect);
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
      longestMs,
      overLimit,
      readOnly,
    ];
    const kept = this.#views.get(key);
    if (kept !== undefined && of.every((part, index) => part === kept.of[index])) return kept;
    const config = renderServerConfig(stored);
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

  /** A new core.https_address serves clients of this dialect. */
  async change(
    caller: Caller,
    dialect: string,
    mode: 'put' | 'patch',
    body: ServerPut,
    ifMatch: string | undefined,
  ): Promise<void> {
    if (body.config === undefined && mode === 'patch') return;
    const sent = body.config ?? {};
    const problems = validateServerConfig(sent);
    if (problems.length === 0) problems.push(...(await this.#missingPackers(sent)));
    if (problems.length === 0) problems.push(...this.#movedMember(sent));
    if (problems.length > 0) throw errors.invalid('server config', problems);
    const { secrets } = mergeServerConfig(this.#config(), sent, mode);
    const hashed = Object.fromEntries(
      await Promise.all(
        Object.entries(secrets).map(async ([key, secret]) => [key, await hashPassword(secret)] as const),
      ),
    );
    const changed = await this.#deps.records.retry((changes) => {
      const current = this.#config();
      checkIfMatch(ifMatch, etagOf.serverConfig(renderServerConfig(current)), 'server', 'config');
      const merged = mergeServerConfig(current, sent, mode);
      const httpsDialect = merged.changed.includes('core.https_address') ? dialect : this.#httpsDialect();
      putConfig(this.#deps.records, changes, { ...merged.config, ...hashed }, httpsDialect);
      return merged.changed;
    });
    this.#deps.events.lifecycle('config-updated', '/1.0', { keys: [...changed] }, caller.requestor);
    await this.#deps.settled();
    const isSentAgain = (sent['core.https_address'] ?? '') !== '' && !this.#listeners.isOpen(this.#httpsDialect());
    if (changed.includes('core.https_address') || isSentAgain) await this.#moveListener();
    for (const key of addressKeys) if (changed.includes(key) || (sent[key] ?? '') !== '') await this.#moveAddress(key);
  }

  /** The others know this member by its address, and etcd stores it. */
  #movedMember(sent: Readonly<Record<string, unknown>>): Problem[] {
    const { ownName, ownAddress } = this.#deps.cluster;
    const key = 'cluster.https_address';
    const wanted = sent[key] ?? '';
    if (ownAddress === undefined || wanted === '' || wanted === this.#config()[key] || wanted === ownAddress) return [];
    const message = `cannot set ${key}: the other members reach ${ownName} at ${ownAddress}; remove it from the cluster and let it join again with the new address`;
    return [{ path: `config.${key}`, message }];
  }

  /** A stored value may name a program that the host has lost since. */
  async #missingPackers(sent: Readonly<Record<string, unknown>>): Promise<Problem[]> {
    const config = this.#config();
    const problems: Problem[] = [];
    for (const key of ['backups.compression_algorithm', 'images.compression_algorithm'] as const) {
      const program = sent[key];
      if (typeof program !== 'string' || program === '' || program === config[key]) continue;
      await packerOf(program).catch((error: unknown) =>
        problems.push({ path: `config.${key}`, message: reasonOf(error) }),
      );
    }
    return problems;
  }

  /** Cross-origin headers (real system 1.2): the origin ones only for requests with an origin. */
  commonHeaders(origin: string | undefined): Readonly<Record<string, string>> {
    const config = this.#config();
    const headers: Record<string, string> = { 'x-content-type-options': 'nosniff' };
    const set = (header: string, value: string): void => {
      if (value !== '') headers[header] = value;
    };
    if (origin !== undefined) {
      set('access-control-allow-origin', serverConfigValue(config, 'core.https_allowed_origin'));
      set('access-control-allow-methods', serverConfigValue(config, 'core.https_allowed_methods'));
      set('access-control-allow-headers', serverConfigValue(config, 'core.https_allowed_headers'));
    }
    if (serverConfigValue(config, 'core.https_allowed_credentials') === 'true')
      headers['access-control-allow-credentials'] = 'true';
    return headers;
  }

  /** The value stays stored if binding fails, as in LXD: the next start retries. */
  async #moveListener(): Promise<void> {
    const configured = this.#configuredHttps();
    const { cluster, listenForMembers } = this.#deps;
    const { ownAddress } = cluster;
    try {
      // It occupies the port of the new address.
      if (serves(configured.address, ownAddress)) await listenForMembers(undefined);
      await this.#listeners.follow(configured);
      this.#listenProblems.delete('core.https_address');
    } catch (error) {
      this.#unserved('core.https_address', configured.address, error);
      throw errors.internal(`core.https_address was saved, but listening on ${configured.address} failed`, error);
    } finally {
      if (ownAddress !== undefined) await listenForMembers(ownAddress);
    }
  }

  async #moveAddress(key: AddressKey): Promise<void> {
    const address = this.#addressOf(key);
    try {
      await this.#addresses[key]?.listen(address);
      this.#listenProblems.delete(key);
    } catch (error) {
      this.#unserved(key, address, error);
      throw errors.internal(`${key} was saved, but listening on ${address} failed`, error);
    }
  }

  #addressOf(key: AddressKey): string {
    return serverConfigValue(this.#config(), key);
  }

  #configuredHttps(): ListenerConfig {
    return { address: serverConfigValue(this.#config(), 'core.https_address'), dialect: this.#httpsDialect() };
  }

  #httpsDialect(): string {
    return storedDialect(this.#deps.records) ?? 'svc';
  }

  #config(): StoredServerConfig {
    return storedConfig(this.#deps.records);
  }

  #environment(addresses: readonly string[], readOnly: string | undefined, project: string): ServerEnvironment {
    const { runtime, pools, loop, unprivilegedOnly } = this.#deps;
    const { certPem, fingerprint } = this.#deps.certificate();
    const { limitMs, longestMs, overLimit } = loop.figures;
    const drivers = pools.driversInUse();
    return {
      addresses: [...addresses],
      architectures: architecturesOfHost(machine()),
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
      ...(readOnly === undefined ? {} : { read_only: readOnly }),
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

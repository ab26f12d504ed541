// The config of the server (spec 2.3): changes it, and moves the TLS listener after a change.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errors } from '../../api/errors.ts';
import { mergeServerConfig, serverConfigValue, type StoredServerConfig } from '../../api/server/server-config.ts';
import { validateServerConfig } from '../../api/server/validate-server-config.ts';
import type { Server, ServerPut } from '../../api/server/server.ts';
import { oidcSettings, type OidcSettings } from '../../auth/oidc/settings.ts';
import { hashPassword } from '../../lib/secrets.ts';
import type { Problem } from '../../api/problem.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { isTrustedCaller, type Caller } from '../shared/caller.ts';
import { missingPackers } from '../shared/compression.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import { putConfig, storedConfig, storedDialect } from '../shared/settings.ts';
import { ServerView, shownConfig, type ServerViewDeps } from './server-view.ts';
import { unknownListenNames } from './listen-names.ts';
import {
  HttpsListeners,
  serves,
  type AddressListener,
  type ListenerConfig,
  type DialectListener,
} from './https-listeners.ts';

export interface ServerSettingsDeps extends ServerViewDeps, Pick<ServiceParts, 'events' | 'log'> {
  /** The listener for the other members of the cluster; shared with the clients' if that has its address. */
  readonly listenForMembers: (address: string | undefined) => Promise<void>;
  /** Resolves when followers of the config have applied it. */
  readonly settled: () => Promise<void>;
}

/** Config keys of single-purpose listeners. */
const addressKeys = ['core.metrics_address', 'core.debug_address'] as const;
export type AddressKey = (typeof addressKeys)[number];
const listenKeys = ['core.https_address', ...addressKeys] as const;

export class ServerSettings {
  readonly #deps: ServerSettingsDeps;
  readonly #view: ServerView;
  readonly #listeners = new HttpsListeners();
  #addresses: Readonly<Partial<Record<AddressKey, AddressListener>>> = {};
  /** By config key. */
  readonly #listenProblems = new Map<string, string>();
  /** Listeners move one after another: changes and the minute may ask at once. */
  #moving: Promise<unknown> = Promise.resolve();
  #oidc: { readonly of: StoredServerConfig; readonly settings: OidcSettings | undefined } | undefined;

  constructor(deps: ServerSettingsDeps) {
    this.#deps = deps;
    this.#view = new ServerView(deps);
  }

  /** Opens the TLS listeners that the flags and the config request. Only a flag's address must succeed: a daemon that cannot start because
   *  of a config key could not receive a new value. */
  async attachListeners(
    listeners: readonly DialectListener[],
    addresses: Readonly<Record<AddressKey, AddressListener>>,
  ): Promise<void> {
    this.#addresses = addresses;
    await this.#listeners.attach(listeners);
    await this.#followConfig();
  }

  /** Listens where the config says: the store may apply a change without its request learning of it, and a port may become free. */
  task(): ScheduledTask {
    return {
      name: 'Listening where the config says',
      run: async (_minute, signal) => {
        if (!this.#deps.records.isMoving) await this.#followConfig(signal);
      },
    };
  }

  async #followConfig(signal?: AbortSignal): Promise<void> {
    for (const key of listenKeys) if (signal?.aborted !== true) await this.#move(key).catch(() => {});
  }

  /** One sentence per configured address where the server could not listen. */
  get problems(): readonly string[] {
    return [...this.#listenProblems.values()];
  }

  #unserved(key: string, address: string, error: unknown): void {
    const problem = `Listening on ${key} ${address} failed: ${errorText(error)}`;
    if (this.#listenProblems.get(key) !== problem) this.#deps.log.error(problem);
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
    // Migrations connect to these, and their channels are the same in both dialects.
    const own = this.addresses(dialect);
    const { ownAddress } = this.#deps.cluster;
    const addresses = own.length === 0 && ownAddress !== undefined ? [ownAddress] : own;
    if (isTrustedCaller(caller)) return this.#view.trusted(dialect, caller.project, addresses);
    return { object: this.#view.untrusted(dialect, caller.class) };
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
    const sent = this.#withoutOwnAddress(body.config ?? {});
    const problems = validateServerConfig(sent);
    if (problems.length === 0) problems.push(...(await missingPackers(sent, this.#config())));
    if (problems.length === 0) problems.push(...(await unknownListenNames(sent, this.#config())));
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
      const shown = shownConfig(current, this.#deps.cluster.ownAddress);
      checkIfMatch(ifMatch, etagOf.serverConfig(shown), 'server', 'config');
      const merged = mergeServerConfig(current, sent, mode);
      const httpsDialect = merged.changed.includes('core.https_address') ? dialect : this.#httpsDialect();
      putConfig(this.#deps.records, changes, { ...merged.config, ...hashed }, httpsDialect);
      return merged.changed;
    });
    this.#deps.events.lifecycle('config-updated', '/1.0', caller, { keys: [...changed] });
    await this.#deps.settled();
    // What did not change may not be served yet.
    for (const key of listenKeys) if (mode === 'put' || Object.hasOwn(sent, key)) await this.#move(key);
  }

  /** Clients send back what they are shown; the member's record has the address. */
  #withoutOwnAddress(sent: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { 'cluster.https_address': address, ...others } = sent;
    return address !== undefined && address === this.#deps.cluster.ownAddress ? others : sent;
  }

  /** The others know this member by its address, and etcd stores it. */
  #movedMember(sent: Readonly<Record<string, unknown>>): Problem[] {
    const { ownName, ownAddress } = this.#deps.cluster;
    const key = 'cluster.https_address';
    const wanted = sent[key] ?? '';
    if (ownAddress === undefined || wanted === '' || wanted === this.#config()[key]) return [];
    const message = `cannot set ${key}: the other members reach ${ownName} at ${ownAddress}; remove it from the cluster and let it join again with the new address`;
    return [{ path: `config.${key}`, message }];
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

  #move(key: (typeof listenKeys)[number]): Promise<void> {
    const move = this.#moving.then(() =>
      key === 'core.https_address' ? this.#moveListener() : this.#moveAddress(key),
    );
    this.#moving = move.catch(() => {});
    return move;
  }

  /** The value stays stored if binding fails, as in LXD; the next minute retries. */
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
}

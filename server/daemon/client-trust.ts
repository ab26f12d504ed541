// Which clients this daemon trusts, and what to end when it no longer trusts one: connections, streams and operations.
import { isTrue } from '../api/container/container-config.ts';
import type { LifecycleMetadata } from '../api/event.ts';
import { identifyCaller, type TrustStore } from '../auth/identify.ts';
import { BearerTokens } from '../auth/oidc/bearer-tokens.ts';
import { UserOperations } from '../auth/oidc/user-operations.ts';
import { proxyFor } from '../lib/shared/net/proxy-for.ts';
import type { Identify } from '../http/caller-identity.ts';
import { PeerConnections } from '../http/listen/peer-connections.ts';
import type { AppDeps } from '../http/serve/app-deps.ts';
import type { CertificateDocument } from '../records/documents.ts';
import { isNarrowed } from '../services/server/certificate-bodies.ts';
import { proxySettings, settingOf } from '../services/shared/settings.ts';
import type { Services } from './compose/services.ts';
import type { Foundation } from './foundation.ts';

export class ClientTrust {
  readonly peers = new PeerConnections();
  readonly bearers: BearerTokens;
  readonly #base: Foundation;
  readonly #trust: TrustStore & Required<Pick<TrustStore, 'projectsOf' | 'isOfMember'>>;
  readonly #users: UserOperations;
  /** Certificates trusted only because the server's authority signed them. */
  readonly #bySignature = new Set<string>();

  constructor(base: Foundation, { certificates, server }: Services) {
    const { clock, cluster, log, operations, records, certificates: serving } = base;
    this.#base = base;
    this.bearers = new BearerTokens({
      settings: () => server.oidc(),
      nowMs: () => clock.nowMs(),
      log,
      proxyFor: (url) => proxyFor(new URL(url), proxySettings(records, process.env)),
    });
    this.#users = new UserOperations({ operations, grantOf: (subject) => this.bearers.grantOf(subject) });
    this.#trust = {
      isTrusted: (fingerprint) => certificates.isTrusted(fingerprint),
      isForMetrics: (fingerprint) => certificates.isForMetrics(fingerprint),
      projectsOf: (fingerprint) => certificates.projectsOf(fingerprint),
      trustsAuthority: () => this.#trustsAuthority(),
      isOfMember: (fingerprint) =>
        cluster.certificates.fingerprints.has(fingerprint) ||
        (!cluster.isOn && serving.current.fingerprint === fingerprint),
      userOf: (bearer) => this.bearers.user(bearer),
    };
  }

  readonly identify: Identify = (connection) => {
    const caller = identifyCaller(connection, this.#trust, new Date(this.#base.clock.nowMs()));
    const { fingerprint } = caller;
    const isForeign = fingerprint !== undefined && !this.isOfMember(fingerprint);
    if (caller.class === 'trusted' && isForeign && !this.#trust.isTrusted(fingerprint))
      this.#bySignature.add(fingerprint);
    return caller;
  };

  isOfMember(fingerprint: string): boolean {
    return this.#trust.isOfMember(fingerprint);
  }

  readonly claimOperation: AppDeps['claimOperation'] = (id, owner, project) => {
    if ('subject' in owner) return this.#users.claim(id, owner.subject, project);
    const { operations } = this.#base;
    const { fingerprint } = owner;
    operations.claim(id, fingerprint);
    // The client may have lost the trust during the request.
    const isOwn = this.#trust.projectsOf(fingerprint)?.includes(project) ?? true;
    if (!this.isOfMember(fingerprint) && !(this.#isTrusted(fingerprint) && isOwn)) operations.revoke(fingerprint);
  };

  readonly followUser: AppDeps['followUser'] = (subject, project, end) => this.#users.follow(subject, project, end);

  readonly end = (fingerprint: string): void => {
    this.#base.operations.revoke(fingerprint);
    this.peers.end(fingerprint);
  };

  /** Follows the config, other members and removals of members: closes what a client has open when it loses the trust. */
  follow(): void {
    const { cluster, events, records } = this.#base;
    const former = new FormerMembers(() => cluster.certificates.fingerprints, this.end);
    events.subscribe(new Set(['lifecycle']), ({ metadata }) => {
      const { action } = metadata as LifecycleMetadata;
      if (changesConfig.has(action)) this.#readConfig();
      if (action === 'cluster-member-removed') former.look();
    });
    // Ends what a client has open here when another member withdrew the trust in it. A new client has only the request that adds it, which
    // must not be cut off before its answer.
    records.onShared((kind, name, before) => {
      if (kind === 'certificates' && before !== undefined && this.#lostAccess(name, before as CertificateDocument))
        this.end(name);
      if (kind === 'members') former.look();
      // Another member changed the config.
      if (kind === 'server') this.#readConfig();
    });
  }

  /** The authority or its revocation list has changed. `before`: the previous authority certificates. */
  readAuthority(before: string | undefined): void {
    const { log, operations, pki } = this.#base;
    const isOther = before !== pki.current?.authorities.join();
    const ended = this.peers.endWhere((der) => isOther || pki.current?.isRevoked(der) === true);
    for (const fingerprint of ended) operations.revoke(fingerprint);
    if (ended.length > 0)
      log.warn(`The changed authority ended the connections of ${ended.length} client certificates`);
  }

  #isTrusted(fingerprint: string): boolean {
    return this.#trust.isTrusted(fingerprint) || (this.#trustsAuthority() && this.#bySignature.has(fingerprint));
  }

  #lostAccess(fingerprint: string, before: CertificateDocument): boolean {
    const now = this.#base.records.certificates.get(fingerprint)?.document;
    return now === undefined || isNarrowed(before.projects, now.projects);
  }

  /** Without an authority of its own, TLS verifies against the host's public authorities, whose signature grants no access. */
  #trustsAuthority(): boolean {
    const { pki, records } = this.#base;
    return pki.current !== undefined && isTrue(settingOf(records, 'core.trust_ca_certificates'));
  }

  #readConfig(): void {
    this.#users.recheck();
    if (this.#trustsAuthority()) return;
    for (const fingerprint of this.#bySignature) if (!this.#trust.isTrusted(fingerprint)) this.end(fingerprint);
    this.#bySignature.clear();
  }
}

/** Groups of users lose a project that is deleted, and follow one that is renamed. */
const changesConfig: ReadonlySet<string> = new Set(['config-updated', 'project-deleted', 'project-renamed']);

/** A leaving member still gets its answer. */
const answerMs = 2_000;

class FormerMembers {
  readonly #now: () => ReadonlySet<string>;
  readonly #end: (fingerprint: string) => void;
  #known: ReadonlySet<string>;

  /** `now`: fingerprints of the members' certificates; `end`: closes the connections of one. */
  constructor(now: () => ReadonlySet<string>, end: (fingerprint: string) => void) {
    this.#now = now;
    this.#end = end;
    this.#known = now();
  }

  /** Call when the members may have changed. */
  look(): void {
    const gone = [...this.#known].filter((fingerprint) => !this.#now().has(fingerprint));
    this.#known = this.#now();
    for (const fingerprint of gone)
      setTimeout(() => {
        if (!this.#now().has(fingerprint)) this.#end(fingerprint);
      }, answerMs).unref();
  }
}

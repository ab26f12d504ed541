// Opens the listeners on the services: who is trusted, and what ends when trust does.
import type { Socket } from 'node:net';
import type { EventRelay } from '../membership/event-relay.ts';
import { fingerprintOf, identifyCaller } from '../auth/identify.ts';
import { BearerTokens } from '../auth/oidc/bearer-tokens.ts';
import { PeerConnections } from '../http/listen/peer-connections.ts';
import { routesOf } from '../http/routes/table.ts';
import { namesIn } from '../services/shared/project-scope.ts';
import { sightOf } from '../services/projects/sight.ts';
import { isTrue } from '../api/container/container-config.ts';
import { proxyFor } from '../drivers/remote/address.ts';
import { UserOperations } from '../auth/oidc/user-operations.ts';
import type { LifecycleMetadata } from '../api/event.ts';
import { proxySettings, settingOf } from '../services/shared/settings.ts';
import type { AddressListener } from '../services/server/https-listeners.ts';
import type { Services } from './compose/services.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { Foundation } from './foundation.ts';
import { FormerMembers } from './cluster/former-members.ts';
import { Listeners } from './listeners.ts';

const noListener: AddressListener = { address: undefined, listen: () => Promise.resolve() };

const httpsFlag = (address: string | undefined) => (address === undefined ? {} : { fixed: address });

/** Requests are served when it resolves. */
export async function openListeners(
  base: Foundation,
  services: Services,
  options: DaemonOptions,
  relay: EventRelay,
): Promise<Listeners> {
  const { clock, records, room, dirs, operations, certificates: serving, cluster, pki, events, log, loop } = base;
  const { certificates, server } = services;
  const peers = new PeerConnections();
  const bearers = new BearerTokens({
    settings: () => server.oidc(),
    nowMs: () => clock.nowMs(),
    log,
    proxyFor: (url) => proxyFor(new URL(url), proxySettings(records, process.env)),
  });
  // Without authorities TLS verifies against those of the host, which vouch for nobody here.
  const trustsAuthority = (): boolean =>
    pki.current !== undefined && isTrue(settingOf(records, 'core.trust_ca_certificates'));
  const bySignature = new Set<string>();
  const users = new UserOperations({ operations, grantOf: (subject) => bearers.grantOf(subject) });
  events.subscribe(new Set(['lifecycle']), ({ metadata }) => {
    if ((metadata as LifecycleMetadata).action !== 'config-updated') return;
    users.recheck();
    if (!trustsAuthority())
      for (const fingerprint of bySignature) if (!certificates.isTrusted(fingerprint)) endTrust(fingerprint);
    if (!trustsAuthority()) bySignature.clear();
  });
  const trust = {
    isTrusted: (fingerprint: string) => certificates.isTrusted(fingerprint),
    isForMetrics: (fingerprint: string) => certificates.isForMetrics(fingerprint),
    projectsOf: (fingerprint: string) => certificates.projectsOf(fingerprint),
    trustsAuthority,
    isOfMember: (fingerprint: string) =>
      cluster.certificates.fingerprints.has(fingerprint) ||
      // On a single host, and while a member has an older release, this is the one that all show to each other.
      ((!cluster.isOn || cluster.certificates.isSharedGood) && serving.isOfMember(fingerprint)),
    userOf: (bearer: string) => bearers.user(bearer),
  };
  const isStillTrusted = (fingerprint: string): boolean =>
    trust.isTrusted(fingerprint) || (trustsAuthority() && bySignature.has(fingerprint));
  const endTrust = (fingerprint: string, asking?: Socket): void => {
    operations.revoke(fingerprint);
    peers.end(fingerprint, asking);
  };
  const spare = (asking: Socket): (() => void) => peers.spare(asking);
  const listeners = await Listeners.open({
    routesOf: (dialect) => routesOf(services, { cluster, operations, dirs, dialect, endTrust, spare }),
    peers,
    pki: () => pki.current,
    isMetricsOpen: () => !isTrue(settingOf(records, 'core.metrics_authentication')),
    allowedOrigin: () => settingOf(records, 'core.https_allowed_origin'),
    claimOperation: (id, owner, project) => {
      if ('subject' in owner) return users.claim(id, owner.subject, project);
      const { fingerprint } = owner;
      operations.claim(id, fingerprint);
      // The trust may have ended while the request was under way.
      const isOwn = trust.projectsOf(fingerprint)?.includes(project) ?? true;
      if (!trust.isOfMember(fingerprint) && !(isStillTrusted(fingerprint) && isOwn)) operations.revoke(fingerprint);
    },
    commonHeaders: (origin) => server.commonHeaders(origin),
    namesIn: (project) => namesIn(records, project),
    sightOf: (caller) => sightOf({ records, operations }, caller),
    readable: base.readable,
    refusal: (endpoint) => room?.refusal(endpoint),
    bearers,
    identify: (connection) => {
      const caller = identifyCaller(connection, trust, new Date(clock.nowMs()));
      const { fingerprint } = caller;
      const isForeign = fingerprint !== undefined && !trust.isOfMember(fingerprint);
      if (caller.class === 'trusted' && isForeign && !trust.isTrusted(fingerprint)) bySignature.add(fingerprint);
      return caller;
    },
    stateDir: options.stateDir,
    group: options.group,
    lxd: options.lxd,
    events,
    operations,
    certificate: () => serving.current,
    members: { own: () => base.identity.current, isOne: (der) => trust.isOfMember(fingerprintOf(der)) },
    cluster,
    placing: services.placing,
    relay,
    log,
    loop,
    tracer: () => base.traces.tracer,
    countAnswer: (endpoint, status) => services.metrics.countAnswer(endpoint, status),
  });
  // Another member ended the trust in a client: what that has open here ends as well. A new one has nothing open but the request
  // that adds it, of which this may hear before the answer is sent.
  const formerMembers = new FormerMembers(() => cluster.certificates.fingerprints, endTrust);
  records.onShared((kind, name, isNew) => {
    if (kind === 'certificates' && !isNew) endTrust(name);
    if (kind === 'members') formerMembers.look();
  });
  events.subscribe(new Set(['lifecycle']), ({ metadata }) => {
    if ((metadata as LifecycleMetadata).action === 'cluster-member-removed') formerMembers.look();
  });
  pki.onChange((before) => {
    listeners.renewTls();
    const isOther = before?.authorities.join() !== pki.current?.authorities.join();
    const ended = peers.endWhere((der) => isOther || pki.current?.isRevoked(der) === true);
    for (const fingerprint of ended) operations.revoke(fingerprint);
    if (ended.length > 0)
      log.warn(`The changed authority ended the connections of ${ended.length} client certificates`);
  });
  serving.onChange(() => listeners.renewTls());
  try {
    const { svc, lxd, metrics } = base.isDryRun
      ? { svc: noListener, lxd: noListener, metrics: noListener }
      : listeners.tls;
    await server.attachListeners(
      [
        { dialect: 'svc', listener: svc, ...httpsFlag(options.https) },
        { dialect: 'lxd', listener: lxd, ...httpsFlag(options.lxd?.https) },
      ],
      metrics,
    );
    return listeners;
  } catch (error) {
    await listeners.close();
    throw error;
  }
}

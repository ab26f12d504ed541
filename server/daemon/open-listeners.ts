// Opens the listeners on the services.
import { isTrue } from '../api/container/container-config.ts';
import { fingerprintOf } from '../auth/identify.ts';
import { routesOf } from '../http/routes/table.ts';
import type { EventRelay } from '../membership/event-relay.ts';
import { sightOf } from '../services/projects/sight.ts';
import type { AddressListener } from '../services/server/https-listeners.ts';
import { namesIn } from '../services/shared/project-scope.ts';
import { isTrustedProxy } from '../api/server/server-config.ts';
import { settingOf } from '../services/shared/settings.ts';
import { ClientTrust } from './client-trust.ts';
import type { Services } from './compose/services.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { Foundation } from './foundation.ts';
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
  const { certificates: serving, pki } = base;
  const trust = new ClientTrust(base, services);
  trust.follow();
  const listeners = await openSockets(base, services, options, relay, trust);
  pki.onChange((before) => {
    listeners.renewTls();
    trust.readAuthority(before?.authorities.join());
  });
  serving.onChange(() => listeners.renewTls());
  try {
    const { svc, lxd, metrics, debug } = base.isDryRun
      ? { svc: noListener, lxd: noListener, metrics: noListener, debug: noListener }
      : { ...listeners.tls, debug: listeners.debug };
    await services.server.attachListeners(
      [
        { dialect: 'svc', listener: svc, ...httpsFlag(options.https) },
        { dialect: 'lxd', listener: lxd, ...httpsFlag(options.lxd?.https) },
      ],
      { 'core.metrics_address': metrics, 'core.debug_address': debug },
    );
    return listeners;
  } catch (error) {
    await listeners.close();
    throw error;
  }
}

function openSockets(
  base: Foundation,
  services: Services,
  { stateDir, group, lxd }: DaemonOptions,
  relay: EventRelay,
  trust: ClientTrust,
): Promise<Listeners> {
  const { records, room, dirs, operations, certificates: serving, cluster, pki, events, log, loop } = base;
  const { peers, bearers, end: endTrust } = trust;
  const edge = { cluster, operations, dirs, endTrust, exempt: peers.exempt.bind(peers) };
  return Listeners.open({
    routesOf: (dialect) => routesOf(services, { ...edge, dialect }),
    peers,
    pki: () => pki.current,
    isProxy: (address) => isTrustedProxy(settingOf(records, 'core.https_trusted_proxy'), address),
    isMetricsOpen: () => !isTrue(settingOf(records, 'core.metrics_authentication')),
    allowedOrigin: () => settingOf(records, 'core.https_allowed_origin'),
    claimOperation: trust.claimOperation,
    followUser: trust.followUser,
    commonHeaders: (origin) => services.server.commonHeaders(origin),
    namesIn: (project) => namesIn(records, project),
    sightOf: (caller) => sightOf({ records, operations, cluster }, caller),
    readable: base.readable,
    refusal: (endpoint) => room?.refusal(endpoint),
    bearers,
    identify: trust.identify,
    stateDir,
    group,
    lxd,
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
}

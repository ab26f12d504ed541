// Server, resources and root endpoints: requests to use cases and back.
import { Readable } from 'node:stream';
import type { OidcSettings } from '../../auth/oidc/settings.ts';
import type { ServerMetrics } from '../../services/server/metrics.ts';
import { metricsContentType } from '../../services/server/metrics-text.ts';
import type { Recovery } from '../../services/recovery/recovery.ts';
import { readResources } from '../../services/server/resources.ts';
import type { ServerSettings } from '../../services/server/server.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { doneAfter, type RouteTable, sync } from '../route.ts';

/** Tell a client without a token where to get one. LXD's names. */
function issuerHeaders(oidc: OidcSettings | undefined, prefix: string): Readonly<Record<string, string>> {
  if (oidc === undefined) return {};
  const audience = oidc.requestedAudience === '' ? {} : { [`${prefix}oidc-audience`]: oidc.requestedAudience };
  return { [`${prefix}oidc-issuer`]: oidc.issuer, [`${prefix}oidc-clientid`]: oidc.clientId, ...audience };
}

/** `dialect`: the clients' dialect. */
export function serverRoutes(
  {
    server,
    metrics,
    recovery,
  }: { readonly server: ServerSettings; readonly metrics: ServerMetrics; readonly recovery: Recovery },
  { name: dialect, headerPrefix }: Pick<Dialect, 'name' | 'headerPrefix'>,
) {
  return {
    'root.get': () => sync(['/1.0']),
    'server.gc': () => sync({}),
    'server.get': async ({ caller }) => {
      const { object, etag } = await server.get(caller, dialect);
      return { ...sync(object, etag), headers: issuerHeaders(server.oidc(), headerPrefix) };
    },
    'server.put': ({ caller, body, ifMatch }) => doneAfter(server.change(caller, dialect, 'put', body, ifMatch)),
    'server.patch': ({ caller, body, ifMatch }) => doneAfter(server.change(caller, dialect, 'patch', body, ifMatch)),
    'metrics.get': async ({ caller, query }) => {
      const text = await metrics.text(caller, query.project || undefined);
      return { kind: 'stream', headers: { 'content-type': metricsContentType }, stream: Readable.from([text]) };
    },
    'recovery.run': async ({ caller, body }) => sync(await recovery.recover(caller, body)),
    'resources.get': async () => sync(await readResources()),
  } satisfies Partial<RouteTable>;
}

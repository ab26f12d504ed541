// Decides whether two settings reach the same server: by address, else by the identity that the servers report. Pure.
import type { Server } from '../../server/api/server/server.ts';
import { parseEndpoints, renderEndpoint } from '../../server/client/transport/host-endpoint.ts';

/** True if both share an endpoint; addresses separated by commas belong to one cluster. */
export function sharesAddress(one: string | null, other: string | null): boolean {
  const others = endpointsIn(other);
  return endpointsIn(one).some((endpoint) => others.includes(endpoint));
}

/** Ignores a malformed address, which its own connection reports. */
function endpointsIn(address: string | null): readonly string[] {
  try {
    return address === null ? [] : parseEndpoints(address).map(renderEndpoint);
  } catch {
    return [];
  }
}

/** A text that is equal for answers of one server, and of members of one cluster, which have the same objects. */
export function identityOf({ environment }: Server): string {
  const { certificate_fingerprint: certificate, server_clustered: isClustered, server_name: name } = environment;
  return JSON.stringify([certificate, isClustered ? null : name]);
}

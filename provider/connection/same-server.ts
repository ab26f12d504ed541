// Whether two settings reach the same server: by their addresses, else by what the servers say of themselves. Pure.
import type { Server } from '../../server/api/server/server.ts';
import { parseEndpoints, renderEndpoint } from '../../server/client/transport/host-endpoint.ts';

/** True when one endpoint is in both: addresses with commas between belong to one cluster. */
export function sharesAddress(one: string | null, other: string | null): boolean {
  const others = endpointsIn(other);
  return endpointsIn(one).some((endpoint) => others.includes(endpoint));
}

/** Throws nothing: an address that is not understood is an error of its own connection. */
function endpointsIn(address: string | null): readonly string[] {
  try {
    return address === null ? [] : parseEndpoints(address).map(renderEndpoint);
  } catch {
    return [];
  }
}

/** Equal texts for answers of one server, or of members of one cluster, which have the same objects. */
export function identityOf({ environment }: Server): string {
  const { certificate_fingerprint: certificate, server_clustered: isClustered, server_name: name } = environment;
  return JSON.stringify([certificate, isClustered ? null : name]);
}

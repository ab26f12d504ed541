// Connections of the sets of a tenant that has its own certificate, restricted to its project: what these sets would do elsewhere, the
// host itself refuses.
import { isDeepStrictEqual } from 'node:util';
import { ClientError } from '../../../server/client/client-error.ts';
import type { Client } from '../../../server/client/client.ts';
import { parseEndpoints } from '../../../server/client/transport/host-endpoint.ts';
import { withLimit } from '../../../server/lib/shared/deadline.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { Tenant } from '../tenancy/tenant.ts';
import { connectTo, HostLink, type LinkDeps } from './host-link.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** The certificate gives the tenant more rights than it should, or fewer. */
export class TenantCertificateError extends Error {
  override readonly name = 'TenantCertificateError';
}

export class TenantLinks {
  readonly #links = new Map<string, HostLink>();
  /** Includes replaced connections until no set uses them. */
  readonly #open = new Set<HostLink>();
  readonly #deps: (tenant: Tenant) => LinkDeps;

  constructor(deps: (tenant: Tenant) => LinkDeps) {
    this.#deps = deps;
  }

  /** The connection of the tenant to this host; a new one when the address or the certificates have changed. */
  of(host: Host, tenant: Tenant): HostLink {
    const own = hostOf(host, tenant);
    const key = `${tenant.name} ${host.name}`;
    const found = this.#links.get(key);
    if (found !== undefined && isDeepStrictEqual(connectionOf(found.host), connectionOf(own))) {
      if (!isDeepStrictEqual(found.host, own)) found.describe(own);
      return found;
    }
    const deps = this.#deps(tenant);
    const check = (client: Client, signal: AbortSignal) => checkRestriction(client, own, tenant.name, signal);
    const connect = () => connectRestricted(own, tenant.name, deps.parallelism);
    const link = new HostLink(own, { ...deps, connect, check });
    this.#links.set(key, link);
    this.#open.add(link);
    return link;
  }

  get all(): readonly HostLink[] {
    return [...this.#open];
  }

  /** Removes the connections that no set uses, and returns them. */
  keepOnly(used: ReadonlySet<HostLink>): readonly HostLink[] {
    const unused = this.all.filter((link) => !used.has(link));
    for (const link of unused) this.#open.delete(link);
    for (const [key, link] of this.#links) if (!used.has(link)) this.#links.delete(key);
    return unused;
  }
}

const hostOf = (host: Host, { certificate, projects }: Tenant): Host => ({
  ...host,
  ...(certificate === undefined ? {} : { clientCert: certificate.cert, clientKey: certificate.key }),
  ...withoutUndefined({ project: projects[0] }),
});

const connectionOf = ({ vars: _vars, labels: _labels, groups: _groups, ...connection }: Host): object => connection;

async function connectRestricted(host: Host, tenant: string, parallelism: number): Promise<Client> {
  if (parseEndpoints(host.address)[0].kind === 'unix')
    throw new TenantCertificateError(
      `${host.name} is reached by its socket, which asks for no certificate of the tenant ${tenant}: give it an https address`,
    );
  const client = await connectTo(host, parallelism);
  try {
    await checkRestriction(client, host, tenant, undefined);
    return client;
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** The host knows the certificate, and lets it into no other project. */
async function checkRestriction(
  client: Client,
  { name, project = '' }: Host,
  tenant: string,
  stop: AbortSignal | undefined,
): Promise<void> {
  const signal = withLimit(stop, checkMs);
  const remedy = `add it there with gantry trust add ${tenant} --restricted --projects ${project}`;
  const { metadata } = await client.server(signal);
  if (metadata.auth !== 'trusted')
    throw new TenantCertificateError(`${name} does not trust the certificate of the tenant ${tenant}: ${remedy}`);
  const others = (await client.list('project', signal)).map((one) => one.name).filter((one) => one !== project);
  const isAll = await seesOpenCertificates(client, signal);
  if (!isAll && others.length === 0) return;
  const where = isAll ? 'all of the host' : others.join(', ');
  throw new TenantCertificateError(
    `the certificate of the tenant ${tenant} reaches ${where} on ${name}, and nothing is changed with it: take it away there, and ${remedy}`,
  );
}

/** Restricted clients see none of these. */
const seesOpenCertificates = (client: Client, signal: AbortSignal): Promise<boolean> =>
  client.list('certificate', signal).then(
    (found) => found.some(({ restricted }) => !restricted),
    (error: unknown) => {
      if (error instanceof ClientError && error.status === 403) return false;
      throw error;
    },
  );

const checkMs = 30_000;

// A client whose certificate is restricted to some projects: adds the certificate to an existing server, and returns gantry's
// connection flags.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestDaemon } from '../daemons/daemon.ts';
import { makeClient } from '../daemons/tls.ts';

export interface Tenant {
  /** Without a project. `address`: `127.0.0.1:8443`. */
  flags(address: string): readonly string[];
  readonly cert: string;
  readonly key: string;
  remove(): void;
}

/** `serverCert`: file of the server's certificate. */
export async function makeTenant(
  server: Pick<TestDaemon, 'call'>,
  serverCert: string,
  projects: readonly string[],
): Promise<Tenant> {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gttn-'));
  const { certPem, keyPem } = await makeClient('tenant');
  writeFileSync(join(dir, 'tenant.crt'), certPem);
  writeFileSync(join(dir, 'tenant.key'), keyPem, { mode: 0o600 });
  const certificate = new X509Certificate(certPem).raw.toString('base64');
  const body = { type: 'client', name: 'tenant', certificate, restricted: true, projects };
  const added = await server.call('POST', '/1.0/certificates', body);
  if (added.status >= 300) throw new Error(`adding the certificate failed: ${added.bytes.toString()}`);
  const [cert, key] = [join(dir, 'tenant.crt'), join(dir, 'tenant.key')];
  const files = ['--client-cert', cert, '--client-key', key];
  return {
    cert,
    key,
    flags: (address) => ['--host', `https://${address}`, '--server-cert', serverCert, ...files],
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

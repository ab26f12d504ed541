// Terraform with this provider over a cluster of simulated hosts, by the addresses of all members.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCluster, type TestMember } from '../cluster/members.ts';
import { makeClient } from '../daemons/tls.ts';
import { serveHere, Terraform } from './terraform.ts';

export interface TerraformOverCluster {
  readonly terraform: Terraform;
  readonly members: readonly TestMember[];
  /** Writes the configuration, with the provider block before it. */
  write(hcl: string): void;
  cleanUp(): Promise<void>;
}

export async function terraformOverCluster(count: number): Promise<TerraformOverCluster> {
  const attached = await serveHere();
  const terraform = new Terraform(attached);
  const cluster = await makeCluster(count);
  const { members } = cluster;
  const me = await makeClient('terraform');
  const certificate = me.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
  await members[0]?.call('POST', '/1.0/certificates', { type: 'client', certificate, name: 'terraform' });
  const server = await members[0]?.get('/1.0');
  const file = (name: string, text: string): string => {
    const path = join(terraform.dir, name);
    writeFileSync(path, text);
    return path;
  };
  const provider = `provider "gantry" {
  address                 = "${members.map(({ address }) => `https://${address}`).join(',')}"
  server_certificate      = "${String(server?.environment.certificate_fingerprint)}"
  client_certificate_file = "${file('me.crt', me.certPem)}"
  client_key_file         = "${file('me.key', me.keyPem)}"
}
`;
  return {
    terraform,
    members,
    write: (hcl) => terraform.write(`${provider}${hcl}`),
    async cleanUp() {
      attached.stop();
      await cluster.cleanUp();
    },
  };
}

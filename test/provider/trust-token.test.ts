// A trust token in the provider block with real Terraform, against a daemon on the simulation that listens with TLS.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeTrustToken } from '../../server/api/server/trust-token.ts';
import { makeDaemon, type TestDaemon } from '../support/daemons/daemon.ts';
import { makeClient } from '../support/daemons/tls.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../support/terraform/terraform.ts';

const missing = terraformMissing('trust tokens with Terraform');

describe.skipIf(missing !== undefined)('a provider with a trust token', () => {
  let daemon: TestDaemon;
  let attached: Attached;
  let run: Terraform;
  beforeAll(async () => {
    daemon = await makeDaemon({ https: '127.0.0.1:0' });
    attached = await serveHere();
    run = new Terraform(attached);
  });
  afterAll(async () => {
    attached?.stop();
    await daemon?.cleanUp();
  });

  async function be(name: string): Promise<void> {
    const { certPem, keyPem } = await makeClient(name);
    writeFileSync(join(run.dir, 'client.crt'), certPem);
    writeFileSync(join(run.dir, 'client.key'), keyPem);
  }

  test('A trust token adds the client certificate once, accepts only the server that made it, and may stay', async () => {
    const address = `https://${daemon.daemon.httpsAddress() ?? ''}`;
    await be('ci');
    const made = await daemon.call('POST', '/1.0/certificates', { type: 'client', name: 'ci', token: true });
    const { secret, fingerprint } = made.body.metadata.metadata as { secret: string; fingerprint: string };
    const token = (pin: string): string =>
      encodeTrustToken({ client_name: 'ci', fingerprint: pin, addresses: ['127.0.0.1:1'], secret });
    const files = `  client_certificate_file = "${run.dir}/client.crt"\n  client_key_file = "${run.dir}/client.key"\n`;
    const provider = (more: string): string =>
      `provider "gantry" {\n  address = "${address}"\n${more}}\ndata "gantry_server" "s" {}\n`;
    const using = (text: string): string => provider(`${files}  trust_token = "${text}"\n`);
    run.write(using(token('0'.repeat(64))));
    expect(await run.fails('plan')).toMatch(/its fingerprint is [0-9a-f ]+, expected 0000/);
    run.write(using(token(fingerprint)));
    await run.settle();
    expect(await daemon.get('/1.0/certificates')).toHaveLength(1);
    // The token was valid once.
    await be('other');
    const said = await run.fails('plan');
    expect(said).toContain('The daemon cannot be used');
    expect(said).not.toContain(secret);
  });
});

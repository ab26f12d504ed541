// The provider with OpenID Connect and real Terraform: with the file of `gantry login`, and with a configured token.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { audience, startIssuer, type TestIssuer } from '../../support/daemons/issuer.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { serveHere, Terraform, terraformMissing, type Attached } from '../../support/terraform/terraform.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = terraformMissing('tokens of the provider');

describe.skipIf(missing !== undefined)('a provider with a token', () => {
  let daemon: TestDaemon;
  let issuer: TestIssuer;
  let attached: Attached;
  let terraform: Terraform;
  const home = tempFolder('gttl-');
  let host = '';
  let pin = '';
  beforeAll(async () => {
    [issuer, daemon, attached] = await Promise.all([
      startIssuer('ES256'),
      makeDaemon({ https: '127.0.0.1:0' }),
      serveHere(),
    ]);
    await makeProject(daemon, 'red');
    const groups = { 'oidc.groups.trusted': 'ops', 'oidc.groups.projects.team': 'red' };
    const config = { 'oidc.issuer': issuer.url, 'oidc.client.id': audience, ...groups };
    expect((await daemon.call('PATCH', '/1.0', { config })).status).toBe(200);
    host = `https://${daemon.daemon.httpsAddress()}`;
    pin = (await daemon.get('/1.0')).environment.certificate_fingerprint;
    terraform = new Terraform(attached);
  });
  afterAll(async () => {
    attached.stop();
    await daemon.cleanUp();
    await issuer.close();
  });
  const write = (settings: string, value: string, more = ''): void =>
    terraform.write(
      `provider "gantry" {\n  address = "${host}"\n  ${settings}\n}\n${more}resource "gantry_profile" "p" {\n  name = "web"\n  config = { "user.a" = "${value}" }\n}\n`,
    );

  test('uses the login that gantry keeps, with its server certificate', async () => {
    issuer.claims = { groups: ['ops'], email: 'ann@example.com' };
    const onStderr = (text: string): void => void (text.includes('WDJB-MJHT') && (issuer.decision = 'allow'));
    const done = await cli(['login', host, '--server-cert', pin], { env: { XDG_CONFIG_HOME: home }, onStderr });
    expect(done.code, done.stderr).toBe(0);
    const logins = join(home, 'gantry', 'logins');
    const file = join(logins, readdirSync(logins)[0] ?? '');
    write(`token_file = ${JSON.stringify(file)}`, 'one');
    expect(await terraform.apply()).toContain('1 added');
    await terraform.expectNoChanges();
    const { access_token: token } = JSON.parse(readFileSync(file, 'utf8')) as { access_token: string };
    expect(readFileSync(join(terraform.dir, 'terraform.tfstate'), 'utf8')).not.toContain(token);
    await terraform.destroy();
  });

  test('uses a token from a variable in the projects of its user, and reports why another user is refused', async () => {
    const variable = 'variable "token" {\n  sensitive = true\n}\n';
    write(`token = var.token\n  server_certificate = "${pin}"\n  project = "red"`, 'two', variable);
    const of = async (group: string): Promise<string> => `-var=token=${await issuer.token({ groups: [group] })}`;
    expect(await terraform.apply(await of('team'))).toContain('1 added');
    expect((await daemon.get('/1.0/profiles/web?project=red')).config).toEqual({ 'user.a': 'two' });
    const refused = await terraform.run(['plan', '-input=false', await of('guests')]);
    expect(refused.code).toBe(1);
    expect(refused.output.replaceAll(/\s*│?\s+/g, ' ')).toContain(
      'must name a group of its user in oidc.groups.trusted',
    );
    await terraform.destroy(await of('team'));
  });
});

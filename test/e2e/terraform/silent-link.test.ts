// A link that freezes in the middle of an apply: connections stay open and carry nothing. The apply ends with a message.
import { createServer, connect, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { terraformMissing } from '../../support/terraform/terraform.ts';
import { useTerraform, type TerraformWorld } from '../../support/terraform/world.ts';

const missing = terraformMissing('a link that freezes');

/** Forwards to `target` until `isFrozen()`. */
function frozenProxy(path: string, target: string, isFrozen: () => boolean): Server {
  const carry = (from: Socket, to: Socket): void => {
    from.on('data', (chunk: Buffer) => void (isFrozen() || to.write(chunk)));
    from.on('close', () => to.destroy());
    from.on('error', () => to.destroy());
  };
  return createServer((client) => {
    const server = connect(target);
    carry(client, server);
    carry(server, client);
  }).listen(path);
}

describe.skipIf(missing !== undefined)('an apply over a link that freezes', () => {
  let world: TerraformWorld;
  useTerraform((own) => (world = own));

  test('An apply fails after request_timeout without a byte, and names the request', async () => {
    const { terraform, daemon } = world;
    const path = join(terraform.dir, 'link.socket');
    let isFrozen = false;
    const proxy = frozenProxy(path, daemon.socketPath, () => isFrozen);
    onTestFinished(() => void proxy.close());
    const block = `provider "gantry" {\n  address = "unix://${path}"\n  request_timeout = "2s"\n}\n`;
    terraform.write(`${block}resource "gantry_profile" "p" {\n  name = "p"\n}\n`);
    await terraform.apply();
    isFrozen = true;
    const started = Date.now();
    const said = await terraform.fails('apply', '-auto-approve');
    expect(said).toMatch(/the server sent nothing for 2000 ms|no answer in/);
    // The limit applies to each request, plus time for Terraform to start on a busy machine.
    expect(Date.now() - started).toBeLessThan(60_000);
    terraform.write(block.replace('2s', 'soon'));
    expect(await terraform.fails('plan')).toContain('must be a duration such as 90s');
  });
});

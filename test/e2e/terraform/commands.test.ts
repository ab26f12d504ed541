// Commands, power and waits of gantry_container on the simulation: when commands run, their results in the state, and imports.
import { describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { webContainer } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and commands in containers');

describe.skipIf(missing !== undefined)('a container', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  useTerraform((world) => ({ daemon, terraform } = world));

  const container = webContainer;
  const commands = (running: boolean, more = ''): string =>
    container(`running = ${running}
  exec = {
    create = { command = ["echo", "create"], on = "create", record_output = true }
    change = { command = ["echo", "change"], on = "change", record_output = true }
    start  = { command = ["echo", "start"], on = "start", record_output = true }
    off    = { command = ["false"], enabled = false }
    silent = { command = ["echo", "secret"] }
  }
  ${more}`);
  // oxlint-disable-next-line typescript/no-explicit-any -- values of a state
  const execs = (): any => terraform.state('gantry_container.c').exec;
  test('A container that is created stopped runs its commands at its first start, those of create only once', async () => {
    terraform.write(commands(false));
    await terraform.settle();
    expect(execs()).toMatchObject({ create: { exit_code: null }, change: { exit_code: null } });
    terraform.write(commands(true));
    await terraform.settle();
    expect(execs()).toMatchObject({
      create: { exit_code: 0, stdout: 'create\n' },
      change: { exit_code: 0, stdout: 'change\n' },
      start: { exit_code: 0, stdout: 'start\n' },
      off: { exit_code: null, stdout: null },
      silent: { exit_code: 0, stdout: null, stderr: null },
    });
    // Disabled and enabled again: nothing runs twice.
    terraform.write(commands(true).replace('["echo", "create"], on', '["echo", "again"], on'));
    await terraform.settle();
    expect(execs().create.stdout).toBe('create\n');
  });

  test('A start by Terraform updates the results of the commands of that start', async () => {
    const dated = (running: boolean): string =>
      container(`running = ${running}
  exec = { seen = { command = ["cat", "/seen"], on = "start", fail_on_error = false, record_output = true } }`);
    terraform.write(dated(true));
    await terraform.apply();
    terraform.write(dated(false));
    await terraform.apply();
    terraform.write(dated(true));
    const { output } = await terraform.plan();
    expect(output).toMatch(/exit_code\s+= \S+ -> \(known after apply\)/);
    await terraform.settle();
    // Stopped outside Terraform, and started by the next apply.
    await daemon.ok('PUT', '/1.0/containers/web/state', { action: 'stop', force: true });
    const written = await daemon.call('POST', '/1.0/containers/web/files?path=/seen', 'seen at this start');
    expect(written.status).toBe(200);
    await terraform.settle();
    expect(execs().seen.stdout).toContain('seen at this start');
  });

  test('An imported container runs none of its commands, now or at a later start, except those of each start', async () => {
    terraform.write(commands(true));
    await terraform.apply();
    await terraform.forget('gantry_container.c');
    await terraform.import('gantry_container.c', 'web');
    const said = await terraform.apply();
    expect(said).toContain('The commands of web were not run');
    expect(said).toContain('change, create, off, silent, start');
    expect(said.replaceAll(/\s+/g, ' ')).toContain('runs when it changes (on = change)');
    await terraform.expectNoChanges();
    for (const name of ['create', 'change', 'start']) expect(execs()[name].exit_code, name).toBeNull();
    terraform.write(commands(false));
    await terraform.apply();
    terraform.write(commands(true));
    await terraform.settle();
    expect(execs()).toMatchObject({
      create: { exit_code: null },
      change: { exit_code: null },
      start: { exit_code: 0, stdout: 'start\n' },
    });
    terraform.write(commands(true).replace('"change"], on', '"other"], on'));
    await terraform.settle();
    expect(execs().change.stdout).toBe('other\n');
  });

  test('A frozen container is a difference, whether it should run or not', async () => {
    terraform.write(container(''));
    await terraform.apply();
    const freeze = (): Promise<unknown> => daemon.ok('PUT', '/1.0/containers/web/state', { action: 'freeze' });
    await freeze();
    expect((await terraform.plan()).changes).toBe(true);
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/web')).status).toBe('Running');
    await freeze();
    await terraform.apply('-refresh-only');
    expect((await terraform.plan('-refresh-only')).changes).toBe(false);
    terraform.write(container('running = false'));
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/web')).status).toBe('Stopped');
    await daemon.ok('PUT', '/1.0/containers/web/state', { action: 'start' });
    await freeze();
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/web')).status).toBe('Stopped');
    terraform.write(container('running = true\n  config = { "user.x" = "1" }'));
    await terraform.apply();
    await freeze();
    terraform.write(container('running = true\n  config = { "limits.kernel.nofile" = "1024" }'));
    await terraform.settle();
    expect((await daemon.get('/1.0/containers/web')).status).toBe('Running');
    await freeze();
    await terraform.destroy();
  });

  test('A new container has the address from its network in the state, and a wait without its value is refused', async () => {
    const net = (more = ''): string => `
resource "gantry_network" "n" {
  name   = "addr0"
  config = { "ipv4.address" = "10.77.0.1/24", "ipv6.address" = "none" }
}
${container(more).replace(
  'devices      = {',
  'devices      = {\n    eth0 = { type = "nic", nictype = "bridged", parent = gantry_network.n.name, name = "eth0" }\n   ',
)}
output "address" {
  value = gantry_container.c.ipv4_address
}
`;
    terraform.write(net());
    await terraform.settle();
    expect(terraform.outputs()['address']).toMatch(/^10\.77\.0\./);
    terraform.write(net('wait_for = [{ type = "delay", delay = "1s" }, { type = "ipv4" }]'));
    await terraform.apply('-replace=gantry_container.c');
    await terraform.expectNoChanges();
    terraform.write(net('wait_for = [{ type = "delay" }]'));
    expect(await terraform.fails('plan')).toContain('The delay to wait for is missing');
  });
});

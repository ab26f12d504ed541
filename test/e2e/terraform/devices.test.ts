// Devices of containers that are separate Terraform resources, in addition to those that the resource of the container declares.
import { afterEach, describe, expect, test } from 'vitest';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { fastPool } from '../../support/terraform/blocks.ts';
import { terraformMissing, type Terraform } from '../../support/terraform/terraform.ts';
import { useTerraform } from '../../support/terraform/world.ts';

const missing = terraformMissing('Terraform and devices of their own');
const key = 'user.gantry.terraform.devices';

/** Repeats an action in parallel with the test. */
function meanwhile(act: (count: number) => Promise<void>): { stop(): Promise<void> } {
  const over = new AbortController();
  const running = (async () => {
    for (let count = 0; !over.signal.aborted; count += 1) {
      await act(count);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    stop: () => {
      over.abort();
      return running;
    },
  };
}

describe.skipIf(missing !== undefined)('a gantry_container_device', () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  let stop = (): Promise<unknown> => Promise.resolve();
  useTerraform((world) => ({ daemon, terraform } = world));
  afterEach(() => stop());

  const container = (more = '', devices = ''): string => `
${fastPool}resource "gantry_container" "c" {
  name         = "web"
  stop_timeout = 0
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name }
    ${devices}
  }
  ${more}
}
output "devices" {
  value = gantry_container.c.expanded_devices
}
`;
  const device = (label: string, port: number, more = ''): string => `
resource "gantry_container_device" "${label}" {
  container  = gantry_container.c.name
  name       = "${label}"
  type       = "proxy"
  properties = { listen = "tcp:127.0.0.1:${port}", connect = "tcp:127.0.0.1:80" }
  ${more}
}
`;
  const many = (count: number, from: number): string => `
resource "gantry_container_device" "many" {
  for_each   = toset([for n in range(${count}) : tostring(n)])
  container  = "web"
  name       = "p\${each.key}"
  type       = "proxy"
  properties = { listen = "tcp:127.0.0.1:\${${from} + each.key}", connect = "tcp:127.0.0.1:80" }
}
`;
  const web = async (name = 'web') => {
    const { config, devices, description, status } = await daemon.get(`/1.0/containers/${name}`);
    return { description, status, devices, note: config[key] };
  };
  const proxy = (port: number) => ({ type: 'proxy', listen: `tcp:127.0.0.1:${port}`, connect: 'tcp:127.0.0.1:80' });
  const settled = async (hcl: string): Promise<string> => {
    terraform.write(hcl);
    return terraform.settle();
  };
  const applied = async (hcl: string): Promise<string> => {
    terraform.write(hcl);
    return terraform.apply();
  };

  test('A device is added, changed and removed while its container runs, which shows no change of its own', async () => {
    expect(await settled(container() + device('http', 18_080))).toContain('3 added');
    expect(await web()).toMatchObject({ status: 'Running', devices: { http: proxy(18_080) }, note: '["http"]' });
    expect(Object.keys(terraform.state('gantry_container.c').devices)).toEqual(['root']);
    expect(await settled(container() + device('http', 18_081))).toContain('0 added, 1 changed, 0 destroyed');
    expect((await web()).devices.http).toEqual(proxy(18_081));
    const both = container('description = "x"') + device('http', 18_082) + device('https', 18_083);
    expect(await settled(both)).toContain('1 added, 2 changed, 0 destroyed');
    expect(await web()).toMatchObject({ description: 'x', note: '["http","https"]' });
    expect(await settled(container('description = "y"') + device('https', 18_083))).toContain('1 changed, 1 destroyed');
    expect(Object.keys((await web()).devices).toSorted()).toEqual(['https', 'root']);
    await settled(container('description = "y"'));
    expect(await web()).toMatchObject({ description: 'y', note: undefined });
    expect(Object.keys((await web()).devices)).toEqual(['root']);
  });

  test('A device that someone removed or changed is restored, also after its container was deleted', async () => {
    const all = container() + device('http', 18_084);
    await applied(all);
    const live = await daemon.get('/1.0/containers/web');
    const put = (http: object): Promise<unknown> =>
      daemon.call('PUT', '/1.0/containers/web', { ...live, devices: { root: live.devices.root, ...http } });
    await put({});
    expect(await applied(all)).toContain('1 added, 0 changed, 0 destroyed');
    await put({ http: proxy(18_085) });
    expect(await settled(all)).toContain('0 added, 1 changed, 0 destroyed');
    expect((await web()).devices.http).toEqual(proxy(18_084));
    await daemon.call('PUT', '/1.0/containers/web/state', { action: 'stop', timeout: 1, force: true });
    await daemon.call('DELETE', '/1.0/containers/web');
    expect(await applied(all)).toContain('2 added');
    expect((await web()).devices.http).toEqual(proxy(18_084));
  });

  test('A device that its container also declares is refused, whichever came first', async () => {
    const declared = 'http = { type = "proxy", listen = "tcp:127.0.0.1:18086", connect = "tcp:127.0.0.1:80" }';
    terraform.write(container('', declared) + device('http', 18_086));
    const second = await terraform.fails('apply', '-auto-approve', '-input=false');
    expect(second).toContain('The container web already has a device http');
    expect(second).toContain('remove it from devices of the gantry_container web');
    await applied(container('', declared));
    // One apply moves the device to the other resource: the container is first, since the device refers to it.
    await applied(container() + device('http', 18_086));
    terraform.write(container('', declared) + device('http', 18_086));
    const first = await terraform.fails('plan', '-input=false');
    expect(first).toContain('The device http of the container web is declared twice');
    expect(first).toContain('remove the gantry_container_device from the configuration');
    terraform.write(container(`config = { "${key}" = "[]" }`) + device('http', 18_086));
    expect(await terraform.fails('plan', '-input=false')).toContain('is reserved for notes of this provider');
    await settled(container() + device('http', 18_086));
  });

  test('A device is imported by container/name, also from a container whose import lists it', async () => {
    const all = container() + device('http', 18_087);
    await applied(all);
    await terraform.forget('gantry_container.c', 'gantry_container_device.http');
    await daemon.call('PATCH', '/1.0/containers/web', { config: { [key]: '' } });
    await terraform.import('gantry_container.c', 'web');
    expect(Object.keys(terraform.state('gantry_container.c').devices)).toEqual(['http', 'root']);
    await terraform.import('gantry_container_device.http', 'default/web/http');
    expect(terraform.state('gantry_container_device.http')).toMatchObject({
      container: 'web',
      type: 'proxy',
      properties: { listen: 'tcp:127.0.0.1:18087' },
      noted: false,
    });
    await settled(all);
    expect(await web()).toMatchObject({ devices: { http: proxy(18_087) }, note: '["http"]' });
    // The device stays: the container leaves its devices as they are, until the key lists this one.
    await terraform.forget('gantry_container.c', 'gantry_container_device.http');
    await daemon.call('PATCH', '/1.0/containers/web', { config: { [key]: '' } });
    await terraform.import('gantry_container.c', 'web');
    await terraform.import('gantry_container_device.http', 'web/http');
    terraform.write(container('lifecycle {\n    ignore_changes = [devices]\n  }') + device('http', 18_087));
    const { output } = await terraform.plan('-out=kept');
    expect(output).not.toMatch(/- *"?http"? +=/);
    await terraform.apply('kept');
    terraform.write(all);
    // The container was not written before, so only now its state leaves out the device.
    expect(await terraform.apply()).toContain('0 added, 0 changed, 0 destroyed');
    await terraform.expectNoChanges();
    await terraform.forget('gantry_container_device.http');
    await terraform.import('gantry_container_device.http', 'web/http,project=default');
    expect(terraform.state('gantry_container_device.http')).toMatchObject({ noted: true, project: 'default' });
    expect(await settled(all)).toContain('0 added, 0 changed, 0 destroyed');
    expect(await terraform.fails('import', 'gantry_container_device.http', 'web')).toContain(
      'It must be [project/]container/name',
    );
  });

  test('A device follows a renamed container, is added to a replacement, and stays out of copies', async () => {
    const again = 'lifecycle {\n    replace_triggered_by = [gantry_container.c.created_at]\n  }';
    const all = (name: string, more = ''): string =>
      (container(more) + device('http', 18_088, again)).replace('"web"', `"${name}"`);
    await applied(all('web'));
    expect(await applied(all('shop'))).toContain('0 added, 2 changed, 0 destroyed');
    expect(await web('shop')).toMatchObject({ status: 'Running', devices: { http: proxy(18_088) } });
    const copy = `
resource "gantry_container" "b" {
  name     = "copy"
  running  = false
  profiles = []
  source   = { type = "copy", source = gantry_container.c.name }
  devices  = gantry_container.c.devices
  depends_on = [gantry_container_device.http]
}
`;
    await settled(all('shop') + copy);
    expect(Object.keys((await web('copy')).devices)).toEqual(['root']);
    expect((await web('copy')).note).toBeUndefined();
    await applied(all('shop'));
    terraform.write(all('shop'));
    expect(await terraform.apply('-replace=gantry_container.c')).toContain('2 added, 0 changed, 2 destroyed');
    await terraform.expectNoChanges();
    expect((await web('shop')).devices.http).toEqual(proxy(18_088));
  });

  test('A device changes in one apply together with its container and many others', async () => {
    await applied(container());
    expect(await applied(container('description = "x"') + many(12, 18_100))).toContain('12 added, 1 changed');
    await settled(container('description = "y"') + many(9, 18_200));
    const { devices, description, note } = await web();
    expect(Object.keys(devices).toSorted()).toEqual(['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'root']);
    expect(devices.p8).toEqual(proxy(18_208));
    expect(JSON.parse(note)).toHaveLength(9);
    expect(description).toBe('y');
  });

  test('A device is written again when someone else changes the container meanwhile', async () => {
    await applied(container());
    terraform.write(many(4, 18_300));
    await terraform.forget('gantry_container.c', 'gantry_storage_pool.p');
    const counts: number[] = [];
    const strangers = meanwhile(async (count) => {
      await daemon.call('PATCH', '/1.0/containers/web', { config: { 'user.stranger': String(count) } });
      counts.push(count);
    });
    stop = () => strangers.stop();
    await terraform.apply();
    terraform.write(many(4, 18_400));
    await terraform.apply();
    await strangers.stop();
    await terraform.expectNoChanges();
    expect((await web()).devices.p3).toEqual(proxy(18_403));
    expect((await daemon.get('/1.0/containers/web')).config['user.stranger']).toBe(String(counts.at(-1)));
  });

  test('A wrong device is refused by the plan, with the place of the error', async () => {
    await applied(container());
    const wrong = (label: string, from: string, to: string): string => device(label, 18_089).replace(from, to);
    terraform.write(
      container() +
        wrong('type', '"proxy"', '"prxy"') +
        wrong('property', 'connect', 'conect') +
        wrong('both', '{ listen', '{ type = "proxy", listen'),
    );
    const said = await terraform.fails('plan', '-input=false');
    expect(said).toContain('Invalid device type');
    expect(said).toMatch(/conect is not a property of proxy devices/);
    expect(said).toContain('Set the attribute type instead');
  });
});

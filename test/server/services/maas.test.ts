// Addresses of containers reserved with a MAAS server (maas.subnet.ipv4, maas.subnet.ipv6), against a stand-in that refuses what MAAS refuses.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { StorageDriver } from '../../../server/drivers/storage/driver.ts';
import { type Answer, type Json, seed, type TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { useGantryd } from '../../support/daemons/killed-gantryd.ts';
import type { Gantryd } from '../../support/daemons/gantryd.ts';
import { startMaas, type StandIn } from '../../support/drivers/maas-server.ts';
import { until } from '../../support/until.ts';

let maas: StandIn;
beforeEach(async () => (maas = await startMaas()));
afterEach(() => maas.close());

const configOf = ({ url, key }: StandIn): object => ({
  'maas.api.url': url,
  'maas.api.key': key,
  'maas.machine': 'box',
});
const mac = (last: number): string => `00:16:3e:77:00:${last.toString(16).padStart(2, '0')}`;
const nic = (last: number, more: object): object => ({
  type: 'nic',
  nictype: 'bridged',
  parent: 'br9',
  name: 'eth0',
  hwaddr: mac(last),
  ...more,
});
const lan = { 'maas.subnet.ipv4': 'lan' };
const body = (name: string, devices: object = {}, more: object = {}): object => ({
  name,
  source: { type: 'none' },
  devices,
  ...more,
});

describe('over the API', () => {
  let daemon: TestDaemon;
  useDaemon((given) => void (daemon = given));
  beforeEach(async () => {
    await seed(daemon);
    await configure(configOf(maas));
  });

  const configure = async (config: object): Promise<void> => {
    const answer = await daemon.call('PATCH', '/1.0', { config });
    expect(answer.status, answer.bytes.toString()).toBe(200);
  };
  const create = (name: string, devices: object, more: object = {}): Promise<Json> =>
    daemon.run('POST', '/1.0/containers', body(name, devices, more));
  const patch = (name: string, devices: object): Promise<Answer> =>
    daemon.call('PATCH', `/1.0/containers/${name}`, { devices });

  test('a container has its addresses reserved from its creation to its deletion, chosen by MAAS or fixed', async () => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    const fixed = { 'ipv4.address': '10.77.0.9', 'ipv6.address': 'fd42:77::9', ...lan, 'maas.subnet.ipv6': 'lan6' };
    await daemon.ok(
      'POST',
      '/1.0/containers',
      body('c2', { eth0: nic(2, fixed), eth1: nic(3, { ...lan, name: 'eth1' }) }),
    );
    expect(maas.reservations()).toEqual([
      `c1.maas ${mac(1)} lan=10.77.0.1`,
      `c2.maas ${mac(2)} lan6=fd42:77::9 lan=10.77.0.9`,
      `c2.maas ${mac(3)} lan=10.77.0.2`,
    ]);
    expect([...maas.devices.values()].map(({ parent }) => parent)).toEqual(['m4ch1n', 'm4ch1n']);
    await daemon.ok('DELETE', '/1.0/containers/c2');
    expect(maas.reservations()).toEqual([`c1.maas ${mac(1)} lan=10.77.0.1`]);
  });

  test('a nic that names a network has its addresses reserved in the subnets of that network', async () => {
    const network = { name: 'lan0', config: { 'ipv4.address': '10.77.0.254/24', 'ipv6.address': 'none', ...lan } };
    expect((await daemon.call('POST', '/1.0/networks', network)).status).toBe(200);
    const eth0 = { type: 'nic', network: 'lan0', hwaddr: mac(1) };
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0 }));
    expect(maas.reservations()).toEqual([`c1.maas ${mac(1)} lan=10.77.0.1`]);
    await daemon.ok('DELETE', '/1.0/containers/c1');
    expect((await daemon.call('DELETE', '/1.0/networks/lan0')).status).toBe(202);
  });

  test('a nic without maas.subnet asks MAAS for nothing', async () => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, {}) }));
    await daemon.ok('DELETE', '/1.0/containers/c1');
    expect(maas.changes).toEqual([]);
  });

  test('a changed address, a new nic and a removed nic are changed in MAAS, and the rest keeps its address', async () => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    await daemon.ok('POST', '/1.0/containers', body('c2', { eth0: nic(2, lan) }));
    expect((await patch('c2', { eth1: nic(3, { name: 'eth1', 'maas.subnet.ipv4': 'lab' }) })).status).toBe(200);
    expect((await patch('c1', { eth0: nic(1, { ...lan, 'ipv4.address': '10.77.0.40' }) })).status).toBe(200);
    expect(maas.reservations()).toEqual([
      `c1.maas ${mac(1)} lan=10.77.0.40`,
      `c2.maas ${mac(2)} lan=10.77.0.2`,
      `c2.maas ${mac(3)} lab=10.78.0.1`,
    ]);
    expect((await patch('c2', { eth1: {} })).status).toBe(200);
    expect((await patch('c1', { eth0: nic(1, {}) })).status).toBe(200);
    expect(maas.reservations()).toEqual([`c2.maas ${mac(2)} lan=10.77.0.2`]);
  });

  test('a renamed container keeps its addresses under its new name, and one of another project has a domain of its own', async () => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    await daemon.ok('POST', '/1.0/containers/c1', { name: 'c9' });
    expect(maas.reservations()).toEqual([`c9.maas ${mac(1)} lan=10.77.0.1`]);
    for (const name of ['web', 'db']) {
      const config = { 'features.profiles': 'false', 'features.images': 'false' };
      expect((await daemon.call('POST', '/1.0/projects', { name, config })).status).toBeLessThan(300);
    }
    await daemon.ok('POST', '/1.0/containers?project=web', body('c9', { eth0: nic(2, lan) }));
    expect(maas.reservations()).toContain(`c9.web.maas ${mac(2)} lan=10.77.0.2`);
    const refused = await daemon.run('POST', '/1.0/containers?project=db', body('c9', { eth0: nic(3, lan) }));
    expect(refused.err).toContain('Unable to find domain db.maas');
  });

  test.each([
    ['an unknown subnet', { 'maas.subnet.ipv4': 'nowhere' }, 'MAAS has no subnet named nowhere for the interface eth0'],
    [
      'an address outside of the subnet',
      { ...lan, 'ipv4.address': '10.1.1.1' },
      'IP address is not in the given subnet',
    ],
    ['an address of somebody else', { ...lan, 'ipv4.address': '10.77.0.1' }, '10.77.0.1 is already in use'],
    ['subnets of two VLANs on one interface', { ...lan, 'maas.subnet.ipv6': 'lab' }, 'Select a valid choice'],
  ])('%s is refused, and neither the container nor a reservation is there', async (_what, more, why) => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    const before = maas.reservations();
    const operation = await create('c2', { eth0: nic(2, more) });
    expect(operation.err).toContain(why);
    expect(maas.reservations()).toEqual(before);
    expect((await daemon.call('GET', '/1.0/containers/c2')).status).toBe(404);
    const answer = await patch('c1', { eth0: nic(1, { ...lan, 'ipv4.address': '10.1.1.1' }) });
    expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringContaining('not in the given subnet')]);
    expect((await daemon.get('/1.0/containers/c1')).devices.eth0['ipv4.address']).toBeUndefined();
    expect(maas.reservations()).toEqual(before);
  });

  test('a full subnet, a foreign device and an unknown machine are refused with the facts of MAAS', async () => {
    const lab = { 'maas.subnet.ipv4': 'lab' };
    for (const last of [1, 2]) await daemon.ok('POST', '/1.0/containers', body(`c${last}`, { eth0: nic(last, lab) }));
    expect((await create('c3', { eth0: nic(3, lab) })).err).toContain('No more IPs available in subnet: 10.78.0.0/30');
    const alien = { id: 'x1', hostname: 'printer', domain: 'maas', description: '', parent: 'm4ch1n', interfaces: [] };
    maas.devices.set('x1', alien);
    expect((await create('printer', { eth0: nic(4, lan) })).err).toContain(
      'a device named printer.maas of another owner (x1)',
    );
    expect(maas.devices.get('x1')).toBe(alien);
    await configure({ 'maas.machine': 'nobody' });
    expect((await create('c5', { eth0: nic(5, lan) })).err).toContain(
      'MAAS has no machine named nobody: set maas.machine',
    );
    expect(maas.devices.size).toBe(3);
  });

  test('a creation that fails after the reservation leaves none', async () => {
    const failing = vi
      .spyOn(daemon.host.storage['dir'] as StorageDriver, 'createVolume')
      .mockRejectedValue(new Error('no'));
    const operation = await create('c1', { eth0: nic(1, lan) });
    failing.mockRestore();
    expect(operation.status).toBe('Failure');
    expect(maas.changes.length).toBeGreaterThan(1);
    expect(maas.reservations()).toEqual([]);
  });

  test('a wrong key and a server that does not answer are named, and nothing is made', async () => {
    await configure({ 'maas.api.key': 'consumer1:token1:wrong' });
    expect((await create('c1', { eth0: nic(1, lan) })).err).toContain('the key in maas.api.key is not accepted');
    await configure({ 'maas.api.key': maas.key });
    maas.broken = 502;
    expect((await create('c1', { eth0: nic(1, lan) })).err).toContain('answered 502: without a reason');
    await configure({ 'maas.api.url': 'http://127.0.0.1:1/MAAS' });
    expect((await create('c1', { eth0: nic(1, lan) })).err).toContain(
      'MAAS at http://127.0.0.1:1/MAAS does not answer',
    );
    expect((await daemon.call('GET', '/1.0/containers/c1')).status).toBe(404);
    const wrong = await daemon.call('PATCH', '/1.0', { config: { 'maas.api.key': 'one:two' } });
    expect([wrong.status, wrong.bytes.toString()]).toEqual([400, expect.stringContaining('CONSUMER:TOKEN:SECRET')]);
  });

  test('a container is deleted while MAAS is away; a restart releases its address', async () => {
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    await daemon.ok('POST', '/1.0/containers', body('c2', { eth0: nic(2, lan) }));
    maas.broken = 502;
    await daemon.ok('DELETE', '/1.0/containers/c1');
    expect(maas.reservations().length).toBe(2);
    await daemon.restart(() => void (maas.broken = undefined));
    await until(() => maas.reservations().length === 1);
    expect(maas.reservations()).toEqual([`c2.maas ${mac(2)} lan=10.77.0.2`]);
  });

  test('devices of other makers, other daemons and other machines stay at the start', async () => {
    const uuid = '11111111-2222-3333-4444-555555555555';
    const device = (id: string, description: string, parent = 'm4ch1n') => {
      maas.devices.set(id, { id, hostname: id, domain: 'maas', description, parent, interfaces: [] });
    };
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    const [own] = [...maas.devices.values()];
    const tag = own?.description.split(':')[1] ?? '';
    device('x1', 'a printer');
    device('x2', `gantry:0badf00d:${uuid}`);
    device('x3', `gantry:${tag}:${uuid}`, 'another');
    device('x4', `gantry:${tag}:${uuid}`);
    await daemon.restart();
    await until(() => !maas.devices.has('x4'));
    expect([...maas.devices.keys()].sort()).toEqual([own?.id ?? '', 'x1', 'x2', 'x3'].sort());
  });

  test('maas.subnet has no effect while no server is set, and a server that is set later gets the reservations', async () => {
    await configure({ 'maas.api.url': '' });
    await daemon.ok('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
    expect(maas.changes).toEqual([]);
    await configure({ 'maas.api.url': maas.url });
    await daemon.restart();
    await until(() => maas.reservations().join() === `c1.maas ${mac(1)} lan=10.77.0.1`);
  });
});

describe('a daemon that is killed', () => {
  const withGantryd = useGantryd();

  async function prepare(gantryd: Gantryd): Promise<void> {
    const ok = async (method: string, path: string, sent: object): Promise<void> => {
      const answer = await gantryd.call(method, path, sent);
      expect(answer.status, answer.bytes.toString()).toBeLessThan(300);
    };
    await ok('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await ok('PUT', '/1.0/profiles/default', { devices: { root: { type: 'disk', path: '/', pool: 'default' } } });
    await ok('PATCH', '/1.0', { config: configOf(maas) });
  }

  /** Kills the daemon at the change of that number, and starts it again. */
  async function killAt(
    gantryd: Gantryd,
    at: number,
    moment: 'before' | 'after',
    work: () => Promise<unknown>,
  ): Promise<void> {
    let count = 0;
    const killed = new Promise<void>((resolve) => {
      maas.onChange = async (now) => {
        if (now === 'before') count += 1;
        if (count !== at || now !== moment) return;
        await gantryd.kill();
        resolve();
      };
    });
    await work().catch(() => {});
    await killed;
    maas.onChange = () => {};
    await gantryd.start();
  }

  async function agree(gantryd: Gantryd): Promise<string[]> {
    const names = async (): Promise<string[]> =>
      ((await gantryd.get('/1.0/containers')) as string[]).map((url) => url.replace('/1.0/containers/', ''));
    await until(async () => {
      const [have, want] = [[...maas.devices.values()].map(({ hostname }) => hostname).sort(), (await names()).sort()];
      return have.join() === want.join() && maas.reservations().every((line) => line.includes('='));
    });
    return names();
  }

  test('a kill at any change of a creation leaves no reservation; during a change or a deletion, the recorded state', async () => {
    await withGantryd(async (gantryd) => {
      await prepare(gantryd);
      const moments = [
        [1, 'after'],
        [2, 'before'],
        [3, 'after'],
      ] as const;
      for (const [at, moment] of moments) {
        await killAt(gantryd, at, moment, () =>
          gantryd.call('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) })),
        );
        expect(await agree(gantryd), `change ${at}`).toEqual([]);
      }
      const made = await gantryd.call('POST', '/1.0/containers', body('c1', { eth0: nic(1, lan) }));
      await gantryd.get(`${String(made.body.operation)}/wait`);
      const more = { devices: { eth1: nic(2, { name: 'eth1', 'maas.subnet.ipv4': 'lab' }) } };
      await killAt(gantryd, 1, 'after', () => gantryd.call('PATCH', '/1.0/containers/c1', more));
      expect(await agree(gantryd)).toEqual(['c1']);
      const devices = Object.keys((await gantryd.get('/1.0/containers/c1')).devices).filter((name) => name !== 'root');
      expect([...maas.devices.values()].flatMap(({ interfaces }) => interfaces).length).toBe(devices.length);
      await killAt(gantryd, 1, 'before', () => gantryd.call('DELETE', '/1.0/containers/c1'));
      expect(await agree(gantryd)).toEqual([]);
    });
  });
});

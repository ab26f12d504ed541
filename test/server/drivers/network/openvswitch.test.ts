// Bridges of Open vSwitch: the conformance suite, members, foreign bridges, and a host that went down. The switch itself moves the frames, since
// most kernels of test machines have no module for it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bridgeArguments, portArguments } from '../../../../server/drivers/network/ovs-bridge.ts';
import { planNetwork } from '../../../../server/drivers/network/config.ts';
import { openBridgeNetwork } from '../../../../server/drivers/network/bridge.ts';
import { isOvsBridge, ovs } from '../../../../server/drivers/openvswitch.ts';
import { exec } from '../../../../server/lib/exec.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { networkConformance } from '../../../conformance/network.ts';
import { makeDaemon, realRuntimeMissing, seed, setState } from '../../../support/daemons/daemon.ts';
import { uploadBusybox } from '../../../support/images/busybox.ts';
import { makeBridgeHarness, type BridgeHarness } from '../../../support/drivers/network-bridge.ts';
import { startSwitch, switchMissing, type SwitchDaemon } from '../../../support/drivers/switch-daemon.ts';
import { until } from '../../../support/until.ts';

const missing = switchMissing();
if (missing !== undefined) console.log(`skipped: bridges of Open vSwitch: ${missing}`);
const noContainers = await realRuntimeMissing();
const never = new AbortController().signal;

describe('the arguments of ovs-vsctl', () => {
  const plan = planNetwork({ name: 'br9', config: { 'bridge.driver': 'openvswitch', 'bridge.mtu': '1400' } });

  test('make the bridge with its mark, address and size in one transaction, in the datapath of the kernel', () => {
    expect(bridgeArguments(plan, '00:16:3e:01:02:03', 'gantry:abc', 'system').join(' ')).toBe(
      '--may-exist add-br br9 -- set Bridge br9 external-ids:gantry="gantry:abc" other-config:hwaddr="00:16:3e:01:02:03" -- set Interface br9 mtu_request=1400',
    );
  });

  test('name each port of the network that comes and goes, and leave those of containers alone', () => {
    expect(portArguments('br9', ['eth1', 'br9-t'], ['eth1', 'eth2']).join(' ')).toBe(
      '--if-exists del-port br9 eth2 -- --may-exist add-port br9 eth1 -- --may-exist add-port br9 br9-t',
    );
    expect(portArguments('br9', [], [])).toEqual([]);
  });
});

describe.skipIf(missing !== undefined)('bridges of Open vSwitch on the host', () => {
  let daemon: SwitchDaemon;
  beforeAll(async () => {
    daemon = await startSwitch();
  });
  afterAll(() => daemon?.close());

  networkConformance('openvswitch networks', () => makeBridgeHarness(true), 'links');

  describe('beyond the suite', () => {
    let harness: BridgeHarness;
    let name: string;
    let config: Record<string, string>;
    beforeAll(async () => {
      harness = await makeBridgeHarness(true);
    });
    afterAll(() => harness?.cleanup());
    afterEach(() => harness.open().down(name));
    const prepare = (): void => {
      const fresh = harness.fresh();
      name = fresh.name;
      config = { 'ipv4.address': `${fresh.ipv4}.1/24`, 'ipv6.address': 'none' };
    };
    const up = (changes: Record<string, string> = {}): Promise<void> =>
      harness.open().up({ name, config: { ...config, ...changes } }, never);
    const ports = async (): Promise<string[]> =>
      (await ovs('list', ['list-ports', name])).split('\n').filter((line) => line !== '');

    test('an external interface and a tunnel are ports, as long as the config names them', async () => {
      prepare();
      const [one, two] = [`${harness.prefix}e1`, `${harness.prefix}e2`];
      await exec(['ip', 'link', 'add', one, 'type', 'veth', 'peer', 'name', two]);
      try {
        const tunnel = { 'tunnel.t.protocol': 'vxlan', 'tunnel.t.local': '127.0.0.1', 'tunnel.t.remote': '127.0.0.2' };
        await up({ 'bridge.external_interfaces': one, ...tunnel });
        expect((await ports()).sort()).toEqual([one, `${name}-t`].sort());
        await up({ 'bridge.external_interfaces': one });
        expect(await ports()).toEqual([one]);
        await up();
        expect(await ports()).toEqual([]);
      } finally {
        await exec(['ip', 'link', 'del', one], { okCodes: [0, 1] });
      }
    });

    test('a bridge that somebody else made in Open vSwitch is refused and stays', async () => {
      prepare();
      await ovs('make', ['add-br', name, '--', 'set', 'Bridge', name, 'datapath_type=netdev']);
      try {
        await expect(up()).rejects.toMatchObject({ code: 'InUse' });
        await harness.open().down(name);
        expect(await isOvsBridge(name)).toBe(true);
      } finally {
        await ovs('remove', ['--if-exists', 'del-br', name]);
      }
    });

    test('bridge.driver cannot change under the containers of a network', async () => {
      prepare();
      await up();
      await expect(up({ 'bridge.driver': 'native' })).rejects.toMatchObject({ code: 'InUse' });
      expect(await isOvsBridge(name)).toBe(true);
      await up();
    });

    test('the network is whole again after the host went down: the switch has the bridge, the daemon the rest', async () => {
      prepare();
      await up();
      const pid = harness.dnsmasqPid(name);
      await daemon.kill();
      process.kill(pid, 'SIGKILL');
      await exec(['ip', 'link', 'del', name], { okCodes: [0, 1] });
      await exec(['nft', 'delete', 'table', 'inet', `gantry_${name}`]);
      await daemon.start();
      await until(async () => (await exec(['ip', 'link', 'show', name], { okCodes: [0, 1] })).code === 0);
      await up();
      const client = await harness.join(name, { hwaddr: '02:00:00:00:ee:01', hostname: 'back' });
      try {
        expect(await client.request()).toBeDefined();
      } finally {
        await client.leave();
      }
    });

    test.skipIf(noContainers !== undefined)(
      'nics of a container are ports while it runs, at its start and plugged in, and filters are refused',
      async () => {
        prepare();
        const daemon = await makeDaemon({ runtime: 'lxc', adapt: (host) => ({ ...host, network: harness.open() }) });
        try {
          await seed(daemon);
          const network = { name, config: { ...config, 'bridge.driver': 'openvswitch' } };
          expect((await daemon.call('POST', '/1.0/networks', network)).status).toBe(200);
          const work = await mkdtemp(join(tmpdir(), 'gtya-ovs-image-'));
          await uploadBusybox(daemon);
          await rm(work, { recursive: true, force: true });
          const nic = (device: string, more: object = {}): object => ({
            [device]: { type: 'nic', network: name, name: device, host_name: `${harness.prefix}${device}`, ...more },
          });
          const source = { type: 'image', alias: 'busybox' };
          await daemon.ok('POST', '/1.0/containers', { name: 'c1', source, devices: nic('eth0') });
          await setState(daemon, 'c1', 'start');
          expect(await ports()).toEqual([`${harness.prefix}eth0`]);
          const patch = (devices: object) => daemon.call('PATCH', '/1.0/containers/c1', { devices });
          expect((await patch(nic('eth1'))).status).toBe(200);
          expect((await ports()).sort()).toEqual([`${harness.prefix}eth0`, `${harness.prefix}eth1`]);
          const filtered = await patch(nic('eth2', { 'security.mac_filtering': 'true' }));
          expect([filtered.status, filtered.bytes.toString()]).toEqual([400, expect.stringContaining('Open vSwitch')]);
          expect((await patch({ eth1: {} })).status).toBe(200);
          expect(await ports()).toEqual([`${harness.prefix}eth0`]);
          await setState(daemon, 'c1', 'stop');
          await until(async () => (await ports()).length === 0);
        } finally {
          await daemon.cleanUp();
        }
      },
    );

    test('the error says so where Open vSwitch does not run, and nothing is left', async () => {
      prepare();
      await daemon.kill();
      try {
        const driver = openBridgeNetwork({ dir: harness.dir, log: silentLog });
        const refused = expect(
          driver.up({ name, config: { ...config, 'bridge.driver': 'openvswitch' } }, never),
        ).rejects;
        await refused.toThrow(/Open vSwitch says .*database connection failed/);
      } finally {
        await daemon.start();
      }
      expect(await harness.remains(name)).toEqual([]);
    });
  });
});

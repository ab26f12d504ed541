// Devices that are read from the kernel's description of the host, on trees made up for the purpose; nothing real is touched.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { DeviceContext, DeviceRun } from '../../../../server/drivers/devices/device.ts';
import { DirectoryWatch } from '../../../../server/drivers/devices/directory-watch.ts';
import type { HostPaths, NodeNumbers } from '../../../../server/drivers/devices/host-paths.ts';
import { deviceHandler } from '../../../../server/drivers/devices/index.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let base: string;
let nodes: Map<string, NodeNumbers>;
let host: HostPaths;
beforeEach(() => {
  base = tempFolder('gantry-host-');
  nodes = new Map();
  host = { sys: join(base, 'sys'), dev: join(base, 'dev'), node: (path) => nodes.get(path) };
  mkdirSync(host.dev);
});

const file = (path: string, text: string): void => {
  mkdirSync(dirname(join(host.sys, path)), { recursive: true });
  writeFileSync(join(host.sys, path), `${text}\n`);
};
const link = (path: string, target: string): void => {
  mkdirSync(dirname(join(host.sys, path)), { recursive: true });
  symlinkSync(target, join(host.sys, path));
};
const start = (
  type: string,
  properties: Record<string, string>,
  more: Partial<DeviceContext> = {},
): Promise<DeviceRun> =>
  deviceHandler({ type })!.start({
    device: 'dev0',
    properties: { type, ...properties },
    containerUuid: 'u',
    volatile: {},
    takenNames: new Set(),
    rootfs: '',
    host,
    volumeOf: () => undefined,
    ...more,
  });

describe('unix-char and unix-block', () => {
  test('path and source stand for each other; owner and mode are the container’s', async () => {
    nodes.set('/dev/ttyS0', { kind: 'char', major: 4, minor: 64 });
    const usual = { device: 'dev0', kind: 'char', major: 4, minor: 64, uid: 0, gid: 0, mode: 0o660 };
    expect((await start('unix-char', { source: '/dev/ttyS0' })).nodes).toEqual([{ ...usual, target: '/dev/ttyS0' }]);
    const moved = { source: '/dev/ttyS0', path: '/dev/modem', uid: '7', gid: '8', mode: '0600' };
    expect((await start('unix-char', moved)).nodes).toEqual([
      { ...usual, target: '/dev/modem', uid: 7, gid: 8, mode: 0o600 },
    ]);
  });

  test('both numbers need no node on the host; one of them overrides', async () => {
    const given = await start('unix-block', { path: '/dev/x', major: '7', minor: '3' });
    expect(given.nodes[0]).toMatchObject({ kind: 'block', major: 7, minor: 3 });
    nodes.set('/dev/x', { kind: 'block', major: 8, minor: 1 });
    expect((await start('unix-block', { path: '/dev/x', minor: '5' })).nodes[0]).toMatchObject({ major: 8, minor: 5 });
  });

  test('a missing or other node is refused by name when required, and waited for when not', async () => {
    await expect(start('unix-char', { path: '/dev/none' })).rejects.toThrow(/dev0.*\/dev\/none does not exist/);
    nodes.set('/dev/sda', { kind: 'block', major: 8, minor: 0 });
    await expect(start('unix-char', { path: '/dev/sda' })).rejects.toThrow(/is no character device/);
    const waiting = await start('unix-char', { path: '/dev/serial/modem', required: 'false' });
    expect([waiting.nodes, waiting.watch]).toEqual([[], ['/dev/serial']]);
  });
});

describe('usb', () => {
  const plugIn = (name: string, vendor: string, product: string, bus: number, number: number): void => {
    const dir = `bus/usb/devices/${name}`;
    file(`${dir}/idVendor`, vendor);
    file(`${dir}/idProduct`, product);
    file(`${dir}/busnum`, `${bus}`);
    file(`${dir}/devnum`, `${number}`);
    file(`${dir}/dev`, `189:${(bus - 1) * 128 + number - 1}`);
  };

  test('devices are picked by ids, in any spelling; interfaces are no devices', async () => {
    plugIn('1-1', '0403', '6001', 1, 2);
    plugIn('2-1', '1d6b', '0002', 2, 11);
    file('bus/usb/devices/1-1:1.0/bInterfaceNumber', '00');
    expect((await start('usb', { vendorid: '0x0403' })).nodes).toMatchObject([
      { target: '/dev/bus/usb/001/002', major: 189, minor: 1, mode: 0o660 },
    ]);
    expect((await start('usb', { vendorid: '1D6B', productid: '0002' })).nodes).toMatchObject([
      { target: '/dev/bus/usb/002/011' },
    ]);
    expect((await start('usb', {})).nodes).toHaveLength(2);
  });

  test('none is fine unless required; buses are watched', async () => {
    mkdirSync(join(host.dev, 'bus/usb/001'), { recursive: true });
    const none = await start('usb', { vendorid: 'dead' });
    expect([none.nodes, none.watch]).toEqual([[], [join(host.dev, 'bus/usb'), join(host.dev, 'bus/usb/001')]]);
    await expect(start('usb', { vendorid: 'dead', required: 'true' })).rejects.toThrow(/dead:any/);
  });
});

describe('gpu', () => {
  beforeEach(() => {
    for (const [name, number, pci] of [
      ['card0', '226:0', '0000:00:02.0'],
      ['renderD128', '226:128', '0000:00:02.0'],
      ['card1', '226:1', '0000:01:00.0'],
    ] as const) {
      file(`class/drm/${name}/dev`, number);
      link(`class/drm/${name}/device`, `../../../${pci}`);
    }
    file('class/drm/card0-HDMI-A-1/status', 'connected');
    file('bus/pci/devices/0000:00:02.0/vendor', '0x8086');
    file('bus/pci/devices/0000:00:02.0/device', '0x3e92');
    file('bus/pci/devices/0000:01:00.0/vendor', '0x10de');
    file('bus/pci/devices/0000:01:00.0/device', '0x1c03');
    mkdirSync(join(host.sys, 'bus/pci/drivers/nvidia/0000:01:00.0'), { recursive: true });
    for (const [name, minor] of [
      ['nvidia0', 0],
      ['nvidiactl', 255],
      ['nvidia-uvm', 0],
    ] as const) {
      writeFileSync(join(host.dev, name), '');
      nodes.set(join(host.dev, name), { kind: 'char', major: name === 'nvidia-uvm' ? 234 : 195, minor });
    }
  });
  const targets = async (properties: Record<string, string>): Promise<string[]> =>
    (await start('gpu', properties)).nodes.map((node) => node.target).sort();

  test('a card is picked by address, number or ids, and brings all its nodes', async () => {
    const intel = ['/dev/dri/card0', '/dev/dri/renderD128'];
    for (const chosen of [{ pci: '00:02.0' }, { pci: '0000:00:02.0' }, { id: '0' }, { vendorid: '8086' }]) {
      expect(await targets(chosen as never)).toEqual(intel);
    }
  });

  test('a card of NVIDIA’s brings that driver’s nodes too', async () => {
    expect(await targets({ vendorid: '10de' })).toEqual([
      '/dev/dri/card1',
      '/dev/nvidia-uvm',
      '/dev/nvidia0',
      '/dev/nvidiactl',
    ]);
  });

  test('no choice means all, no match is an error that names the wish', async () => {
    expect(await targets({})).toHaveLength(6);
    await expect(start('gpu', { pci: '0000:07:00.0' })).rejects.toThrow(/dev0.*pci 0000:07:00.0/);
  });
});

describe('nics that lend host interfaces', () => {
  const card = (name: string): void => {
    file(`class/net/${name}/device/sriov_numvfs`, '2');
    file(`class/net/${name}/device/sriov_totalvfs`, '8');
    for (const index of [0, 1]) {
      mkdirSync(join(host.sys, `class/net/${name}/device/virtfn${index}/net/${name}v${index}`), { recursive: true });
      file(`class/net/${name}v${index}/operstate`, 'down');
    }
  };
  const sriov = { nictype: 'sriov', parent: 'ens1', hwaddr: '00:16:3E:00:00:09' };

  test('sriov takes the first free function, the one it had before if that is free, and says when none is', async () => {
    card('ens1');
    expect((await start('nic', sriov)).nics).toMatchObject([
      {
        kind: 'physical',
        hostName: 'ens1v0',
        hwaddr: '00:16:3e:00:00:09',
        virtualFunction: { parent: 'ens1', index: 0 },
      },
    ]);
    expect((await start('nic', sriov, { volatile: { host_name: 'ens1v1' } })).nics[0]?.hostName).toBe('ens1v1');
    file('class/net/ens1v0/operstate', 'up');
    expect((await start('nic', sriov)).nics[0]?.hostName).toBe('ens1v1');
    file('class/net/ens1v1/operstate', 'up');
    await expect(start('nic', sriov)).rejects.toThrow(/none of the 2 virtual functions of ens1 is free.*8/);
  });

  test('a card without functions and a missing parent are told apart', async () => {
    file('class/net/eth5/operstate', 'up');
    await expect(start('nic', { ...sriov, parent: 'eth5' })).rejects.toMatchObject({ code: 'NotSupported' });
    await expect(start('nic', sriov)).rejects.toMatchObject({ code: 'NotFound' });
    await expect(start('nic', { nictype: 'physical', parent: 'no0' })).rejects.toThrow(/parent no0 does not exist/);
  });

  test('physical lends the parent, or the interface of its VLAN', async () => {
    file('class/net/eth5/operstate', 'up');
    expect((await start('nic', { nictype: 'physical', parent: 'eth5', name: 'wan' })).nics).toEqual([
      { device: 'dev0', kind: 'physical', name: 'wan', hostName: 'eth5' },
    ]);
    expect((await start('nic', { nictype: 'physical', parent: 'eth5', vlan: '9' })).nics[0]).toMatchObject({
      hostName: 'eth5.9',
      vlan: { parent: 'eth5', id: 9 },
    });
  });

  test.each(['physical', 'macvlan'])(
    'a parent that belongs to a bridge of the host is refused for %s, its VLANs are not',
    async (nictype) => {
      file('class/net/eth6/operstate', 'up');
      symlinkSync('../br7', join(host.sys, 'class/net/eth6/master'));
      const properties = { nictype, parent: 'eth6', hwaddr: '00:16:3e:00:00:09' };
      await expect(start('nic', properties)).rejects.toMatchObject({
        code: 'InUse',
        message: expect.stringContaining('the parent eth6 belongs to br7 on the host') as unknown,
      });
      expect((await start('nic', { ...properties, vlan: '9' })).nics).toHaveLength(1);
    },
  );

  test('infiniband lends the interface with the nodes of its card, and takes no other kind', async () => {
    file('class/net/ib0/type', '32');
    mkdirSync(join(host.sys, 'class/net/ib0/device/infiniband/mlx5_0'), { recursive: true });
    file('class/net/ib0/device/infiniband_verbs/uverbs0/dev', '231:192');
    const run = await start('infiniband', { nictype: 'physical', parent: 'ib0', mtu: '2044' });
    expect(run.nics).toEqual([{ device: 'dev0', kind: 'physical', name: 'ib0', hostName: 'ib0', mtu: 2044 }]);
    expect(run.nodes).toMatchObject([{ target: '/dev/infiniband/uverbs0', major: 231, minor: 192 }]);
    file('class/net/eth5/type', '1');
    await expect(start('infiniband', { nictype: 'physical', parent: 'eth5' })).rejects.toThrow(/no InfiniBand/);
  });
});

describe('watching directories', () => {
  test('tells of what appears, also below a directory that did not exist; nothing once closed', async () => {
    const seen: string[] = [];
    const watch = new DirectoryWatch((key) => seen.push(key));
    watch.set('a', [join(base, 'dev/later/deep')]);
    watch.set('b', [join(base, 'sys')]);
    mkdirSync(join(base, 'dev/later'));
    await until(() => seen.includes('a'));
    mkdirSync(join(base, 'dev/later/deep'));
    await until(() => seen.filter((key) => key === 'a').length >= 2);
    const before = seen.length;
    await until(() => {
      writeFileSync(join(base, 'dev/later/deep/node'), '');
      return seen.length > before;
    });
    watch.close();
    const closed = seen.length;
    writeFileSync(join(base, 'dev/later/deep/more'), '');
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(seen.length).toBe(closed);
  });
});

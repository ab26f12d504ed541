// Every device type keeps the contract of devices, each on a host made up for it.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceTypeName } from '../../../../server/api/devices/index.ts';
import { deviceConformance, type DeviceSample, type MadeUpHost } from '../../../conformance/devices.ts';

const virtualFunctions = (host: MadeUpHost): void => {
  host.file('class/net/ens1/device/sriov_numvfs', '1');
  host.file('class/net/ens1/operstate', 'up');
  mkdirSync(join(host.sys, 'class/net/ens1/device/virtfn0/net/ens1v0'), { recursive: true });
  host.file('class/net/ens1v0/operstate', 'down');
};

/** The compiler asks for a sample of each type. */
const samples: Readonly<Record<DeviceTypeName, Readonly<Record<string, DeviceSample>>>> = {
  none: { none: { properties: {}, home: 'any' } },
  disk: {
    'the root disk': { properties: { path: '/', pool: 'default' }, home: 'any' },
    'a directory of the host': { properties: { path: '/data' }, prepare: ({ dir }) => ({ source: dir }), home: 'host' },
  },
  nic: {
    'a nic on a network': {
      properties: { network: 'br0', nictype: 'bridged', parent: 'br0', hwaddr: '00:16:3e:00:00:02' },
      home: 'any',
    },
    'a nic on a bridge': { properties: { nictype: 'bridged', parent: 'br1' }, home: 'alike' },
    'a nic of two ends': { properties: { nictype: 'p2p' }, home: 'alike' },
    'a routed nic': { properties: { nictype: 'routed', 'ipv4.address': '10.0.0.5' }, home: 'alike' },
    'a routed nic with a parent': {
      properties: { nictype: 'routed', parent: 'ens1', 'ipv4.address': '10.0.0.5' },
      prepare: virtualFunctions,
      home: 'alike',
    },
    'an ipvlan nic': { properties: { nictype: 'ipvlan', parent: 'ens1' }, prepare: virtualFunctions, home: 'alike' },
    'a macvlan nic': { properties: { nictype: 'macvlan', parent: 'ens1' }, prepare: virtualFunctions, home: 'alike' },
    'a physical nic': { properties: { nictype: 'physical', parent: 'ens1' }, prepare: virtualFunctions, home: 'host' },
    'a virtual function': { properties: { nictype: 'sriov', parent: 'ens1' }, prepare: virtualFunctions, home: 'host' },
  },
  'unix-char': {
    'a character device': {
      properties: { path: '/dev/ttyS0' },
      prepare: (host) => host.addNode('/dev/ttyS0', { kind: 'char', major: 4, minor: 64 }),
      home: 'host',
    },
    'a character device that may come later': {
      properties: { path: '/dev/serial/modem', required: 'false' },
      home: 'host',
    },
  },
  'unix-block': { 'a block device': { properties: { path: '/dev/x', major: '7', minor: '3' }, home: 'host' } },
  usb: {
    'a USB device': {
      properties: { vendorid: '0403' },
      prepare(host) {
        for (const [name, value] of Object.entries({ idVendor: '0403', idProduct: '6001', busnum: '1', devnum: '2' }))
          host.file(`bus/usb/devices/1-1/${name}`, value);
        host.file('bus/usb/devices/1-1/dev', '189:1');
        mkdirSync(join(host.dev, 'bus/usb/001'), { recursive: true });
      },
      home: 'host',
    },
  },
  gpu: {
    'a graphics card': {
      properties: {},
      prepare(host) {
        host.file('class/drm/card0/dev', '226:0');
        host.link('class/drm/card0/device', '../../../0000:00:02.0');
        host.file('bus/pci/devices/0000:00:02.0/vendor', '0x8086');
        host.file('bus/pci/devices/0000:00:02.0/device', '0x3e92');
      },
      home: 'host',
    },
  },
  infiniband: {
    'an InfiniBand interface': {
      properties: { nictype: 'physical', parent: 'ib0' },
      prepare(host) {
        host.file('class/net/ib0/type', '32');
        mkdirSync(join(host.sys, 'class/net/ib0/device/infiniband/mlx5_0'), { recursive: true });
        host.file('class/net/ib0/device/infiniband_verbs/uverbs0/dev', '231:192');
      },
      home: 'host',
    },
  },
  proxy: { 'a proxy': { properties: { listen: 'tcp:127.0.0.1:80', connect: 'tcp:127.0.0.1:8080' }, home: 'alike' } },
};

for (const [type, kinds] of Object.entries(samples))
  for (const [name, { properties, ...sample }] of Object.entries(kinds))
    deviceConformance(name, { ...sample, properties: { ...properties, type } });

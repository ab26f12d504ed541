// The state of interfaces that a test host need not have: what `ip` and the kernel's files say about them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkState, parseLinks, type Link } from '../../../../server/drivers/network/ip-commands.ts';
import { linkParts } from '../../../../server/drivers/network/link-parts.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const linkOf = (shown: object): Link => parseLinks(JSON.stringify([shown]))[0]!;

test('the loopback interface has no hardware address, as on LXD', () => {
  const lo = linkOf({ ifname: 'lo', link_type: 'loopback', address: '00:00:00:00:00:00' });
  expect(linkState(lo).hwaddr).toBe('');
});

test('a bond has its mode, its delays and its members', () => {
  const sysfs = tempFolder('gantry-sysfs-');
  const folder = join(sysfs, 'bond0', 'bonding');
  mkdirSync(folder, { recursive: true });
  const files = {
    mode: '802.3ad 4',
    xmit_hash_policy: 'layer3+4 1',
    updelay: '200',
    downdelay: '100',
    miimon: '50',
    mii_status: 'up',
    slaves: 'eth0 eth1',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), `${text}\n`);
  expect(linkParts(linkOf({ ifname: 'bond0' }), sysfs)).toEqual({
    bond: {
      mode: '802.3ad',
      transmit_policy: 'layer3+4',
      up_delay: 200,
      down_delay: 100,
      mii_frequency: 50,
      mii_state: 'up',
      lower_devices: ['eth0', 'eth1'],
    },
  });
});

test('a VLAN has its number and the interface below it', () => {
  const shown = { ifname: 'lan7', link: 'eth0', linkinfo: { info_kind: 'vlan', info_data: { id: 7 } } };
  expect(linkParts(linkOf(shown))).toEqual({ vlan: { lower_device: 'eth0', vid: 7 } });
});

test('another interface has no part', () => {
  expect(linkParts(linkOf({ ifname: 'lan8' }))).toEqual({});
});

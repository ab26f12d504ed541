// The host's end of a nic when its bridge is deleted and made again, with interfaces of the kernel.
import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { NicRun } from '../../../../server/drivers/device-parts.ts';
import { rejoinBridge } from '../../../../server/drivers/runtime/nic/plug.ts';
import { attempt } from '../../../../server/lib/shared/attempt.ts';
import { silentLog } from '../../../../server/lib/log.ts';

const [bridge, hostName] = ['gtyrejoin', 'gtyrejoin0'];
const ip = (...args: readonly string[]): boolean => spawnSync('ip', args).status === 0;
const canRun = process.getuid?.() === 0 && ip('link', 'add', bridge, 'type', 'bridge') && ip('link', 'delete', bridge);
if (!canRun) console.log('skipped: nics whose bridge is made again: root is needed to make bridges');

const nic: NicRun = { device: 'eth0', kind: 'veth', name: 'eth0', hostName, link: bridge, isolated: true };

afterEach(() => {
  for (const name of [hostName, bridge]) ip('link', 'delete', name);
});

test.skipIf(!canRun)(
  'a nic joins a bridge that was made again, isolated as before, and a bridge once only',
  async () => {
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const master = () => attempt(() => basename(readlinkSync(`/sys/class/net/${hostName}/master`)));
    await rejoinBridge(nic, log);
    ip('link', 'add', hostName, 'type', 'veth', 'peer', 'name', 'gtyrejoin1');
    await rejoinBridge(nic, log);
    expect([master(), warnings]).toEqual([undefined, []]);
    ip('link', 'add', bridge, 'type', 'bridge');
    for (let look = 0; look < 2; look++) await rejoinBridge(nic, log);
    expect(master()).toBe(bridge);
    expect(readFileSync(`/sys/class/net/${hostName}/brport/isolated`, 'utf8')).toBe('1\n');
    expect(warnings).toEqual([`${hostName} was not on the bridge ${bridge}, and is put there again`]);
  },
);

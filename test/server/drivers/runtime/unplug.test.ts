// Unplugging that fails half way, with interfaces of the kernel in the network of a bare process.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noParts, type DeviceParts, type NicRun } from '../../../../server/drivers/device-parts.ts';
import type { LiveDeps } from '../../../../server/drivers/runtime/lxc/device-actions.ts';
import { LxcLive } from '../../../../server/drivers/runtime/lxc/live-devices.ts';
import type { RunningRecord } from '../../../../server/drivers/runtime/lxc/running-record.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { until } from '../../../support/until.ts';

const canRun = process.getuid?.() === 0 && spawnSync('unshare', ['--net', 'true']).status === 0;
if (!canRun) console.log('skipped: unplugging that fails half way: root is needed to make name spaces of the network');

const nic: NicRun = { device: 'eth1', kind: 'veth', name: 'eth1', hostName: 'gtyunplug0', hwaddr: '00:16:3e:00:bb:01' };

describe.skipIf(!canRun)('unplugging a nic of a running container', () => {
  let container: ChildProcess;
  let record: RunningRecord;
  let logged: string[];
  let removeFilter: () => Promise<void>;
  const has = (): boolean => existsSync(`/sys/class/net/${nic.hostName}`);
  const isInside = (): boolean => readFileSync(`/proc/${container.pid}/net/dev`, 'utf8').includes('eth1:');

  beforeEach(async () => {
    logged = [];
    removeFilter = () => Promise.resolve();
    container = spawn('unshare', ['--net', 'sleep', '600'], { stdio: 'ignore' });
    const program = `/proc/${container.pid}/comm`;
    await until(() => existsSync(program) && readFileSync(program, 'utf8') === 'sleep\n');
  });
  afterEach(() => {
    container.kill('SIGKILL');
    spawnSync('ip', ['link', 'delete', nic.hostName], { stdio: 'ignore' });
  });

  async function plugged(parts: Partial<DeviceParts>): Promise<LxcLive> {
    const log = (text: string): void => void logged.push(text);
    const deps = {
      paths: { tag: 'cafe0001', priorityGroup: () => undefined },
      filters: { set: () => Promise.resolve(), remove: () => removeFilter() },
      log: { ...silentLog, warn: log, error: log },
    } as unknown as LiveDeps;
    const now = { ...noParts, nics: [nic], ...parts };
    const devices = { now, atStart: noParts, properties: { eth1: { type: 'nic' } }, lent: {}, idmap: [] };
    record = { name: 'c1', initPid: container.pid, nics: {}, devices } as unknown as RunningRecord;
    const live = new LxcLive(deps, {
      need: () => record,
      remember: (state) => (record = state),
      lock: (_name, work) => work(),
    });
    spawnSync('ip', ['link', 'add', nic.hostName, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', `${container.pid}`]);
    expect([has(), isInside()]).toEqual([true, true]);
    return live;
  }

  test('a filter that cannot be removed is logged, and the nic counts as unplugged, as it is', async () => {
    const live = await plugged({});
    removeFilter = () => Promise.reject(new Error('nft is busy'));
    await live.unplug('c1', 'eth1');
    expect([has(), live.plugged('c1'), live.parts('c1', 'eth1')]).toEqual([false, {}, noParts]);
    expect(logged).toEqual(['cannot clean up after an interface']);
  });

  test('a part that cannot be removed brings the nic back, which is still recorded', async () => {
    const target = `/${'long'.repeat(2_000)}`;
    const mount = { device: 'eth1', source: '/tmp', target, kind: 'dir' as const, readonly: true, optional: false };
    const live = await plugged({ mounts: [{ ...mount, recursive: false }] });
    await expect(live.unplug('c1', 'eth1')).rejects.toThrow(/Cannot unmount/);
    expect([has(), isInside(), live.plugged('c1')]).toEqual([true, true, { eth1: { type: 'nic' } }]);
    expect(logged).toEqual([]);
  });
});

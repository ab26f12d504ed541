// Root of a container makes links whose peers have indexes of interfaces of the host: the state of the container names none of these.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownHostName, readInterfaces } from '../../../../server/drivers/runtime/nic/interfaces.ts';
import { until } from '../../../support/until.ts';

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: interfaces of guests: needs root');

test('only host ends that the daemon made are named', () => {
  expect(ownHostName('veth1', { eth0: 'veth1' })).toBe('veth1');
  expect(ownHostName('eth7', { eth0: 'veth1' })).toBe('');
});

describe.skipIf(!isRoot)('in a network of its own', () => {
  const name = `gtat${process.pid}`.slice(0, 15);
  let guest: ChildProcess;
  const ip = (...args: readonly string[]): string => execFileSync('ip', args, { encoding: 'utf8' });
  beforeAll(async () => {
    ip('link', 'add', name, 'type', 'bridge');
    guest = spawn('unshare', ['-n', 'sleep', '600'], { stdio: 'ignore' });
    const isIn = () => execFileSync('readlink', [`/proc/${guest.pid}/ns/net`], { encoding: 'utf8' });
    const home = execFileSync('readlink', ['/proc/self/ns/net'], { encoding: 'utf8' });
    await until(() => isIn() !== home);
  });
  afterAll(() => {
    guest?.kill('SIGKILL');
    ip('link', 'delete', name);
  });

  test('a link of the guest with the index of an interface of the host does not tell its name', async () => {
    const index = readFileSync(`/sys/class/net/${name}/ifindex`, 'utf8').trim();
    const inside = ['-t', `${guest.pid}`, '-n', 'ip'];
    execFileSync('nsenter', [
      ...inside,
      'link',
      'add',
      'name',
      've0',
      'index',
      index,
      'type',
      'veth',
      'peer',
      'name',
      've1',
    ]);
    const found = await readInterfaces(guest.pid ?? 0, { eth0: 'veth-of-eth0' });
    expect(Object.keys(found)).toContain('ve1');
    expect(Object.values(found).map(({ host_name }) => host_name)).not.toContain(name);
    expect((await readInterfaces(guest.pid ?? 0, { ve1: name }))['ve1']?.host_name).toBe(name);
  });
});

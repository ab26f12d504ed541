// The hosts for cluster tests: they reach each other until they are cut, and leave nothing behind.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { type ClusterHost, type ClusterHosts, hostsMissing, makeHosts } from '../../support/cluster/hosts.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { makeJumpingClock } from '../../support/cluster/jumping-clock.ts';
import { slowDisk, slowDiskMissing } from '../../support/cluster/slow-disk.ts';

const missing = hostsMissing() ?? busyboxMissing();
if (missing !== undefined) console.log(`skipped: hosts of a cluster: ${missing}`);

let made: ClusterHosts | undefined;
afterEach(() => {
  made?.remove();
  made = undefined;
});

const pings = (from: ClusterHost, address: string): boolean => {
  const [file = '', ...words] = from.run;
  return spawnSync(file, [...words, 'busybox', 'ping', '-c1', '-W1', address], { stdio: 'ignore' }).status === 0;
};
const machinePings = (address: string): boolean =>
  spawnSync('busybox', ['ping', '-c1', '-W1', address], { stdio: 'ignore' }).status === 0;

describe.skipIf(missing !== undefined)('hosts of a cluster', () => {
  test('reach each other and are reached, until they are parted, and again when mended', () => {
    made = makeHosts(3);
    const [one, two, three] = made.hosts as [ClusterHost, ClusterHost, ClusterHost];
    expect([pings(one, two.address), pings(two, three.address), machinePings(one.address)]).toEqual([true, true, true]);
    made.part([one], [two, three]);
    expect([pings(one, two.address), pings(three, one.address), pings(two, three.address)]).toEqual([
      false,
      false,
      true,
    ]);
    expect(machinePings(one.address)).toBe(true);
    made.mend();
    expect(pings(one, two.address)).toBe(true);
    made.hide(two);
    expect([machinePings(two.address), pings(one, two.address)]).toEqual([false, true]);
  });

  test('also have a vxlan between them, which a cut ends too', () => {
    made = makeHosts(2, { vxlan: true });
    const [one, two] = made.hosts as [ClusterHost, ClusterHost];
    expect(pings(one, two.overlay ?? '')).toBe(true);
    made.part([one], [two]);
    expect(pings(one, two.overlay ?? '')).toBe(false);
  });

  test('can be cut in one direction: packets arrive at one end and not at the other', () => {
    made = makeHosts(2);
    const [one, two] = made.hosts as [ClusterHost, ClusterHost];
    made.deafen(two, [one]);
    const received = ({ run: [file = '', ...words] }: ClusterHost): number => {
      const text = execFileSync(file, [...words, 'cat', '/proc/net/snmp'], { encoding: 'utf8' });
      const lines = text.split('\n').filter((line) => line.startsWith('Icmp:'));
      const column = lines[0]?.split(' ').indexOf('InEchos') ?? 0;
      return Number(lines[1]?.split(' ')[column]);
    };
    expect(pings(one, two.address)).toBe(false);
    expect(received(two)).toBe(0);
    expect(pings(two, one.address)).toBe(false);
    expect(received(one)).toBe(1);
  });

  test('run programs under their own process id and leave no interface and no namespace', () => {
    made = makeHosts(1);
    const [host] = made.hosts as [ClusterHost];
    const [file = '', ...words] = host.run;
    const child = spawnSync(file, [...words, 'sh', '-c', 'echo $$'], { encoding: 'utf8' });
    expect(Number(child.stdout)).toBe(child.pid);
    const bridge = host.netns.slice(0, -2);
    made.remove();
    const left = execFileSync('sh', ['-c', 'ip -o link; ip netns'], { encoding: 'utf8' });
    expect(left).not.toContain(bridge);
  });
});

const program = `
const { openSync, fsyncSync, writeSync } = require('node:fs');
const file = openSync(process.argv[1], 'w');
setInterval(() => {
  const from = performance.now();
  writeSync(file, 'x');
  fsyncSync(file);
  console.log(Math.round(performance.now() - from), Date.now());
}, 20);
`;

test.skipIf(slowDiskMissing() !== undefined)(
  'a disk can be slow for one process, and its wall clock can jump while other clocks go on',
  async () => {
    const clock = makeJumpingClock();
    const child = spawn(process.execPath, ['-e', program, '/var/tmp/gantry-slow-disk-test'], {
      env: { ...process.env, ...clock.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = once(child, 'exit');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<readonly [syncMs: number, now: number]> => {
      const { value } = (await lines.next()) as { value: string };
      const [syncMs = 0, now = 0] = value.split(' ').map(Number);
      return [syncMs, now];
    };
    const reaches = async (fits: (line: readonly [number, number]) => boolean): Promise<boolean> => {
      for (let tries = 0; tries < 200; tries += 1) if (fits(await next())) return true;
      return false;
    };
    try {
      const slow = await slowDisk(child.pid ?? 0, 300);
      expect(await reaches(([syncMs]) => syncMs >= 300)).toBe(true);
      await slow.end();
      expect(await reaches(([syncMs]) => syncMs < 300)).toBe(true);
      clock.jump(-3_600_000);
      expect(await reaches(([, now]) => now < Date.now() - 3_000_000)).toBe(true);
    } finally {
      child.kill('SIGKILL');
      await gone;
      clock.remove();
      execFileSync('rm', ['-f', '/var/tmp/gantry-slow-disk-test']);
    }
  },
);

// The detailed resource usage of a running container: processor time by mode, kinds of memory, block devices, packets. Parses the kernel's
// texts.
import type { ContainerUsage } from '../driver.ts';
import { type CgroupTree, readGroupFile } from './cgroup.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

export function readUsage(tree: CgroupTree, group: string, initPid: number, hostMemory: number): ContainerUsage {
  const read = (file: string): string => readGroupFile(tree, group, file) ?? '';
  const isOld = tree.version === 1;
  const limit = Number(read(isOld ? 'memory.limit_in_bytes' : 'memory.max'));
  return {
    cpus: isOld ? parseCpus1(read('cpuacct.usage_all')) : parseCpus2(read('cpu.stat')),
    memory: parseMemoryStat(read('memory.stat')),
    // Without a limit the file has no number, or one above the host's memory.
    memoryTotal: Number.isFinite(limit) && limit > 0 ? Math.min(limit, hostMemory) : hostMemory,
    disks: isOld
      ? parseDisks1(read('blkio.throttle.io_service_bytes_recursive'), read('blkio.throttle.io_serviced_recursive'))
      : parseDisks2(read('io.stat')),
    interfaces: parseNetDev(textOrNothing(`/proc/${initPid}/net/dev`)),
  };
}

/** cpuacct.usage_all: a line of names, then `cpu user system` in nanoseconds. */
export function parseCpus1(text: string): ContainerUsage['cpus'] {
  return [...text.matchAll(/^([0-9]+) ([0-9]+) ([0-9]+)$/gm)].map(([, cpu = '', user, system]) => ({
    cpu,
    userSeconds: Number(user) / 1e9,
    systemSeconds: Number(system) / 1e9,
  }));
}

/** cpu.stat has the sum of all processors: shown as the first one's, like LXD. */
export function parseCpus2(text: string): ContainerUsage['cpus'] {
  const seconds = (key: string): number => Number(new RegExp(`^${key} ([0-9]+)$`, 'm').exec(text)?.[1] ?? 0) / 1e6;
  return text === '' ? [] : [{ cpu: '0', userSeconds: seconds('user_usec'), systemSeconds: seconds('system_usec') }];
}

/** By our names: cgroup v1 keys (including child groups), then cgroup v2 keys. */
const memoryKeys: Readonly<Record<keyof ContainerUsage['memory'], readonly [string, string]>> = {
  activeAnon: ['total_active_anon', 'active_anon'],
  activeFile: ['total_active_file', 'active_file'],
  inactiveAnon: ['total_inactive_anon', 'inactive_anon'],
  inactiveFile: ['total_inactive_file', 'inactive_file'],
  cached: ['total_cache', 'file'],
  dirty: ['total_dirty', 'file_dirty'],
  mapped: ['total_mapped_file', 'file_mapped'],
  rss: ['total_rss', 'anon'],
  shmem: ['total_shmem', 'shmem'],
  unevictable: ['total_unevictable', 'unevictable'],
  writeback: ['total_writeback', 'file_writeback'],
};

export function parseMemoryStat(text: string): ContainerUsage['memory'] {
  const stat = new Map([...text.matchAll(/^(\w+) ([0-9]+)$/gm)].map(([, key = '', value]) => [key, Number(value)]));
  const entries = Object.entries(memoryKeys).map(
    ([name, [old, now]]) => [name, stat.get(old) ?? stat.get(now) ?? 0] as const,
  );
  return Object.fromEntries(entries) as unknown as ContainerUsage['memory'];
}

/** Two files with lines `MAJOR:MINOR Read|Write COUNT`. */
export function parseDisks1(bytes: string, times: string): ContainerUsage['disks'] {
  const disks = new Map<string, Record<'readBytes' | 'writtenBytes' | 'reads' | 'writes', number>>();
  const take = (text: string, read: 'readBytes' | 'reads', write: 'writtenBytes' | 'writes'): void => {
    for (const [, number = '', verb, count] of text.matchAll(/^([0-9]+:[0-9]+) (Read|Write) ([0-9]+)$/gm)) {
      const disk = disks.get(number) ?? { readBytes: 0, writtenBytes: 0, reads: 0, writes: 0 };
      disk[verb === 'Read' ? read : write] += Number(count);
      disks.set(number, disk);
    }
  };
  take(bytes, 'readBytes', 'writtenBytes');
  take(times, 'reads', 'writes');
  return [...disks].map(([number, figures]) => ({ device: deviceName(number), ...figures }));
}

/** io.stat: `MAJOR:MINOR rbytes=N wbytes=N rios=N wios=N ...`. */
export function parseDisks2(text: string): ContainerUsage['disks'] {
  return [...text.matchAll(/^([0-9]+:[0-9]+) (.*)$/gm)].map(([, number = '', rest = '']) => {
    const of = (key: string): number => Number(new RegExp(`\\b${key}=([0-9]+)`).exec(rest)?.[1] ?? 0);
    return {
      device: deviceName(number),
      readBytes: of('rbytes'),
      writtenBytes: of('wbytes'),
      reads: of('rios'),
      writes: of('wios'),
    };
  });
}

/** `vda` rather than 254:0, if the host knows the device. */
const deviceName = (number: string): string =>
  /^DEVNAME=(.+)$/m.exec(textOrNothing(`/sys/dev/block/${number}/uevent`))?.[1] ?? number;

/** Names may contain a colon: the last one before numbers ends the name. */
export function parseNetDev(text: string): ContainerUsage['interfaces'] {
  const found: Record<string, ContainerUsage['interfaces'][string]> = {};
  for (const [, name = '', numbers = ''] of text.matchAll(/^ *(.+):((?: +[0-9]+){16}) *$/gm)) {
    const [rxBytes, rxPackets, rxErrs, rxDrop, , , , , txBytes, txPackets, txErrs, txDrop] = numbers
      .trim()
      .split(/ +/)
      .map(Number);
    found[name] = {
      receive: { bytes: rxBytes ?? 0, packets: rxPackets ?? 0, errs: rxErrs ?? 0, drop: rxDrop ?? 0 },
      transmit: { bytes: txBytes ?? 0, packets: txPackets ?? 0, errs: txErrs ?? 0, drop: txDrop ?? 0 },
    };
  }
  return found;
}

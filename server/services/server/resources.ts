// Processors and memory of the host (spec 2.15), read from /proc and /sys if present, else from the OS library.
import { readFile } from 'node:fs/promises';
import { cpus, freemem, totalmem } from 'node:os';
import type { Resources } from '../../api/server/server.ts';

export async function readResources(): Promise<Resources> {
  const cpuinfo = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  const sockets = cpuinfo === '' ? [] : await Promise.all(parseCpuinfo(cpuinfo).map(withFrequencies));
  const total = cpus().length;
  const fallback: Resources['cpu']['sockets'] = [
    {
      cores: total,
      threads: total,
      frequency: cpus()[0]?.speed ?? 0,
      frequency_turbo: 0,
      name: cpus()[0]?.model ?? '',
      vendor: '',
      socket: 0,
      numa_node: 0,
    },
  ];
  const available = await availableMemory();
  return {
    cpu: { sockets: sockets.length > 0 ? sockets : fallback, total },
    memory: { used: totalmem() - available, total: totalmem() },
  };
}

type Socket = Resources['cpu']['sockets'][number];

/** One entry a physical package, threads counted, cores by distinct `core id`. */
export function parseCpuinfo(text: string): Socket[] {
  const packages = new Map<string, { cores: Set<string>; socket: Socket }>();
  for (const block of text.split('\n\n')) {
    const fields = new Map(
      block
        .split('\n')
        .map((line) => line.split(':'))
        .map(([key = '', ...rest]) => [key.trim(), rest.join(':').trim()]),
    );
    const processor = fields.get('processor');
    if (processor === undefined) continue;
    const id = fields.get('physical id') ?? '0';
    const found = packages.get(id) ?? { cores: new Set<string>(), socket: emptySocket(fields, Number(id)) };
    found.cores.add(fields.get('core id') ?? processor);
    found.socket.threads += 1;
    found.socket.cores = found.cores.size;
    packages.set(id, found);
  }
  return [...packages.values()].map(({ socket }) => socket);
}

function emptySocket(fields: ReadonlyMap<string, string>, socket: number): Socket {
  return {
    cores: 0,
    threads: 0,
    frequency: Math.round(Number(fields.get('cpu MHz') ?? '0')),
    frequency_turbo: 0,
    name: fields.get('model name') ?? fields.get('Processor') ?? '',
    vendor: fields.get('vendor_id') ?? '',
    socket,
    numa_node: 0,
  };
}

async function withFrequencies(socket: Socket): Promise<Socket> {
  const khz = Number(await readFile('/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq', 'utf8').catch(() => '0'));
  return { ...socket, frequency_turbo: Math.round(khz / 1000) };
}

async function availableMemory(): Promise<number> {
  const meminfo = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kib === undefined ? freemem() : Number(kib) * 1024;
}

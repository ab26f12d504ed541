// Real containers: creating them from an image, starting them with a nic, stopping them. Not for simulated servers.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busyboxMissing } from '../support/busybox-rootfs.ts';
import { buildBusyboxImage } from '../support/image-busybox.ts';
import { timesOf, type Group } from './group.ts';
import { names, temporaryDir, type Server } from './servers.ts';

const count = 9;

export const imagesGroup: Group = async ({ servers, say, signal }) => {
  const real = servers.filter((server) => server.isReal);
  const missing = real.length === 0 ? 'no server of this run runs real containers' : busyboxMissing();
  if (missing !== undefined) {
    say(`skipped: containers from an image: ${missing}`);
    return [];
  }
  const dir = await temporaryDir();
  try {
    await mkdir(dir, { recursive: true });
    const image = await buildBusyboxImage(join(dir, 'image'));
    const samples = { first: {}, create: {}, start: {}, stop: {} } as Record<string, Record<string, readonly number[]>>;
    for (const server of real) {
      say(`images: ${server.name}`);
      const measured = await measure(server, image.metadataPath, signal);
      for (const [what, found] of Object.entries(measured)) (samples[what] ??= {})[server.name] = found;
    }
    const row = { group: 'images', unit: 'ms' } as const;
    return [
      { ...row, what: 'create a container from an image just uploaded', samples: samples['first'] ?? {} },
      { ...row, what: 'create a container from an image', samples: samples['create'] ?? {}, timesLxd: 3 },
      { ...row, what: 'start a container with a nic', samples: samples['start'] ?? {}, timesLxd: 3 },
      { ...row, what: 'force a container to stop', samples: samples['stop'] ?? {} },
    ];
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

async function measure(
  { wire, headerPrefix }: Server,
  file: string,
  signal: AbortSignal,
): Promise<Record<string, readonly number[]>> {
  const fingerprint = await wire.uploadImage(file, headerPrefix, names.imageFile);
  const pathOf = (index: number): string => `/1.0/containers/${names.container(index)}`;
  const make = (index: number) =>
    wire.change('POST', '/1.0/containers', {
      name: names.container(index),
      source: { type: 'image', fingerprint },
      profiles: [names.nicProfile],
    });
  const act = (action: string) => (index: number) =>
    wire.change('PUT', `${pathOf(index)}/state`, { action, force: action === 'stop', timeout: 30 });
  // An image may be unpacked once for all that follow: the first one is a row of its own.
  const first = await timesOf(1, () => make(count), signal);
  const create = await timesOf(count, make, signal);
  const start = await timesOf(count, act('start'), signal);
  for (let index = 0; index < count; index += 1) {
    const { status } = (await wire.get(pathOf(index))) as { status: string };
    if (status !== 'Running') throw new Error(`${pathOf(index)} is ${status}, not Running`);
  }
  const stop = await timesOf(count, act('stop'), signal);
  for (let index = 0; index <= count; index += 1) await wire.change('DELETE', pathOf(index));
  return { first, create, start, stop };
}

// Real containers: creating them from an image, starting them with a nic, stopping them. Not for simulated servers.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busyboxMissing } from '../support/busybox-rootfs.ts';
import { buildBusyboxImage } from '../support/image-busybox.ts';
import { takingTurns, type Group } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, temporaryDir, type Server } from './servers.ts';

const count = 15;

export const imagesGroup: Group = async ({ servers, say, signal }) => {
  say('images');
  const real = servers.filter((server) => server.isReal);
  const missing = real.length === 0 ? 'no server of this run runs real containers' : busyboxMissing();
  if (missing !== undefined) {
    say(`skipped: containers from an image: ${missing}`);
    return [];
  }
  const dir = await temporaryDir();
  try {
    const image = await buildBusyboxImage(join(dir, 'image'));
    return await measure(real, image.metadataPath, signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

const pathOf = (index: number): string => `/1.0/containers/${names.container(index)}`;

async function measure(servers: readonly Server[], file: string, signal: AbortSignal): Promise<readonly Row[]> {
  const fingerprints = new Map<Server, string>();
  for (const server of servers) {
    fingerprints.set(server, await server.wire.uploadImage(file, server.headerPrefix, names.imageFile));
  }
  const make = (server: Server, index: number) =>
    server.wire.change('POST', '/1.0/containers', {
      name: names.container(index),
      source: { type: 'image', fingerprint: fingerprints.get(server) },
      profiles: [names.nicProfile],
    });
  const act = (action: string) => (server: Server, index: number) =>
    server.wire.change('PUT', `${pathOf(index)}/state`, { action, force: action === 'stop', timeout: 30 });
  // An image may be unpacked once for all that follow: the first one is a row of its own.
  const first = await takingTurns(servers, { count: 1, block: 1 }, (server) => make(server, count), signal);
  const create = await takingTurns(servers, { count, block: 1 }, make, signal);
  const start = await takingTurns(servers, { count, block: 1 }, act('start'), signal);
  await mustRun(servers);
  const stop = await takingTurns(servers, { count, block: 1 }, act('stop'), signal);
  for (const server of servers) await removeContainers(server.wire, signal);
  const row = { group: 'images', unit: 'ms' } as const;
  return [
    { ...row, what: 'create a container from an image just uploaded', samples: first },
    { ...row, what: 'create a container from an image', samples: create, timesLxd: 3 },
    { ...row, what: 'start a container with a nic', samples: start, timesLxd: 3 },
    { ...row, what: 'force a container to stop', samples: stop },
  ];
}

async function mustRun(servers: readonly Server[]): Promise<void> {
  for (const server of servers) {
    for (let index = 0; index < count; index += 1) {
      const { status } = (await server.wire.get(pathOf(index))) as { status: string };
      if (status !== 'Running') throw new Error(`${pathOf(index)} of ${server.name} is ${status}, not Running`);
    }
  }
}

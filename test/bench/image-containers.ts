// Containers of one small image on every server that runs real ones, for the groups that need them. Measures nothing.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { busyboxMissing } from '../support/images/busybox-rootfs.ts';
import { buildBusyboxImage } from '../support/images/busybox.ts';
import type { BenchContext } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, temporaryDir, type Server } from './servers.ts';

export interface ImageContainers {
  /** Those that run real containers. */
  readonly servers: readonly Server[];
  create(this: void, server: Server, index: number, profile?: string): Promise<unknown>;
  act(this: void, action: string, force?: boolean): (server: Server, index: number) => Promise<unknown>;
}

export const pathOf = (index: number): string => `/1.0/containers/${names.container(index)}`;

/** Uploads the image, and removes all containers after the work. Without rows, and with a printed reason, where it cannot run. */
export async function withImage(
  { servers, say, signal }: BenchContext,
  what: string,
  work: (containers: ImageContainers) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const real = servers.filter((server) => server.isReal);
  const missing = real.length === 0 ? 'no server of this run runs real containers' : busyboxMissing();
  if (missing !== undefined) {
    say(`skipped: ${what}: ${missing}`);
    return [];
  }
  const dir = await temporaryDir();
  try {
    const { metadataPath } = await buildBusyboxImage(join(dir, 'image'));
    const fingerprints = new Map<Server, string>();
    for (const server of real) {
      fingerprints.set(server, await server.wire.uploadImage(metadataPath, server.headerPrefix, names.imageFile));
    }
    const rows = await work({
      servers: real,
      create: (server, index, profile = names.nicProfile) =>
        server.wire.change('POST', '/1.0/containers', {
          name: names.container(index),
          source: { type: 'image', fingerprint: fingerprints.get(server) },
          profiles: [profile],
        }),
      act:
        (action, force = false) =>
        (server, index) =>
          server.wire.change('PUT', `${pathOf(index)}/state`, { action, force, timeout: 30 }),
    });
    for (const server of real) {
      await removeContainers(server.wire, signal);
      await server.wire.change('DELETE', `/1.0/images/${fingerprints.get(server)}`);
    }
    return rows;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Throws unless all of them are in this state: the figures of a failed action would look good. */
export async function mustBe(servers: readonly Server[], count: number, wanted: string): Promise<void> {
  for (const server of servers) {
    for (let index = 0; index < count; index += 1) {
      const { status } = (await server.wire.get(pathOf(index))) as { status: string };
      if (status !== wanted) throw new Error(`${pathOf(index)} of ${server.name} is ${status}, not ${wanted}`);
    }
  }
}

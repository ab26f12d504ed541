// A container that can run commands: from an image of busybox on the real runtime, without an image on the simulated one.
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainer, type TestDaemon } from '../daemons/daemon.ts';
import { buildBusyboxImage } from '../images/busybox.ts';

/** It is not started. */
export async function busyboxContainer(
  daemon: TestDaemon,
  name: string,
  runtime: 'sim' | 'lxc',
  more: object = {},
): Promise<void> {
  if (runtime === 'sim') {
    await createContainer(daemon, name, more);
    return;
  }
  const work = await mkdtemp(join(await realpath(tmpdir()), 'gtyh-'));
  try {
    const built = await buildBusyboxImage(join(work, 'image'), { busybox: { dhcp: false } });
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=busybox' });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  await createContainer(daemon, name, { source: { type: 'image', alias: 'busybox' }, ...more });
}

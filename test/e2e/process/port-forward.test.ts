// `gantry port-forward` to a real container, with the program that its image has.
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import {
  createContainer,
  hostRemains,
  realRuntimeMissing,
  seed,
  setState,
  withDaemon,
} from '../../support/daemons/daemon.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: port-forward with real containers: ${missing}`);

test.skipIf(missing !== undefined)('connections to a local port reach a server in a real container', async () => {
  const built = await buildBusyboxImage(`${tempFolder('gpfr-')}/image`, { busybox: { dhcp: false } });
  let dir = 'none';
  await withDaemon({ runtime: 'lxc' }, async (daemon) => {
    dir = daemon.dir;
    await seed(daemon);
    await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
    await createContainer(daemon, 'fwd', { source: { type: 'image', alias: 'bb' } });
    await setState(daemon, 'fwd', 'start');
    const env = { GANTRY_SOCKET: daemon.socketPath };
    const serving = cli(['exec', 'fwd', '-T', 'sh', '-c', 'ip link set lo up; echo "from $(hostname)" | nc -l -p 80'], {
      env,
    });
    let interrupt = (): void => {};
    let opened: (port: number) => void = () => {};
    const port = new Promise<number>((resolve) => (opened = resolve));
    const forwarding = cli(['port-forward', 'fwd', ':80'], {
      env,
      interrupts: (one) => (interrupt = one),
      onStdout: (line) => opened(Number(/:(\d+) to port 80/.exec(line)?.[1])),
    });
    // The server inside may begin to listen after the first tries.
    let answer = '';
    for (let tries = 0; tries < 50 && answer === ''; tries += 1) {
      const socket = connect(await port, '127.0.0.1');
      answer = await text(socket);
      socket.destroy();
    }
    expect(answer).toBe('from fwd\n');
    interrupt();
    expect((await forwarding).code).toBe(130);
    await serving;
  });
  expect(hostRemains(dir)).toEqual([]);
});

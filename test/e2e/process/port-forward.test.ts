// `gantry port-forward` to a real container, with the program that its image has.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
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

test.skipIf(missing !== undefined)(
  'bytes go both ways between a local port and a server in a real container',
  async () => {
    const built = await buildBusyboxImage(`${tempFolder('gpfr-')}/image`, { busybox: { dhcp: false } });
    let dir = 'none';
    await withDaemon({ runtime: 'lxc' }, async (daemon) => {
      dir = daemon.dir;
      await seed(daemon);
      await daemon.ok('POST', '/1.0/images', await readFile(built.metadataPath), { 'x-svc-aliases': 'alias=bb' });
      await createContainer(daemon, 'fwd', { source: { type: 'image', alias: 'bb' } });
      await setState(daemon, 'fwd', 'start');
      const env = { GANTRY_SOCKET: daemon.socketPath };
      let endServer = (): void => {};
      const serving = cli(['exec', 'fwd', '-T', 'sh', '-c', 'ip link set lo up; exec nc -ll -p 80 -e cat'], {
        env,
        interrupts: (one) => (endServer = one),
      });
      let interrupt = (): void => {};
      let opened: (port: number) => void = () => {};
      const port = new Promise<number>((resolve) => (opened = resolve));
      const forwarding = cli(['port-forward', 'fwd', ':80'], {
        env,
        interrupts: (one) => (interrupt = one),
        onStdout: (line) => opened(Number(/:(\d+) to port 80/.exec(line)?.[1])),
      });
      const bytes = randomBytes(3 * 1_048_576);
      const echoed = async (): Promise<Buffer> => {
        const socket = connect({ port: await port, host: '127.0.0.1', allowHalfOpen: true });
        socket.on('error', () => {});
        socket.end(bytes);
        return buffer(socket).catch(() => Buffer.alloc(0));
      };
      // The server inside may begin to listen after the first tries.
      let answer = await echoed();
      for (let tries = 0; tries < 50 && answer.length === 0; tries += 1) answer = await echoed();
      expect(answer.equals(bytes)).toBe(true);
      const three = await Promise.all([echoed(), echoed(), echoed()]);
      expect(three.map((each) => each.equals(bytes))).toEqual([true, true, true]);
      interrupt();
      expect((await forwarding).code).toBe(130);
      endServer();
      await serving;
    });
    expect(hostRemains(dir)).toEqual([]);
  },
);

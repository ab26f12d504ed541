// Log lines of the server in `lxc monitor`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { clientMissing, lxcClient } from '../../support/hosts/lxd-clients.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const why = clientMissing('lxc');
if (why !== undefined) console.log(`skipped: ${why}`);

describe.skipIf(why !== undefined)('lxc', () => {
  let daemon: TestDaemon;
  const work = tempFolder('gtyv-');
  let lxc: ReturnType<typeof lxcClient>;
  beforeAll(async () => {
    daemon = await makeDaemon({ lxd: { socket: join(work, 'lxd', 'unix.socket') }, https: '127.0.0.1:0' });
    lxc = lxcClient(join(work, 'lxd'), work);
  });
  afterAll(() => daemon?.cleanUp());

  /** `lxc monitor` until its output has all of these; something happens on the daemon meanwhile. */
  async function monitored(
    flags: readonly string[],
    wanted: readonly RegExp[],
    happen: () => Promise<void>,
  ): Promise<string> {
    const child = spawn('lxc', ['monitor', '--type=logging', '--pretty', ...flags], {
      env: { ...process.env, ...lxc.env },
    });
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (output += bytes.toString()));
    try {
      await until(async () => {
        await happen();
        return wanted.every((pattern) => pattern.test(output));
      });
      return output;
    } finally {
      child.kill();
    }
  }

  test('monitor shows log lines as they are written, and those of requests only at level debug', async () => {
    const happen = async (): Promise<void> => {
      await daemon.call('GET', '/1.0/containers?secret=hush');
      daemon.publish('a line of the daemon');
    };
    const plain = await monitored(['--loglevel=info'], [/level=info msg="a line of the daemon"/], happen);
    expect(plain).not.toContain('Handling a request');
    const debug = await monitored(
      ['--loglevel=debug'],
      [/level=debug msg="Handling a request" ip=@ method=GET/, /a line/],
      happen,
    );
    expect(debug).toContain('secret=***');
    expect(plain + debug).not.toContain('hush');
  });
});

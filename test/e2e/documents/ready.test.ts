// Waits for containers after their start: commands, files, addresses, ports; and the message about one that does not get ready.
// On real containers and on a stock LXD.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

describe.each(await benchHosts('waiting for real containers', 'lxc', 'lxd'))('a container on %s', (host) => {
  let bench: Bench;
  let count = 0;
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());

  /** A new one each time, so that a test can be repeated. */
  const declare = (...waits: readonly string[]): string => {
    const name = `w${(count += 1)}`;
    const text = containerWith(`manage:\n  wait:\n${waits.map((wait) => `    - ${wait}\n`).join('')}`);
    bench.parts['container'] = text.replace('name: c1', `name: ${name}`);
    return name;
  };

  test('is ready once its command has succeeded, its file exists and its port answers', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const secondTime = 'mkdir /tmp/once && exit 4; touch /tmp/ready';
    const listening = 'nc -l -p 7777 >/dev/null 2>&1 </dev/null & sleep 1';
    // Simulated commands write no files.
    const inside =
      host === 'sim'
        ? ['{ exec: [sh, -c, "echo fine"] }', '{ file: /etc/mark }']
        : [
            `{ exec: [sh, -c, "${secondTime}"] }`,
            '{ file: /tmp/ready }',
            '{ ipv4: eth0 }',
            `{ exec: [sh, -c, "${listening}"] }`,
            '{ tcp: 7777 }',
          ];
    declare('running', `{ tcp: "127.0.0.1:${port}" }`, ...inside);
    try {
      const { stdout } = await bench.apply();
      expect(stdout).toContain('Apply complete');
      await bench.expectSettled();
    } finally {
      server.close();
    }
  });

  test('a container that does not get ready fails the run with its last output; the next run waits again', async () => {
    const name = declare('{ exec: [sh, -c, "echo not yet; exit 5"], timeout: 3s }');
    const run = await bench.gantry('apply', '--auto-approve');
    const said = `${run.stdout}${run.stderr}`;
    expect(run.code, said).toBe(6);
    expect(said).toContain('did not come in 3 s: Running');
    expect(said).toContain('it ended with code 5: not yet');
    expect(await bench.planned()).toEqual([expect.stringContaining(`container/${name}: `)]);
    bench.parts['container'] = bench.parts['container']?.replace('exit 5', 'exit 0') ?? '';
    await bench.settle();
  });

  // Simulated commands do not power off.
  if (host === 'sim') return;
  test('a container that powers itself off is not waited for', async () => {
    declare('{ exec: [sh, -c, "poweroff -f; sleep 600"], timeout: 10m }');
    const run = await bench.gantry('apply', '--auto-approve');
    expect(run.code, run.stdout).toBe(6);
    expect(`${run.stdout}${run.stderr}`).toContain('it stopped instead of getting ready: Stopped');
  });
});

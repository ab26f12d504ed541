// The example of two services, by its README and beyond: the answers on the host's port during changes, kills and a replacement.
import { existsSync } from 'node:fs';
import { get, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { buildShellPrograms, typeExample, walksOnSimulation } from '../../support/cli/examples.ts';
import { runProcess } from '../../support/cli/programs.ts';
import { hostParts, nothing, remove, withRealNetwork } from '../../support/hosts/remains.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();
const noImage = busyboxMissing();
if (noImage !== undefined) console.log(`skipped: the example web-and-db: ${noImage}`);
const network = 'shop0';

const programs = buildShellPrograms();

async function shell(gantryd: Gantryd, command: string): Promise<string> {
  const env = { GANTRY_SOCKET: gantryd.socketPath, PATH: `${programs.root}/path:${process.env['PATH'] ?? ''}` };
  const ran = await runProcess(['sh', '-c', `exec 2>&1; ${command}`], { cwd: programs.root, env });
  expect(ran.code, `$ ${command}\n${ran.stdout}`).toBe(0);
  return ran.stdout;
}

async function walkThrough(runtime: 'lxc' | 'sim', between: (gantryd: Gantryd) => Promise<void>): Promise<void> {
  const gantryd = await startGantryd(programs, { runtime });
  try {
    await typeExample(programs, {
      name: 'web-and-db',
      env: { GANTRY_SOCKET: gantryd.socketPath },
      before: async (command) => {
        if (command.startsWith('gantry destroy')) await between(gantryd);
      },
    });
    if (runtime === 'lxc') expect(hostParts(gantryd.dir, [network])).toEqual(nothing);
    for (const kind of ['containers', 'images', 'storage-pools']) expect(await gantryd.get(`/1.0/${kind}`)).toEqual([]);
    expect(existsSync(join(gantryd.dir, 'storage-pools', 'shop'))).toBe(false);
  } finally {
    await remove(gantryd, [network]);
  }
}

function ask(): Promise<string> {
  const port = Number(programs.replaced.here('18080'));
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/cgi-bin/message', agent: false, timeout: 10_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(`${response.statusCode} ${text.trim()}`));
      response.on('error', (error) => resolve(error.message));
    })
      .on('timeout', function (this: ClientRequest) {
        this.destroy();
      })
      .on('error', (error) => resolve(error.message));
  });
}

async function expectAnswer(wanted: string): Promise<void> {
  let last = '';
  await until(async () => (last = await ask()) === wanted).catch(() => expect(last).toBe(wanted));
}

async function serves(gantryd: Gantryd): Promise<void> {
  await expectAnswer('200 Hello from the volume');
  await shell(gantryd, `gantry exec shop-db -- sh -c 'echo "New goods" >/data/message'`);
  await expectAnswer('200 New goods');

  await gantryd.kill();
  await gantryd.start();
  await expectAnswer('200 New goods');
  expect(await shell(gantryd, 'gantry plan -f examples/web-and-db --detailed-exitcode')).toContain('No changes');

  const db = '/1.0/containers/shop-db';
  const wait = async (answer: Awaited<ReturnType<Gantryd['call']>>): Promise<void> => {
    expect(answer.status).toBe(202);
    const ended = await gantryd.call('GET', `${answer.body.operation as string}/wait`);
    expect(ended.metadata.status, ended.metadata.err as string).toBe('Success');
  };
  await wait(await gantryd.call('PUT', `${db}/state`, { action: 'stop', force: true }));
  await expectAnswer('503 the database does not answer');
  await wait(await gantryd.call('DELETE', db));
  await shell(gantryd, 'gantry apply -f examples/web-and-db --auto-approve');
  await expectAnswer('200 New goods');
}

describe('the example web-and-db', () => {
  test.skipIf(noImage !== undefined || !walksOnSimulation(missing))(
    'is planned, created, found unchanged and destroyed on the simulation',
    () =>
      walkThrough('sim', async (gantryd) => {
        await gantryd.kill();
        await gantryd.start();
        expect(await shell(gantryd, 'gantry plan -f examples/web-and-db --detailed-exitcode')).toContain('No changes');
      }),
  );

  test.skipIf(missing !== undefined)(
    'serves from its volume across a killed daemon and a new container, and leaves nothing behind',
    { timeout: 300_000 },
    () => withRealNetwork(network, () => walkThrough('lxc', serves)),
  );
});

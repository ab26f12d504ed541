// One container's life on real servers: starting, commands in it, files, freezing, both ways of stopping, deleting.
import { randomBytes } from 'node:crypto';
import { PassThrough, Writable } from 'node:stream';
import { takingTurns, type BenchContext, type Group } from './group.ts';
import { mustBe, pathOf, withImage, type ImageContainers } from './image-containers.ts';
import type { Row } from './report.ts';
import { names, type Server } from './servers.ts';

const count = 15;
const commands = 40;
const fileBytes = 64 * 1024 * 1024;

export const lifeGroup: Group = async (context) =>
  withImage(context, 'the life of containers', async (containers) => {
    const { servers, create, act } = containers;
    const { say, signal } = context;
    const turns = (work: (server: Server, index: number) => Promise<unknown>) =>
      takingTurns(servers, { count, block: 1 }, work, signal);
    say('life: creating and starting');
    await turns((server, index) => create(server, index));
    const start = await turns(act('start'));
    await mustBe(servers, count, 'Running');
    const inside = [...(await execRows(context, containers)), ...(await fileRows(context, containers))];
    say('life: freezing, stopping, deleting');
    const idle = await turns(act('freeze'));
    await mustBe(servers, count, 'Frozen');
    await turns(act('unfreeze'));
    const working = await freezeAtWork(context, containers, 1);
    const busy = await freezeAtWork(context, containers, 4);
    const clean = await turns(act('stop'));
    await mustBe(servers, count, 'Stopped');
    await turns(act('start'));
    const forced = await turns(act('stop', true));
    await mustBe(servers, count, 'Stopped');
    const remove = await turns((server, index) => server.wire.change('DELETE', pathOf(index)));
    return [
      row('start a container with a nic', start, 3),
      ...inside,
      row('freeze a container that sleeps', idle),
      row('freeze a container with one busy process', working.freeze, 20),
      row('freeze a container with four busy processes', busy.freeze, 20),
      row('unfreeze it', busy.unfreeze),
      row('stop by an init that obeys', clean, 1.5),
      row('force a container to stop', forced, 5),
      row('delete a container', remove, 1.5),
    ];
  });

/**
 * Processes that start and end, as in a busy container: the kernel cannot stop them all at its first try. With one process the first
 * try sometimes succeeds, with several never: LXD checks once a second, gantryd each millisecond.
 */
const work = 'trap exit TERM; while true; do /bin/true; done';

async function freezeAtWork({ signal }: BenchContext, { servers, act }: ImageContainers, loops: number) {
  for (const { wire } of servers) {
    const command = ['sh', '-c', `(${work}) </dev/null >/dev/null 2>&1 & echo $! >> /run/work`];
    for (let loop = 0; loop < loops; loop += 1)
      await wire.change('POST', `${pathOf(0)}/exec`, { command, environment: {} });
  }
  const freeze: Record<string, readonly number[]> = {};
  const unfreeze: Record<string, readonly number[]> = {};
  for (let index = 0; index < count; index += 1) {
    for (const [samples, action] of [
      [freeze, 'freeze'],
      [unfreeze, 'unfreeze'],
    ] as const) {
      const found = await takingTurns(servers, { count: 1, block: 1 }, (server) => act(action)(server, 0), signal);
      for (const [name, times] of Object.entries(found)) samples[name] = [...(samples[name] ?? []), ...times];
    }
  }
  for (const { wire } of servers) {
    await wire.change('POST', `${pathOf(0)}/exec`, {
      command: ['sh', '-c', 'kill $(cat /run/work); rm /run/work'],
      environment: {},
    });
  }
  return { freeze, unfreeze };
}

const row = (what: string, samples: Row['samples'], timesLxd?: number): Row => ({
  group: 'life',
  what,
  unit: 'ms',
  samples,
  ...(timesLxd === undefined ? {} : { timesLxd }),
});

/** `true`, which itself takes no time, in the three forms of a request. */
async function execRows(context: BenchContext, { servers }: ImageContainers): Promise<readonly Row[]> {
  const { say, signal } = context;
  say('life: commands');
  const inTurns = async (work: (server: Server) => Promise<unknown>) => {
    await takingTurns(servers, { count: 10, block: 10 }, work, signal);
    return takingTurns(servers, { count: commands, block: 8 }, work, signal);
  };
  const alone = async (server: Server): Promise<void> => {
    const ended = await server.wire.change('POST', `${pathOf(0)}/exec`, { command: ['true'], environment: {} });
    mustBeZero(server, ended?.metadata?.['return']);
  };
  const connected = (terminal: boolean) => async (server: Server) => {
    const session = await server.client.exec(names.container(0), {
      command: ['true'],
      // A terminal hangs up at the end of its input.
      ...(terminal ? { terminal: { columns: 80, rows: 24 }, stdin: new PassThrough() } : {}),
      stdout: nowhere(),
      stderr: nowhere(),
    });
    mustBeZero(server, await session.exited);
  };
  return [
    row('exec true, no websocket', await inTurns(alone), 1.5),
    row('exec true, three websockets', await inTurns(connected(false)), 1.5),
    row('exec true, terminal', await inTurns(connected(true)), 1.5),
  ];
}

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

function mustBeZero(server: Server, code: unknown): void {
  if (code !== 0) throw new Error(`true in ${names.container(0)} of ${server.name} ended with ${String(code)}`);
}

async function fileRows({ say, signal }: BenchContext, { servers }: ImageContainers): Promise<readonly Row[]> {
  say('life: files');
  const content = randomBytes(fileBytes);
  const path = `${pathOf(0)}/files?path=/root/bench`;
  const turns = (work: (server: Server) => Promise<unknown>) =>
    takingTurns(servers, { count: 8, block: 1 }, work, signal);
  const push = await turns((server) => server.wire.push(path, content, { [`${server.headerPrefix}type`]: 'file' }));
  const pull = await turns(async (server) => {
    const size = await server.wire.pull(path);
    if (size !== fileBytes) throw new Error(`${server.name} gave ${size} of ${fileBytes} bytes`);
  });
  return [row('push a file of 64 MiB', push, 1.5), row('pull a file of 64 MiB', pull, 1.5)];
}

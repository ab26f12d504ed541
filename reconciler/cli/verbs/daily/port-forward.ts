// `gantry port-forward NAME [LOCAL:]PORT...`: forwards local connections to a port inside a container through a command that runs there.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { Client } from '../../../../server/client/client.ts';
import { untilAborted } from '../../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { notRunning } from '../../errors/not-running.ts';
import { usageError, commandError } from '../../errors/usage-error.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Run } from '../../session/context.ts';
import type { PortForwardOptions } from './daily-verbs.ts';

interface Ports {
  readonly local: number;
  readonly inside: number;
}

const noProgram = 127;

/** Connects its streams to a port with the first program that the container has. bash cannot half-close. */
export const carrier = [
  'if command -v socat >/dev/null 2>&1; then exec socat - "TCP:127.0.0.1:$1"; fi',
  'if command -v nc >/dev/null 2>&1; then exec nc 127.0.0.1 "$1"; fi',
  `command -v bash >/dev/null 2>&1 || exit ${noProgram}`,
  `exec bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1; exec 4<&0; cat <&4 >&3 & exec cat <&3' bash "$1"`,
].join('\n');

export const portForward: Run<PortForwardOptions> = async (context, [word = '', ...texts]) => {
  const name = parseContainer(word, 'gantry port-forward');
  const ports = texts.map(parsePorts);
  const address = context.options.address ?? '127.0.0.1';
  return withClient(context, async (client) => {
    const state = await client.containerState(name, context.stop).catch(refuseMissing('container', name));
    const { status } = state.metadata;
    if (status !== 'Running') throw notRunning(name, status, exitCodes.notReady);
    const servers: Server[] = [];
    const sockets = new Set<Socket>();
    try {
      for (const one of ports) {
        const server = createServer({ allowHalfOpen: true }, (socket) => {
          sockets.add(socket);
          socket.once('close', () => sockets.delete(socket));
          void carry(context, client, name, one.inside, socket);
        });
        servers.push(server);
        const local = await listen(server, address, one);
        context.out(`Forwarding ${address}:${local} to port ${one.inside} of ${name}`);
        context.jsonObjects({ kind: 'container', name, address, local, port: one.inside });
      }
      context.takeAnnouncements();
      await untilAborted(AbortSignal.any([context.stop, context.io.lost]));
    } finally {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    }
    return exitCodes.interrupted;
  });
};

/** `8080:80`, `80` for both, `:80` or `0:80` for any free one here. */
export function parsePorts(text: string): Ports {
  const match = /^(?:(\d*):)?(\d+)$/.exec(text);
  const inside = Number(match?.[2]);
  const local = match?.[1] === undefined ? inside : Number(match[1]);
  if (match === null || inside < 1 || inside > 65_535 || local > 65_535)
    throw usageError(`${JSON.stringify(text)} is not [LOCAL:]PORT, as in 8080:80`);
  return { local, inside };
}

async function listen(server: Server, address: string, { local, inside }: Ports): Promise<number> {
  await once(server.listen(local, address), 'listening').catch((error: unknown) => {
    throw commandError(
      `cannot listen at ${address}:${local}: ${reasonOf(error)}. Give another port of this machine, as in :${inside} for any`,
      error,
    );
  });
  return (server.address() as AddressInfo).port;
}

/** Carries one connection. A failure is reported and ends no other connection. */
async function carry(context: Command, client: Client, name: string, port: number, socket: Socket): Promise<void> {
  const complaints: Buffer[] = [];
  const stderr = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (complaints.length < 8) complaints.push(chunk);
      done();
    },
  });
  socket.on('error', () => {});
  try {
    const command = ['sh', '-c', carrier, 'sh', String(port)];
    const session = await client.exec(name, { command, stdin: socket, stdout: socket, stderr }, context.stop);
    socket.once('close', () => session.close());
    const code = await session.exited;
    const said = Buffer.concat(complaints).toString('utf8').trim().split('\n')[0] ?? '';
    if (code === noProgram) context.note(`${name} has none of socat, nc and bash, of which port-forward needs one`);
    else if (
      code !== 0 &&
      session.outputBytes() === complaints.reduce((sum, { length }) => sum + length, 0) &&
      !socket.destroyed
    )
      context.note(`Port ${port} of ${name} did not answer${said === '' ? '' : ` (${said})`}`);
  } catch (error) {
    if (!context.stop.aborted) context.note(`Port ${port} of ${name}: ${reasonOf(error)}`);
  } finally {
    socket.end();
  }
}

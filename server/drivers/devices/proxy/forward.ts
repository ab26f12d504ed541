// Moves bytes between two ends of a forward: streams with half-closes and backpressure, datagrams with sessions per client.
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { proxyHeader, type Endpoint } from './proxy-plan.ts';

export interface Ends {
  /** A new socket for a connection; throws if none can be made. */
  readonly connector: () => number;
  readonly connect: Endpoint;
  readonly proxyProtocol: boolean;
  readonly failed: (error: unknown) => void;
}

export interface Listener {
  close(): Promise<void>;
}

/** Lifetime of a client of a datagram forward after its last datagram, and the maximum number of clients. */
const sessionMs = 60_000;
const maxSessions = 1024;

/** `fd`: a listening socket, tcp or unix. Connections are read only as fast as the other end accepts data. */
export async function listenStream(fd: number, ends: Ends): Promise<Listener> {
  const open = new Set<() => void>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    const close = ends.connect.kind === 'udp' ? streamToUdp(client, ends) : streamToStream(client, ends);
    open.add(close);
    client.once('close', () => open.delete(close));
  });
  await once(server.listen({ fd }), 'listening');
  server.on('error', ends.failed);
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const close of open) close();
      await closed;
    },
  };
}

/** Tcp sockets are not connected yet; unix ones are. */
function connectStream(ends: Ends, connected: (socket: Socket) => void, failed: () => void): Socket | undefined {
  let fd: number;
  try {
    fd = ends.connector();
  } catch (error) {
    ends.failed(error);
    failed();
    return undefined;
  }
  const { connect } = ends;
  const socket = new Socket({ fd, allowHalfOpen: true, ...(connect.kind === 'tcp' ? { manualStart: true } : {}) });
  socket.once('error', failed);
  if (connect.kind === 'tcp') {
    socket.once('connect', () => connected(socket));
    socket.connect({ host: connect.host, port: connect.port });
  } else connected(socket);
  return socket;
}

function streamToStream(client: Socket, ends: Ends): () => void {
  client.on('error', () => {});
  const upstream = connectStream(
    ends,
    (socket) => {
      if (client.destroyed) {
        socket.destroy();
        return;
      }
      if (ends.proxyProtocol) {
        const from = { address: client.remoteAddress, port: client.remotePort };
        socket.write(proxyHeader(from, { address: client.localAddress, port: client.localPort }));
      }
      // The end of one half is passed on; the other half continues.
      client.pipe(socket);
      socket.pipe(client);
      client.resume();
    },
    () => client.destroy(),
  );
  upstream?.on('error', () => {});
  upstream?.once('close', (failed) => followClose(client, failed));
  client.once('close', (failed) => followClose(upstream, failed));
  return () => {
    client.destroy();
    upstream?.destroy();
  };
}

/** The other end has closed: data it sent before is still delivered, unless the connection broke. */
function followClose(socket: Socket | undefined, failed: boolean): void {
  if (socket === undefined || socket.destroyed) return;
  if (failed || socket.connecting) socket.destroy();
  else if (socket.writableFinished) socket.destroy();
  else {
    socket.once('finish', () => socket.destroy());
    socket.end();
  }
}

/** Each piece read becomes a datagram. */
function streamToUdp(client: Socket, ends: Ends): () => void {
  client.on('error', () => {});
  const session = openSession(ends, (message) => {
    if (!client.destroyed && client.writableLength < 1024 * 1024) client.write(message);
  });
  if (session === undefined) {
    client.destroy();
    return () => {};
  }
  client.on('data', (chunk: Buffer) => session.send(chunk));
  client.once('end', () => client.end());
  client.once('close', () => session.close());
  client.resume();
  return () => client.destroy();
}

interface Session {
  send(message: Buffer): void;
  close(): void;
}

function openSession(ends: Ends, received: (message: Buffer) => void): Session | undefined {
  const { connect } = ends;
  if (connect.kind === 'unix') return undefined;
  try {
    const socket = udpOf(ends.connector(), connect.host);
    socket.on('message', received);
    socket.on('error', () => {});
    return {
      send: (message) => socket.send(message, connect.port, connect.host, () => {}),
      close: () => closeUdp(socket),
    };
  } catch (error) {
    ends.failed(error);
    return undefined;
  }
}

function udpOf(fd: number, host: string): UdpSocket {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.bind({ fd });
  return socket;
}

function closeUdp(socket: UdpSocket): void {
  try {
    socket.close();
  } catch {
    // Closed already.
  }
}

/** `fd`: a bound udp socket. Every client has its own socket (or connection) to the other side. */
export function listenUdp(fd: number, host: string, ends: Ends): Listener {
  const server = udpOf(fd, host);
  server.on('error', ends.failed);
  const sessions = new Map<string, Session & { timer: NodeJS.Timeout }>();
  const forget = (key: string): void => {
    const session = sessions.get(key);
    sessions.delete(key);
    clearTimeout(session?.timer);
    session?.close();
  };
  server.on('message', (message: Buffer, from: RemoteInfo) => {
    const key = `${from.address} ${from.port}`;
    let session = sessions.get(key);
    if (session === undefined) {
      const reply = (answer: Buffer): void => server.send(answer, from.port, from.address, () => {});
      const made =
        ends.connect.kind === 'udp' ? openSession(ends, reply) : streamSession(ends, reply, () => forget(key));
      if (made === undefined) return;
      const [oldest] = sessions.keys();
      if (sessions.size >= maxSessions && oldest !== undefined) forget(oldest);
      session = { ...made, timer: setTimeout(() => forget(key), sessionMs) };
      session.timer.unref();
      sessions.set(key, session);
    }
    session.timer.refresh();
    session.send(message);
  });
  return {
    close: async () => {
      for (const key of sessions.keys()) forget(key);
      closeUdp(server);
    },
  };
}

/** Datagrams that arrive faster than the stream accepts them are dropped, as datagrams may be. */
function streamSession(ends: Ends, reply: (message: Buffer) => void, ended: () => void): Session | undefined {
  const waiting: Buffer[] = [];
  let ready: Socket | undefined;
  const socket = connectStream(
    ends,
    (connected) => {
      ready = connected;
      for (const message of waiting.splice(0)) connected.write(message);
      connected.on('data', reply);
    },
    ended,
  );
  if (socket === undefined) return undefined;
  socket.once('close', ended);
  return {
    send: (message) => {
      if (ready === undefined) {
        if (waiting.length < 64) waiting.push(message);
      } else if (ready.writableLength < 1024 * 1024) ready.write(message);
    },
    close: () => socket.destroy(),
  };
}

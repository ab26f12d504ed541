// The header of the PROXY protocol (versions 1 and 2), by which a proxy in front of a listener says whose connection it passes on. Trusted
// proxies may send it before TLS; from everybody else it is no TLS, and ends the connection.
import { isIP, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

export interface ProxyHeader {
  /** Bytes of the header. */
  readonly length: number;
  /** Absent: the proxy itself connects, as to see whether the server is well. */
  readonly client?: { readonly address: string; readonly port: number };
}

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const longestV1 = 107;
const longestV2 = 16 + 4096;

/** Absent: it needs more bytes. Wrong: it is no header. Pure. */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'absent' | 'wrong' {
  const start = bytes.subarray(0, signature.length);
  if (start.equals(signature.subarray(0, start.length)) && start.length > 0) return readV2(bytes);
  const end = bytes.indexOf('\r\n');
  const isWhole = end >= 0 && end + 2 <= longestV1;
  if (!isWhole)
    return 'PROXY '.startsWith(bytes.toString('latin1', 0, 6)) && bytes.length < longestV1 ? 'absent' : 'wrong';
  const [, family, source = '', port = ''] = /^PROXY (?:TCP([46]) (\S+) \S+ (\d{1,5}) \d{1,5}|UNKNOWN.*)$/.exec(
    bytes.toString('latin1', 0, end),
  ) ?? ['', 'none'];
  if (family === undefined) return { length: end + 2 };
  if (isIP(source) !== Number(family)) return 'wrong';
  return { length: end + 2, client: { address: source, port: Number(port) } };
}

function readV2(bytes: Buffer): ProxyHeader | 'absent' | 'wrong' {
  if (bytes.length < 16) return 'absent';
  const length = 16 + bytes.readUInt16BE(14);
  const [command, family] = [bytes.readUInt8(12), bytes.readUInt8(13)];
  if (length > longestV2 || (command !== 0x20 && command !== 0x21)) return 'wrong';
  if (bytes.length < length) return 'absent';
  const width = { 0x11: 4, 0x21: 16 }[family];
  if (command === 0x20 || width === undefined) return { length };
  if (length < 16 + 2 * width + 4) return 'wrong';
  const source = bytes.subarray(16, 16 + width);
  const address = width === 4 ? source.join('.') : (source.toString('hex').match(/.{4}/g) ?? []).join(':');
  return { length, client: { address, port: bytes.readUInt16BE(16 + 2 * width) } };
}

/** Listeners of the server see a connection after its header, with the address of the client. `isTrusted`: whether this address is a
 *  proxy's. */
export function acceptProxies(server: Server, isTrusted: (address: string) => boolean, headerMs: number): void {
  const claims = new Map<string, NonNullable<ProxyHeader['client']>>();
  const emit = server.emit.bind(server);
  server.emit = (event: string, ...args: unknown[]): boolean => {
    const [socket] = args as [Socket & TLSSocket];
    if (event === 'secureConnection') claim(socket, claims.get(keyOf(socket)));
    if (event !== 'connection' || !isTrusted(socket.remoteAddress ?? '')) return emit(event, ...args);
    readHeader(socket, headerMs, (header) => {
      const key = keyOf(socket);
      if (header.client !== undefined) {
        claims.set(key, header.client);
        socket.once('close', () => claims.delete(key));
        claim(socket, header.client);
      }
      emit('connection', socket);
    });
    return true;
  };
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function claim(socket: Duplex, client: ProxyHeader['client']): void {
  if (client === undefined) return;
  Object.defineProperty(socket, 'remoteAddress', { value: client.address });
  Object.defineProperty(socket, 'remotePort', { value: client.port });
}

/** A connection that begins with TLS has no header. */
function readHeader(socket: Socket, headerMs: number, then: (header: ProxyHeader) => void): void {
  const timer = setTimeout(() => socket.destroy(), headerMs).unref();
  const fail = (): void => void socket.destroy();
  const end = (header: ProxyHeader): void => {
    clearTimeout(timer);
    socket.off('readable', look).off('error', fail).off('end', fail);
    if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length));
    then(header);
  };
  let bytes = Buffer.alloc(0);
  const look = (): void => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    bytes = Buffer.concat([bytes, more]);
    const found = bytes[0] === 0x16 ? { length: 0 } : readProxyHeader(bytes);
    if (found === 'wrong') socket.destroy();
    else if (found !== 'absent') end(found);
  };
  socket.on('readable', look).on('error', fail).on('end', fail);
  look();
}

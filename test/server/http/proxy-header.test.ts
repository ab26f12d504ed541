// The header of the PROXY protocol: its forms, and who may send one to a listener.
import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isTrustedProxy } from '../../../server/api/server/server-config.ts';
import { validateServerConfig } from '../../../server/api/server/validate-server-config.ts';
import { readProxyHeader } from '../../../server/http/listen/proxy-header.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeClient } from '../../support/daemons/tls.ts';

const v2 = (command: number, family: number, body: readonly number[]): Buffer =>
  Buffer.from([...Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'), command, family, 0, body.length, ...body]);
const ipv4 = [192, 0, 2, 7, 10, 0, 0, 1, 0x9c, 0x40, 0x20, 0xfb];
const ipv6 = [0x20, 0x01, 0x0d, 0xb8, ...Array<number>(11).fill(0), 7, ...Array<number>(16).fill(1), 0x9c, 0x40, 1, 1];
const v1 = 'PROXY TCP4 192.0.2.7 10.0.0.1 40000 8443\r\n';

describe('a header', () => {
  test.each<[string, Buffer | string, string, number]>([
    ['of version 1', v1, '192.0.2.7', 42],
    ['of version 1 with IPv6', 'PROXY TCP6 2001:db8::7 ::1 40000 8443\r\n', '2001:db8::7', 39],
    ['of version 2', v2(0x21, 0x11, ipv4), '192.0.2.7', 28],
    ['of version 2 with more at its end', v2(0x21, 0x11, [...ipv4, 3, 0, 1, 9]), '192.0.2.7', 32],
    ['of version 2 with IPv6', v2(0x21, 0x21, ipv6), '2001:0db8:0000:0000:0000:0000:0000:0007', 52],
  ])('%s names the client, and needs all of its bytes', (_name, text, address, length) => {
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from('\x16rest')]);
    expect(readProxyHeader(bytes)).toEqual({ length, client: { address, port: 40_000 } });
    for (let end = 1; end < length; end += 1) expect(readProxyHeader(bytes.subarray(0, end))).toBe('absent');
  });

  test('names nobody where the proxy itself connects or the client has no address', () => {
    expect(readProxyHeader(v2(0x20, 0, []))).toEqual({ length: 16 });
    expect(readProxyHeader(v2(0x21, 0x31, ipv4))).toEqual({ length: 28 });
    expect(readProxyHeader(Buffer.from('PROXY UNKNOWN\r\n'))).toEqual({ length: 15 });
  });

  test.each<[string, Buffer | string]>([
    ['another word', 'GET / HTTP/1.1\r\n'],
    ['a name for an address', 'PROXY TCP4 evil 10.0.0.1 1 2\r\n'],
    ['an address of the other family', 'PROXY TCP4 ::1 ::1 1 2\r\n'],
    ['a line without end', `PROXY TCP4 ${'1'.repeat(200)}`],
    ['another version', v2(0x11, 0x11, ipv4)],
    ['too few bytes for its family', v2(0x21, 0x21, ipv4)],
  ])('with %s is wrong', (_name, text) => {
    expect(readProxyHeader(Buffer.from(text))).toBe('wrong');
  });
});

test('core.https_trusted_proxy has addresses, in any spelling', () => {
  expect(validateServerConfig({ 'core.https_trusted_proxy': '10.0.0.1, fd42::1' })).toEqual([]);
  expect(validateServerConfig({ 'core.https_trusted_proxy': '10.0.0.0/8' })).toHaveLength(1);
  const trusted = (address: string) => isTrustedProxy('10.0.0.1, fd42:0::1', address);
  expect(['10.0.0.1', '::ffff:10.0.0.1', 'fd42::1', '10.0.0.2', ''].map(trusted)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(isTrustedProxy('', '')).toBe(false);
});

interface Made {
  readonly action: string;
  readonly requestor: { readonly address: string };
}

describe('a listener', () => {
  const opened = async (proxies: string): Promise<{ daemon: TestDaemon; port: number }> => {
    const daemon = await makeDaemon({ https: '127.0.0.1:0' });
    onTestFinished(() => daemon.cleanUp());
    await daemon.call('PATCH', '/1.0', { config: { 'core.https_trusted_proxy': proxies } });
    return { daemon, port: Number(((await daemon.get('/1.0')).environment.addresses[0] as string).split(':').at(-1)) };
  };
  /** The address that the server sees as that of a client, after these pieces; undefined: it ended the connection. */
  const seenAs = async (
    daemon: TestDaemon,
    port: number,
    pieces: readonly (string | Buffer)[],
  ): Promise<string | undefined> => {
    const { certPem, keyPem } = await makeClient();
    await daemon.call('POST', '/1.0/certificates', {
      type: 'client',
      certificate: certPem.replaceAll(/-----[A-Z ]+-----|\s/g, ''),
    });
    const events = await daemon.listen('lifecycle');
    const raw = connect(port, '127.0.0.1').on('error', () => {});
    const isCut = once(raw, 'close').then(() => false);
    await once(raw, 'connect');
    raw.setNoDelay();
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await new Promise((resolve) => setTimeout(resolve, 20));
      raw.write(piece);
    }
    const socket = connectTls({ socket: raw, cert: certPem, key: keyPem, rejectUnauthorized: false });
    try {
      const isOpen = once(socket, 'secureConnect').then(
        () => true,
        () => false,
      );
      if (!(await Promise.race([isOpen, isCut]))) return undefined;
      const body = JSON.stringify({ name: `p${Math.random()}` });
      socket.write(
        `POST /1.0/profiles HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const event = await events.next(({ metadata }) => (metadata as Made).action === 'profile-created');
      return (event.metadata as Made).requestor.address;
    } finally {
      events.close();
      socket.destroy();
      raw.destroy();
    }
  };

  test('takes the header from the addresses of core.https_trusted_proxy, in pieces too, and connections without it', async () => {
    const { daemon, port } = await opened('192.0.2.1,127.0.0.1');
    expect(await seenAs(daemon, port, [v1])).toBe('192.0.2.7');
    expect(await seenAs(daemon, port, [v1.slice(0, 9), v1.slice(9)])).toBe('192.0.2.7');
    expect(await seenAs(daemon, port, [v2(0x21, 0x11, ipv4)])).toBe('192.0.2.7');
    expect(await seenAs(daemon, port, [v2(0x20, 0, [])])).toBe('127.0.0.1');
    expect(await seenAs(daemon, port, [])).toBe('127.0.0.1');
    expect(await seenAs(daemon, port, ['PROXY TCP4 evil 1 2 3\r\n'])).toBeUndefined();
  });

  test('ends a connection with the header from everybody else', async () => {
    const { daemon, port } = await opened('192.0.2.1');
    expect(await seenAs(daemon, port, [v1])).toBeUndefined();
    expect(await seenAs(daemon, port, [])).toBe('127.0.0.1');
  });
});

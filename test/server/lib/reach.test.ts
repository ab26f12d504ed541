// Which addresses a connection requested by an untrusted caller may reach.
import { createServer, connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { checkReach, isWithin, lookupWithin, OutOfReach } from '../../../server/lib/reach.ts';

const reach = { allowed: ['10.1.0.0/16', 'fd00:1::/32'], rule: 'the rule of a test' };

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

describe('addresses', () => {
  test.each(
    words('8.8.8.8 192.0.1.1 2606:4700::1111 64:ff9b::808:808 2002:808:808::1 10.1.2.3 ::ffff:10.1.0.1 fd00:1::7'),
  )('%s may be connected to', (address) => expect(isWithin(address, reach)).toBe(true));

  test.each(
    words(`127.0.0.1 127.9.9.9 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1
      224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::127.0.0.1 fe80::1 fec0::1 fd00:2::1 ff02::1
      64:ff9b::7f00:1 2002:7f00:1:: 2002:a00:1::1 localhost`),
  )('%s may not', (address) => expect(isWithin(address, reach)).toBe(false));

  test('a network of the list that cannot be read allows nothing', () => {
    for (const bad of ['', 'lan', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', '10.0.0.0/', '0.0.0.0/-1'])
      expect(isWithin('10.0.0.1', { allowed: [bad], rule: '' })).toBe(false);
    for (const good of ['10.0.0.0/8', '10.0.0.1'])
      expect(isWithin('10.0.0.1', { allowed: [good], rule: '' })).toBe(true);
  });
});

describe('names', () => {
  test('a name of this host is judged by its addresses', async () => {
    await expect(checkReach('localhost', reach)).rejects.toThrow(OutOfReach);
    await expect(checkReach('[::1]', reach)).rejects.toThrow(OutOfReach);
    await expect(checkReach('127.0.0.1', { ...reach, allowed: ['127.0.0.0/8'] })).resolves.toBeUndefined();
  });

  test('an unknown name, a private address and a closed port have the same message', async () => {
    const published = async (host: string, port: number): Promise<string> => {
      const socket = connect({ host, port, lookup: lookupWithin(reach) });
      const [error] = (await once(socket, 'error')) as [Error];
      return error.message.replace(host, 'HOST');
    };
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const all = [
      await published('localhost', port),
      await published('localhost', 1),
      await published('nowhere.invalid', port),
    ];
    server.close();
    expect(new Set(all)).toEqual(new Set(['HOST has no address, or one that may not be asked: the rule of a test']));
  });

  test('an address of the list is connected to', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const own = { ...reach, allowed: ['127.0.0.0/8', '::1'] };
    const socket = connect({ host: 'localhost', port, lookup: lookupWithin(own), autoSelectFamily: true });
    await once(socket, 'connect');
    expect(socket.remotePort).toBe(port);
    socket.destroy();
    server.close();
  });
});

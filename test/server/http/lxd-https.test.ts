// core.https_address opens the listener of the dialect of the client that set it, now and after restarts; flags go before it.
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { reachable } from '../../../server/services/server/https-listeners.ts';
import { call, withDaemon, type Answer, type TestDaemon, type Wire } from '../../support/daemons/daemon.ts';
import { callTls } from '../../support/daemons/tls.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const work = tempFolder('gtyh-');
let lxd: Wire = { socketPath: '' };
beforeAll(() => void (lxd = { socketPath: join(work, 'unix.socket') }));

const freeAddress = async () => ({ 'core.https_address': `127.0.0.1:${await freePort()}` });
const set = (wire: Wire, config: object): Promise<Answer> => call(wire, 'PATCH', '/1.0', { config });
const addressesFor = async (wire: Wire): Promise<string[]> =>
  (await call(wire, 'GET', '/1.0')).metadata.environment.addresses;

/** Only the dialect of LXD puts the reason in `error`. */
async function dialectAt(at: string | undefined): Promise<string> {
  const { body } = await callTls(at ?? 'none', 'GET', '/1.0/containers');
  return body.error === 'Failure' ? 'svc' : 'lxd';
}

describe('core.https_address', () => {
  test('set by a client of LXD is where clients of LXD are served, also after a restart', async () => {
    await withDaemon({ lxd: { socket: lxd.socketPath } }, async (daemon) => {
      const address = await freeAddress();
      expect((await set(lxd, address)).status).toBe(200);
      const [shown] = await addressesFor(lxd);
      expect([await dialectAt(shown), await addressesFor(daemon)]).toEqual(['lxd', []]);
      await set(daemon, { 'images.auto_update_interval': '3' });
      await call(lxd, 'PUT', '/1.0', { config: address });
      expect(await addressesFor(lxd)).toEqual([shown]);
      await daemon.restart();
      expect(await dialectAt((await addressesFor(lxd))[0])).toBe('lxd');
    });
  });

  test('belongs to the dialect that changed it last, and no listener stays when it is unset', async () => {
    await withDaemon({ lxd: { socket: lxd.socketPath } }, async (daemon) => {
      await set(daemon, await freeAddress());
      const [own] = await addressesFor(daemon);
      expect([await dialectAt(own), await addressesFor(lxd)]).toEqual(['svc', []]);
      // Clients send all keys again when they change another one.
      await set(lxd, { 'core.https_address': own, 'images.auto_update_interval': '3' });
      expect(await addressesFor(lxd)).toEqual([]);
      await set(lxd, { 'core.https_address': '' });
      expect((await set(lxd, { 'core.https_address': own })).status).toBe(200);
      expect([await dialectAt(own), await addressesFor(lxd), await addressesFor(daemon)]).toEqual(['lxd', [own], []]);
      await set(daemon, { 'core.https_address': '' });
      expect([await addressesFor(lxd), await addressesFor(daemon)]).toEqual([[], []]);
    });
  });

  test('is not asked for a dialect that has the address of a flag', async () => {
    const flags = { https: '127.0.0.1:0', lxd: { socket: lxd.socketPath } };
    await withDaemon(flags, async (daemon: TestDaemon) => {
      const fixed = daemon.daemon.httpsAddress();
      await set(daemon, await freeAddress());
      expect([daemon.daemon.httpsAddress(), daemon.daemon.lxdHttpsAddress()]).toEqual([fixed, undefined]);
      await set(lxd, await freeAddress());
      expect(daemon.daemon.httpsAddress()).toBe(fixed);
      expect(await dialectAt(daemon.daemon.lxdHttpsAddress())).toBe('lxd');
    });
  });
});

test('a listener on all addresses is shown at each global one', () => {
  const global = () => ['10.0.0.5', '2001:db8::5'];
  expect(reachable('[::]:8443', global)).toEqual(['10.0.0.5:8443', '[2001:db8::5]:8443']);
  expect(reachable('0.0.0.0:1', global)).toEqual(['10.0.0.5:1']);
  expect(reachable('127.0.0.1:2', global)).toEqual(['127.0.0.1:2']);
});

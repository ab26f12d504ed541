// Deleting a certificate closes everything that its client has open: commands, consoles, streams, waiting requests, idle connections;
// those of others stay. On the simulated runtime, and on LXC where available.
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import { makeSeeded, realRuntimeMissing, setState, type TestDaemon } from '../../support/daemons/daemon.ts';
import { busyboxContainer } from '../../support/hostile/busybox-container.ts';
import { until } from '../../support/until.ts';

const missing = await realRuntimeMissing();

describe.each([
  ['sim', undefined],
  ['lxc', missing],
] as const)('on %s', (runtime, unavailable) => {
  describe.skipIf(unavailable !== undefined)('a deleted certificate', () => {
    let daemon: TestDaemon;
    let client: ClientCertificate;
    let other: ClientCertificate;
    beforeAll(async () => {
      daemon = await makeSeeded({ runtime, https: '127.0.0.1:0' });
      await busyboxContainer(daemon, 'c1', runtime);
      expect((await setState(daemon, 'c1', 'start')).err).toBe('');
    });
    afterAll(() => daemon.cleanUp());

    const address = (): string => daemon.daemon.httpsAddress() ?? '';
    async function trusted(): Promise<ClientCertificate> {
      const made = await makeClient();
      const certificate = made.certPem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
      expect((await daemon.call('POST', '/1.0/certificates', { type: 'client', certificate })).status).toBe(200);
      return made;
    }
    const keyOf = ({ certPem, keyPem }: ClientCertificate) => ({
      cert: certPem,
      key: keyPem,
      rejectUnauthorized: false,
    });

    /** Whether it is still open. */
    async function websocket(path: string, of: ClientCertificate): Promise<() => boolean> {
      const socket = new WebSocket(`wss://${address()}${path}`, keyOf(of));
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('open', resolve));
      return () => socket.readyState === socket.OPEN;
    }

    async function idle(of: ClientCertificate): Promise<TLSSocket> {
      const [host = '', port] = address().split(':');
      const socket = connectTls({ host, port: Number(port), ...keyOf(of) });
      socket.on('error', () => {});
      await new Promise((resolve) => socket.once('secureConnect', resolve));
      socket.resume();
      return socket;
    }

    /** The channels of a command that runs until it is killed, and its operation. */
    async function command(
      of: ClientCertificate,
      word: string,
    ): Promise<{ open: (() => boolean)[]; operation: string }> {
      const body = { command: ['sleep', word], 'wait-for-websocket': true, interactive: false };
      const answer = await callTls(address(), 'POST', '/1.0/containers/c1/exec', body, { client: of });
      const { operation } = answer.body as { operation: string };
      const fds = answer.metadata.metadata.fds as Record<string, string>;
      const open = await Promise.all(
        Object.values(fds).map((secret) => websocket(`${operation}/websocket?secret=${secret}`, of)),
      );
      return { open, operation };
    }

    const ended = async (operation: string): Promise<boolean> => {
      const answer = await daemon.call('GET', operation);
      return answer.status === 404 || ['Failure', 'Success', 'Cancelled'].includes(answer.metadata.status);
    };

    test('closes commands, consoles, streams, waiting requests and idle connections; those of another one stay', async () => {
      [client, other] = [await trusted(), await trusted()];
      const [lost, kept] = [await command(client, '7001'), await command(other, '7002')];
      const unconnected = await callTls(
        address(),
        'POST',
        '/1.0/containers/c1/exec',
        { command: ['sleep', '7003'] },
        { client },
      );
      const streams = [await websocket('/1.0/events', client), await websocket('/1.0/events', other)];
      const connections = [await idle(client), await idle(other)];
      const waiting = callTls(address(), 'GET', `${lost.operation}/wait`, undefined, { client }).catch(() => 'cut');
      await until(async () => (await daemon.get('/1.0/containers/c1/state')).status === 'Running');

      const gone = await daemon.call('DELETE', `/1.0/certificates/${client.fingerprint}`);
      expect(gone.status).toBeLessThan(300);

      await until(() => lost.open.every((isOpen) => !isOpen()));
      await until(() => streams[0]?.() === false);
      await until(() => connections[0]?.destroyed === true);
      expect(await waiting).toBe('cut');
      await until(() => ended(lost.operation));
      await until(() => ended(unconnected.body.operation as string));
      expect(kept.open.every((isOpen) => isOpen())).toBe(true);
      expect(streams[1]?.()).toBe(true);
      expect(connections[1]?.destroyed).toBe(false);
      expect(await ended(kept.operation)).toBe(false);
      connections[1]?.destroy();
    });

    test.skipIf(runtime === 'sim')('ends all of its commands', async () => {
      const ps = await daemon.ok('POST', '/1.0/containers/c1/exec', { command: ['ps'], 'record-output': true });
      const output = ps.metadata?.['output'] as Record<string, string>;
      const processes = (await daemon.call('GET', output['1'] ?? '')).bytes.toString();
      expect(processes).toContain('sleep 7002');
      expect(processes).not.toMatch(/sleep 700[13]/);
    });

    test('may delete itself, and the answer arrives before its connection ends', async () => {
      const self = await trusted();
      const socket = await idle(self);
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.write(`DELETE /1.0/certificates/${self.fingerprint} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await until(() => socket.destroyed || socket.readableEnded);
      expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 20\d .*"status":"Success"/s);
      const { status } = await callTls(address(), 'GET', '/1.0/containers', undefined, { client: self });
      expect(status).toBe(403);
    });
  });
});

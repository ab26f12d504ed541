// The console of containers over the real daemon, frame by frame, and its log; on the simulation and on real containers.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeBusyboxRootfs } from '../../../support/images/busybox-rootfs.ts';
import { channelOf, connectAll, isGone, type Session } from '../../../support/daemons/channels.ts';
import {
  type Answer,
  createContainer,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { until } from '../../../support/until.ts';

const missing = await realRuntimeMissing();

describe.each(['sim', 'lxc'] as const)('consoles on the %s runtime', (runtime) => {
  describe.skipIf(runtime === 'lxc' && missing !== undefined)(missing ?? '', () => {
    let daemon: TestDaemon;
    beforeAll(async () => {
      daemon = await makeSeeded({ runtime });
      await createContainer(daemon, 'c1');
      await createContainer(daemon, 'still');
      const rootfs = join(daemon.dir, 'storage-pools/default/containers/c1/rootfs');
      if (runtime === 'lxc') await makeBusyboxRootfs(rootfs, { dhcp: false, consoleShell: true });
      expect((await setState(daemon, 'c1', 'start')).err).toBe('');
    });
    afterAll(() => daemon?.cleanUp());

    const path = '/1.0/containers/c1/console';
    const post = (body: object = {}, name = 'c1'): Promise<Answer> =>
      daemon.call('POST', `/1.0/containers/${name}/console`, body);
    const open = async (without: readonly string[] = []): Promise<Session> =>
      connectAll(daemon, await post({ width: 100, height: 30 }), without);
    /** A typed line, and its output. */
    const type = async (session: Session, word: string): Promise<void> => {
      channelOf(session, '0').send(`echo ${word}\r`);
      await until(() => channelOf(session, '0').data().split(`${word}\r\n`).length >= 3);
    };

    test('an operation of class websocket with a terminal and a control channel, which waits for its client', async () => {
      const answer = await post();
      expect(answer.status).toBe(202);
      expect(answer.metadata).toMatchObject({ class: 'websocket', status: 'Running', may_cancel: false });
      expect(Object.keys(answer.metadata.metadata)).toEqual(['fds']);
      expect(Object.keys(answer.metadata.metadata.fds).sort()).toEqual(['0', 'control']);
      const session = await connectAll(daemon, answer);
      await type(session, 'hello');
      channelOf(session, 'control').socket.close();
      expect(await session.ended).toMatchObject({ status: 'Success', err: '' });
      expect(channelOf(session, '0').frames.at(-1)).toEqual({ kind: 'text', text: '' });
      await isGone(channelOf(session, '0'));
    });

    test.each(['0', 'control'])('the loss of channel %s ends it, not the container', async (lost) => {
      const session = await open();
      await type(session, `lost${lost}`);
      channelOf(session, lost).socket.terminate();
      expect((await session.ended).status).toBe('Success');
      expect((await daemon.get('/1.0/containers/c1')).status).toBe('Running');
    });

    test('works without the control channel, and an end mark of the client ends it', async () => {
      const session = await open(['control']);
      await type(session, 'alone');
      channelOf(session, '0').barrier();
      expect((await session.ended).status).toBe('Success');
    });

    test('several clients see the same; resizing and nonsense on the control channel do no harm', async () => {
      const [one, two] = [await open(), await open()];
      const control = channelOf(one, 'control').socket;
      for (const text of ['', '{', '{"command":"signal","signal":9}']) control.send(text);
      control.send(JSON.stringify({ command: 'window-resize', args: { width: '132', height: '50' } }));
      await type(one, 'shared');
      await until(() => channelOf(two, '0').data().includes('shared\r\n'));
      channelOf(one, 'control').socket.terminate();
      expect((await one.ended).status).toBe('Success');
      await type(two, 'still-there');
      channelOf(two, '0').socket.close();
      expect((await two.ended).status).toBe('Success');
    });

    test('the log has the output, can be emptied, and continues', async () => {
      const session = await open();
      await type(session, 'logged');
      await until(async () => (await daemon.call('GET', path)).bytes.includes('logged'));
      const read = await daemon.call('GET', path);
      expect(read.headers['content-type']).toBe('application/octet-stream');
      expect(await daemon.get('/1.0/containers/c1/logs')).toContain('/1.0/containers/c1/logs/console.log');
      const cleared = await daemon.call('DELETE', path);
      expect([cleared.status, cleared.metadata]).toEqual([200, {}]);
      expect((await daemon.call('GET', path)).bytes.includes('logged')).toBe(false);
      await type(session, 'afterwards');
      await until(async () => (await daemon.call('GET', path)).bytes.includes('afterwards'));
      channelOf(session, 'control').socket.close();
      await session.ended;
    });

    test('the log is bounded', async () => {
      const session = await open();
      channelOf(session, '0').send('seq 1 60000\r');
      await until(() => channelOf(session, '0').data().includes('60000\r\n'));
      const { length } = (await daemon.call('GET', path)).bytes;
      expect(length).toBeGreaterThan(0);
      expect(length).toBeLessThanOrEqual(256 * 1024);
      channelOf(session, 'control').socket.close();
      await session.ended;
    });

    test('stopped, frozen and absent containers have no console; the log of a stopped one can be read', async () => {
      expect((await post({}, 'still')).status).toBe(400);
      expect((await post({}, 'absent')).status).toBe(404);
      expect((await daemon.call('GET', '/1.0/containers/absent/console')).status).toBe(404);
      expect((await daemon.call('DELETE', '/1.0/containers/absent/console')).status).toBe(404);
      const silent = await daemon.call('GET', '/1.0/containers/still/console');
      expect([silent.status, silent.bytes.length]).toEqual([200, 0]);
      expect((await daemon.call('DELETE', '/1.0/containers/still/console')).status).toBe(200);
      await setState(daemon, 'c1', 'freeze');
      expect((await post()).status).toBe(400);
      await setState(daemon, 'c1', 'unfreeze');
    });

    test.each([
      [{ width: -1 }, 'width'],
      [{ height: 'tall' }, 'height'],
    ])('%j is refused, naming %s', async (body, field) => {
      const { status, metadata } = await post(body);
      expect(status).toBe(400);
      expect(metadata.details[0].path).toBe(field);
    });

    test('a stop of the container ends the consoles that are open and those without a client', async () => {
      const [open1, waiting] = [await open(), (await post()).body.operation as string];
      await setState(daemon, 'c1', 'stop', { force: true });
      await until(() => channelOf(open1, '0').hasEnded());
      channelOf(open1, '0').barrier();
      expect((await open1.ended).status).toBe('Success');
      expect((await daemon.wait(waiting)).status).toBe('Success');
    });
  });
});

// Commands in containers over the real daemon: every form of exec, frame by frame, on the simulation; on real containers those
// whose processes and terminals matter.
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { channelOf, isGone, openChannel, refusal, startExec } from '../../../support/daemons/channels.ts';
import {
  type Answer,
  createContainer,
  listenOn,
  makeSeeded,
  realRuntimeMissing,
  setState,
  type TestDaemon,
} from '../../../support/daemons/daemon.ts';
import { makeBusyboxRootfs } from '../../../support/images/busybox-rootfs.ts';
import { join } from 'node:path';
import { until } from '../../../support/until.ts';

const missing = await realRuntimeMissing();
/** Other files sleep, too: this command is one of this process. */
const sleeping = `sleep ${1_000_000 + process.pid}`;

describe.each(['sim', 'lxc'] as const)('commands on the %s runtime', (runtime) => {
  describe.skipIf(runtime === 'lxc' && missing !== undefined)(missing ?? '', () => {
    let daemon: TestDaemon;
    beforeAll(async () => {
      daemon = await makeSeeded({ runtime, https: '127.0.0.1:0' });
      await createContainer(daemon, 'c1', {
        config: { 'environment.FROM_CONFIG': 'yes', 'environment.BOTH': 'config' },
      });
      await createContainer(daemon, 'still');
      if (runtime === 'lxc')
        await makeBusyboxRootfs(join(daemon.dir, 'storage-pools/default/containers/c1/rootfs'), { dhcp: false });
      else await mkdir(join(daemon.dir, 'storage-pools/default/containers/c1/rootfs/etc'), { recursive: true });
      expect((await setState(daemon, 'c1', 'start')).err).toBe('');
    });
    afterAll(() => daemon?.cleanUp());

    const post = (body: object, name = 'c1'): Promise<Answer> =>
      daemon.call('POST', `/1.0/containers/${name}/exec`, body);
    const shell = (script: string): { command: string[] } => ({ command: ['sh', '-c', script] });

    test('three pipes: data in binary frames, an empty text frame at each end, then the connections end without a close frame', async () => {
      const session = await startExec(daemon, 'c1', shell('cat; echo oops >&2; exit 7'));
      expect(Object.keys(session.fds).sort()).toEqual(['0', '1', '2', 'control']);
      for (const secret of Object.values(session.fds)) expect(secret).toMatch(/^[0-9a-f]{64}$/);
      const input = channelOf(session, '0');
      const [output, errors] = [channelOf(session, '1'), channelOf(session, '2')];
      input.send('one\n');
      input.send(Buffer.from([0, 255]));
      input.barrier();
      const ended = await session.ended;
      expect(ended).toMatchObject({ status: 'Success', class: 'websocket' });
      expect(ended.metadata).toMatchObject({ return: 7, fds: session.fds, interactive: false });
      await Promise.all([output, errors, input, channelOf(session, 'control')].map(isGone));
      expect(output.data()).toBe('one\n\u0000\u00ff');
      expect(errors.data()).toBe('oops\n');
      for (const channel of [output, errors]) {
        expect(channel.frames.at(-1)).toEqual({ kind: 'text', text: '' });
        expect(channel.frames.filter(({ kind }) => kind === 'text')).toHaveLength(1);
        expect(channel.closeCode()).toBe(1006);
      }
      expect(input.frames).toEqual([]);
    });

    test('one terminal: its size, echo, and the client closes it', async () => {
      const session = await startExec(daemon, 'c1', { command: ['sh'], interactive: true, width: 100, height: 30 });
      expect(Object.keys(session.fds).sort()).toEqual(['0', 'control']);
      const terminal = channelOf(session, '0');
      terminal.send('stty size\n');
      await until(() => terminal.data().includes('30 100\r\n'));
      const resize = { command: 'window-resize', args: { width: '132', height: '50' } };
      channelOf(session, 'control').socket.send(JSON.stringify(resize));
      await until(async () => {
        terminal.send('stty size\n');
        await new Promise((resolve) => setTimeout(resolve, 20));
        return terminal.data().includes('50 132\r\n');
      });
      terminal.send('exit 4\n');
      await until(() => terminal.hasEnded());
      expect((await daemon.get(session.operation)).status).toBe('Running');
      terminal.barrier();
      expect((await session.ended).metadata).toMatchObject({ return: 4 });
      await isGone(terminal);
    });

    test('a terminal whose client vanishes hangs up its command', async () => {
      const session = await startExec(daemon, 'c1', { ...shell(`echo up; ${sleeping}`), interactive: true }, [
        'control',
      ]);
      await until(() => channelOf(session, '0').data().includes('up'));
      channelOf(session, '0').socket.terminate();
      expect((await session.ended).metadata).toMatchObject({ return: 129 });
    });

    test.runIf(runtime === 'lxc')(
      'a client that does not read pauses the command, and does not fill the daemon’s memory',
      async () => {
        const bytes = 384 * 1024 * 1024;
        const command = ['dd', 'if=/dev/zero', 'bs=64k', `count=${bytes / 65_536}`];
        const session = await startExec(daemon, 'c1', { command });
        const { socket } = channelOf(session, '1');
        socket.pause();
        let received = channelOf(session, '1').data().length;
        socket.removeAllListeners('message');
        socket.on('message', (data: Buffer) => (received += data.length));
        await new Promise((resolve) => setTimeout(resolve, 300));
        const before = process.memoryUsage().rss;
        expect((await daemon.get(session.operation)).status).toBe('Running');
        let peak = before;
        const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
        socket.resume();
        expect((await session.ended).metadata).toMatchObject({ return: 0 });
        clearInterval(watch);
        await until(() => received === bytes);
        // Daemon and client share this process; the assertion is that no memory grows with the output.
        expect(peak - before).toBeLessThan(160 * 1024 * 1024);
      },
      180_000,
    );

    test.runIf(runtime === 'lxc')('background processes of a command delay no one', async () => {
      const session = await startExec(daemon, 'c1', shell(`${sleeping} & echo started`));
      expect((await session.ended).metadata).toMatchObject({ return: 0 });
      await until(() => channelOf(session, '1').hasEnded());
      expect(channelOf(session, '1').data()).toBe('started\n');
    });

    test('a stopping daemon waits for no command', async () => {
      // Those that a command left behind in the container.
      const others = sleepers();
      const session = await startExec(daemon, 'c1', shell(`echo up; ${sleeping}`));
      await until(() => channelOf(session, '1').data().includes('up'));
      const started = Date.now();
      await daemon.restart();
      // The daemon waits ten seconds for a running operation.
      expect(Date.now() - started).toBeLessThan(10_000);
      await isGone(channelOf(session, '1'));
      expect((await daemon.get('/1.0/containers/c1')).status).toBe('Running');
      expect(sleepers()).toEqual(others);
    });

    // The conformance suite of runtimes has what differs in the rest.
    if (runtime === 'lxc') return;

    test('a command without websocket is an operation of class task, no input, the exit code at the end', async () => {
      const answer = await post(shell('cat && exit 3'));
      expect(answer.status).toBe(202);
      expect(answer.metadata).toMatchObject({
        class: 'task',
        may_cancel: false,
        resources: { containers: ['/1.0/containers/c1'] },
      });
      const ended = await daemon.wait(answer.body.operation);
      expect(ended).toMatchObject({ status: 'Success', status_code: 200, err: '' });
      expect(ended.metadata).toEqual({ ...shell('cat && exit 3'), environment: {}, interactive: false, return: 3 });
    });

    test('recorded output: two log files, readable and removable by their URLs', async () => {
      const ended = await daemon.ok('POST', '/1.0/containers/c1/exec', {
        ...shell('echo out; echo err >&2'),
        'record-output': true,
      });
      const output = ended.metadata?.['output'] as Record<string, string>;
      expect(ended.metadata).toMatchObject({ return: 0 });
      expect(output).toEqual({
        '1': `/1.0/containers/c1/logs/exec_${ended.id}.stdout`,
        '2': `/1.0/containers/c1/logs/exec_${ended.id}.stderr`,
      });
      expect((await daemon.call('GET', output['1'] ?? '')).bytes.toString()).toBe('out\n');
      expect((await daemon.call('GET', output['2'] ?? '')).bytes.toString()).toBe('err\n');
      expect(await daemon.get('/1.0/containers/c1/logs')).toEqual(expect.arrayContaining(Object.values(output)));
      expect((await daemon.call('DELETE', output['1'] ?? '')).status).toBe(200);
      expect((await daemon.call('GET', output['1'] ?? '')).status).toBe(404);
    });

    test('the end of the input channel ends the input too', async () => {
      const session = await startExec(daemon, 'c1', { command: ['cat'] });
      channelOf(session, '0').send('last words');
      channelOf(session, '0').socket.close();
      expect((await session.ended).metadata).toMatchObject({ return: 0 });
      expect(channelOf(session, '1').data()).toBe('last words');
    });

    test.each(['close frame', 'lost connection'])(
      'a terminal whose client leaves after the end by %s has ended, too',
      async (how) => {
        const session = await startExec(daemon, 'c1', { ...shell('echo bye'), interactive: true });
        const terminal = channelOf(session, '0');
        await until(() => terminal.hasEnded());
        expect(terminal.data()).toBe('bye\r\n');
        if (how === 'close frame') terminal.socket.close(1000);
        else terminal.socket.terminate();
        expect((await session.ended).metadata).toMatchObject({ return: 0 });
        // The frame ends it; its answer may arrive later.
        await isGone(terminal);
        if (how === 'close frame') expect(terminal.closeCode()).toBe(1000);
      },
    );

    test.each([
      [true, 15, 143],
      [false, 15, 143],
      [false, 1, 129],
      [true, 9, 137],
    ])(
      'signals on the control channel reach the command (interactive %s, signal %i)',
      async (interactive, signal, code) => {
        const session = await startExec(daemon, 'c1', { ...shell(`echo up; ${sleeping}`), interactive });
        const output = channelOf(session, interactive ? '0' : '1');
        await until(() => output.data().includes('up'));
        const control = channelOf(session, 'control').socket;
        for (const nonsense of ['', 'no json', '[]', 'null', '{"command":"dance"}', '{"command":"signal"}'])
          control.send(nonsense);
        control.send('{"command":"signal","signal":99}');
        control.send('{"command":"window-resize","args":{"width":"-1","height":"x"}}');
        control.send(JSON.stringify({ command: 'signal', signal }));
        if (interactive) {
          await until(() => output.hasEnded());
          output.barrier();
        }
        expect((await session.ended).metadata).toMatchObject({ return: code });
      },
    );

    test.each([
      [true, 'terminate'],
      [false, 'terminate'],
      [false, 'close'],
    ] as const)('the loss of the control channel kills the command (interactive %s, %s)', async (interactive, how) => {
      const session = await startExec(daemon, 'c1', { ...shell(`echo up; ${sleeping}`), interactive });
      const output = channelOf(session, interactive ? '0' : '1');
      await until(() => output.data().includes('up'));
      channelOf(session, 'control').socket[how]();
      if (interactive) {
        await until(() => output.hasEnded());
        output.barrier();
      }
      expect((await session.ended).metadata).toMatchObject({ return: 137 });
    });

    test('the control channel is optional; without it the command ends when all its clients have disconnected', async () => {
      const quick = await startExec(daemon, 'c1', shell('exit 2'), ['control']);
      expect((await quick.ended).metadata).toMatchObject({ return: 2 });
      const long = await startExec(daemon, 'c1', { command: sleeping.split(' ') }, ['control']);
      for (const name of ['0', '1', '2']) channelOf(long, name).socket.terminate();
      expect((await long.ended).metadata).toMatchObject({ return: 137 });
    });

    test('a missing program is a success that returns 127', async () => {
      const session = await startExec(daemon, 'c1', { command: ['no-such-program'] });
      expect(await session.ended).toMatchObject({ status: 'Success', metadata: { return: 127 } });
    });

    test('environment: the defaults, overridden by the container’s, overridden by the request’s', async () => {
      const environment = { BOTH: 'request', ODD: 'a b=\'"\n$x' };
      const session = await startExec(daemon, 'c1', { command: ['env'], environment });
      await session.ended;
      const text = channelOf(session, '1').data();
      for (const line of [
        'FROM_CONFIG=yes',
        'BOTH=request',
        'HOME=/root',
        'USER=root',
        'LANG=C.UTF-8',
        'ODD=a b=\'"',
      ]) {
        expect(text.split('\n')).toContain(line);
      }
      expect(text).toMatch(/^PATH=\/usr\/local\/sbin:/m);
    });

    test('user, group and directory', async () => {
      const session = await startExec(daemon, 'c1', {
        ...shell('id -u; id -g; pwd'),
        user: 1000,
        group: 2000,
        cwd: 'etc',
      });
      await session.ended;
      expect(channelOf(session, '1').data()).toBe('1000\n2000\n/etc\n');
    });

    test('input that the command does not read is held back at the client', async () => {
      const session = await startExec(daemon, 'c1', { command: sleeping.split(' ') });
      const { socket } = channelOf(session, '0');
      for (let count = 0; count < 64; count++) socket.send(Buffer.alloc(1024 * 1024));
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(socket.bufferedAmount).toBeGreaterThan(32 * 1024 * 1024);
      channelOf(session, 'control').socket.terminate();
      expect((await session.ended).metadata).toMatchObject({ return: 137 });
    });

    test('secrets: each opens one channel once, and only while the operation runs', async () => {
      const answer = await post({ command: sleeping.split(' '), 'wait-for-websocket': true });
      const operation = answer.body.operation as string;
      const { fds } = answer.metadata.metadata;
      const path = `${operation}/websocket`;
      expect(await refusal(daemon, path)).toMatchObject({ status: 403 });
      expect(await refusal(daemon, `${path}?secret=`)).toMatchObject({ status: 403 });
      expect(await refusal(daemon, `${path}?secret=${'0'.repeat(64)}`)).toMatchObject({ status: 403 });
      expect(await refusal(daemon, `/1.0/operations/none/websocket?secret=${fds['0']}`)).toMatchObject({ status: 404 });
      expect((await daemon.call('GET', `${path}?secret=${fds['0']}`)).status).toBe(400);
      const channels = await Promise.all(
        ['0', '1', '2', 'control'].map((name) => openChannel(daemon, operation, fds[name])),
      );
      expect(await refusal(daemon, `${path}?secret=${fds['0']}`)).toMatchObject({ status: 400 });
      expect((await daemon.call('DELETE', operation)).status).toBe(400);
      channels[3]?.socket.terminate();
      expect((await daemon.wait(operation)).metadata).toMatchObject({ return: 137 });
      expect(await refusal(daemon, `${path}?secret=${'0'.repeat(64)}`)).toMatchObject({ status: 403 });
      expect(await refusal(daemon, `${path}?secret=${fds['control']}`)).toMatchObject({ status: 400 });
      const { body } = await daemon.call('PUT', '/1.0/containers/c1/state', { action: 'unfreeze' });
      expect(await refusal(daemon, `${body.operation}/websocket?secret=x`)).toMatchObject({ status: 400 });
    });

    test('a channel that is connected after the command has succeeded opens, and closes at once', async () => {
      const answer = await post({ command: ['true'], 'wait-for-websocket': true });
      const operation = answer.body.operation as string;
      const { fds } = answer.metadata.metadata;
      await Promise.all(['0', '1', '2'].map((name) => openChannel(daemon, operation, fds[name])));
      expect(await daemon.wait(operation)).toMatchObject({ status: 'Success', metadata: { return: 0 } });
      await isGone(await openChannel(daemon, operation, fds.control));
      expect(await refusal(daemon, `${operation}/websocket?secret=${fds.control}`)).toMatchObject({ status: 400 });
    });

    test('a guest on the network needs only the secret', async () => {
      const answer = await post({ command: ['echo', 'hello'], 'wait-for-websocket': true });
      const address = `wss://${daemon.daemon.httpsAddress()}${answer.body.operation}/websocket?secret=`;
      const connect = (secret: string): Promise<WebSocket> =>
        new Promise((resolve, reject) => {
          const socket = new WebSocket(address + secret, { rejectUnauthorized: false });
          socket.once('open', () => resolve(socket));
          socket.on('error', reject);
        });
      await expect(connect('0'.repeat(64))).rejects.toThrow(/403/);
      let text = '';
      const { fds } = answer.metadata.metadata;
      const output = await connect(fds['1']);
      output.on('message', (bytes: Buffer) => (text += bytes.toString()));
      for (const name of ['0', '2']) await connect(fds[name]);
      expect((await daemon.wait(answer.body.operation)).metadata).toMatchObject({ return: 0 });
      await until(() => text === 'hello\n' && output.readyState === output.CLOSED);
    });

    test.each([
      [{}, 'command'],
      [{ command: [] }, 'command'],
      [{ command: 'ls' }, 'command'],
      [{ command: ['ls', 1] }, 'command.1'],
      [{ command: [''] }, 'command.0'],
      [{ command: ['a', 'b\0c'] }, 'command.1'],
      [{ command: ['a'], environment: { 'A=B': 'x' } }, 'environment.A=B'],
      [{ command: ['a'], environment: { A: 1 } }, 'environment.A'],
      [{ command: ['a'], width: -1 }, 'width'],
      [{ command: ['a'], height: 70_000 }, 'height'],
      [{ command: ['a'], user: -1 }, 'user'],
      [{ command: ['a'], cwd: '/e\0c' }, 'cwd'],
      [{ command: ['a'], interactive: 'yes' }, 'interactive'],
      [{ command: ['a'], 'record-output': true, 'wait-for-websocket': true }, 'record-output'],
      [{ command: ['a'], 'record-output': true, interactive: true }, 'record-output'],
    ])('%j is refused at once, naming %s', async (body, path) => {
      const { status, metadata } = await post(body);
      expect(status).toBe(400);
      expect(metadata.details.map((problem: { path: string }) => problem.path)).toContain(path);
    });

    test('a command above the length limit is refused, and not reported as an unknown command', async () => {
      const long = 'x'.repeat(131_072);
      const { status, metadata } = await post({ command: ['true', long], environment: { LONG: long } });
      expect(status).toBe(400);
      expect(metadata.details.map((one: { path: string }) => one.path)).toEqual(['command.1', 'environment.LONG']);
      const ended = await daemon.wait((await post({ command: ['true', long.slice(1)] })).body.operation);
      expect(ended.metadata).toMatchObject({ return: 0 });
    });

    test('stopped, frozen and absent containers run no commands', async () => {
      expect((await post({ command: ['true'] }, 'still')).status).toBe(400);
      expect((await post({ command: ['true'] }, 'absent')).status).toBe(404);
      await setState(daemon, 'c1', 'freeze');
      expect((await post({ command: ['true'] })).status).toBe(400);
      await setState(daemon, 'c1', 'unfreeze');
    });

    test('listeners of lifecycle events get the command without its environment', async () => {
      const listening = await listenOn(`ws+unix://${daemon.socketPath}:/1.0/events?type=lifecycle`);
      await post({ command: ['true'], environment: { PASSWORD: 'hidden' } });
      const event = await listening.next(({ metadata }) => JSON.stringify(metadata).includes('container-exec'));
      expect(event.metadata).toMatchObject({ source: '/1.0/containers/c1', context: { command: ['true'] } });
      expect(JSON.stringify(event)).not.toContain('hidden');
      listening.close();
    });

    test('an operation without a client on all channels fails after ten seconds, before the command runs', async () => {
      const wait = setTimeout;
      const soon = (work: () => void, ms?: number): NodeJS.Timeout => wait(work, ms === 10_000 ? 300 : ms);
      const shortened = vi.spyOn(globalThis, 'setTimeout').mockImplementation(soon);
      const session = await startExec(daemon, 'c1', { command: ['true'] }, ['2', 'control']);
      const ended = await session.ended.finally(() => shortened.mockRestore());
      expect(ended).toMatchObject({ status: 'Failure', status_code: 400 });
      expect(ended.err).toContain('The client did not connect to all of the channels 0, 1, 2 in 10000 ms');
      expect(ended.metadata).not.toHaveProperty('return');
      await isGone(channelOf(session, '0'));
    });
  });
});

/** Running processes of this test's commands. */
function sleepers(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${sleeping.replace(' ', '\0')}\0`;
      } catch {
        return false;
      }
    });
}

// Commands and consoles through the client and the command line, against the real daemon on the simulation.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Operation } from '../../server/api/operation.ts';
import { startExec } from '../../server/client/channels/exec.ts';
import { createClient, type Client } from '../../server/client/client.ts';
import { filesOf } from '../../server/client/files/container-files.ts';
import type { Http } from '../../server/client/transport/http.ts';
import { detachable } from '../../reconciler/cli/verbs/containers/exec.ts';
import { cli } from '../support/cli/io.ts';
import { createContainer, makeSeeded, setState, type TestDaemon } from '../support/daemons/daemon.ts';
import { startFakeDaemon } from '../support/fakes/http-daemon.ts';
import { until } from '../support/until.ts';

let daemon: TestDaemon;
let client: Client;
beforeAll(async () => {
  daemon = await makeSeeded();
  await createContainer(daemon, 'c1');
  await createContainer(daemon, 'still');
  await setState(daemon, 'c1', 'start');
  client = createClient(`unix://${daemon.socketPath}`);
  for (const path of ['/srv', '/tmp']) await filesOf(client.http, 'c1').makeDirectory(path);
});
afterAll(async () => {
  await client.close();
  await daemon.cleanUp();
});

function sink(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      setImmediate(done);
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('latin1') };
}
const shell = (script: string): readonly string[] => ['sh', '-c', script];

describe('the client', () => {
  test('passes all three streams and returns the exit code', async () => {
    const [out, err] = [sink(), sink()];
    const stdin = Readable.from([Buffer.from('one '), Buffer.from('two')]);
    const session = await client.exec('c1', {
      command: shell('cat; echo oops >&2; exit 5'),
      stdin,
      stdout: out.stream,
      stderr: err.stream,
    });
    expect(await session.exited).toBe(5);
    expect([out.text(), err.text()]).toEqual(['one two', 'oops\n']);
  });

  test('a command without input reads an empty stream, and gets the environment, ids and directory', async () => {
    const out = sink();
    const session = await client.exec('c1', {
      command: shell('cat; echo $A; id -u; id -g; pwd'),
      environment: { A: 'b' },
      user: 7,
      group: 8,
      cwd: '/srv',
      stdout: out.stream,
      stderr: sink().stream,
    });
    expect(await session.exited).toBe(0);
    expect(out.text()).toBe('b\n7\n8\n/srv\n');
  });

  test('a client that connects too late to a command gives the reason of its end, not that a connection failed', async () => {
    const fake = await startFakeDaemon({ events: false });
    fake.routes['POST /1.0/containers/c1/exec'] = () => {
      const operation = fake.newOperation({ metadata: { fds: { 0: 'a', 1: 'b', 2: 'c', control: 'd' } } });
      const started = { ...operation };
      fake.finish(operation, { status: 'Failure', status_code: 400, err: 'no client connected in time' });
      return { async: started };
    };
    const late = createClient(fake.host);
    const { stream } = sink();
    const running = late.exec('c1', { command: shell('true'), stdout: stream, stderr: stream });
    await expect(running).rejects.toThrow('no client connected in time');
    await late.close();
    await fake.stop();
  });

  test('a channel that opens after another one was refused is closed, so that the program can end', async () => {
    const sockets = new WebSocketServer({ noServer: true });
    const server = createServer().on('upgrade', (request, socket, head) => {
      const secret = new URL(request.url ?? '', 'http://x').searchParams.get('secret');
      if (secret === 'b') socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}');
      else setTimeout(() => sockets.handleUpgrade(request, socket, head, () => {}), secret === 'c' ? 300 : 0);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const started = { id: 'x', metadata: { fds: { 0: 'a', 1: 'b', 2: 'c', control: 'd' } } } as unknown as Operation;
    const ended = new Error('no client connected in time');
    const deps: Parameters<typeof startExec>[0] = {
      http: { send: () => Promise.resolve({ operation: started }) } as unknown as Http,
      operations: { wait: () => Promise.reject(ended) },
      transport: { openSocket: (path) => new WebSocket(`ws://127.0.0.1:${port}${path}`) },
    };
    const { stream } = sink();
    await expect(startExec(deps, 'c1', { command: ['true'], stdout: stream, stderr: stream })).rejects.toBe(ended);
    await until(() => sockets.clients.size === 0);
    server.close();
  });

  test('a slow reader gets all of a large output', async () => {
    let bytes = 0;
    const slow = new Writable({
      write(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        setTimeout(done, 1);
      },
    });
    const session = await client.exec('c1', {
      command: ['head', '-c', '20000000', '/dev/zero'],
      stdout: slow,
      stderr: sink().stream,
    });
    expect(await session.exited).toBe(0);
    expect(bytes).toBe(20_000_000);
  });

  test('a terminal can be resized, typed into and closed', async () => {
    const out = sink();
    const stdin = new PassThrough();
    const session = await client.exec('c1', {
      command: ['sh'],
      terminal: { columns: 90, rows: 30 },
      stdin,
      stdout: out.stream,
      stderr: out.stream,
    });
    stdin.write('stty size\r');
    await until(() => out.text().includes('30 90\r\n'));
    session.resize({ columns: 100, rows: 40 });
    await until(() => {
      stdin.write('stty size\r');
      return out.text().includes('40 100\r\n');
    });
    stdin.write('exit 3\r');
    expect(await session.exited).toBe(3);
  });

  test('signals, close and an abort end a command', async () => {
    const start = (signal?: AbortSignal) =>
      client.exec('c1', { command: ['sleep', '600'], stdout: sink().stream, stderr: sink().stream }, signal);
    const signalled = await start();
    signalled.signal(15);
    expect(await signalled.exited).toBe(143);
    const closed = await start();
    closed.close();
    expect(await closed.exited).toBe(137);
    const abort = new AbortController();
    const aborted = await start(abort.signal);
    abort.abort(new Error('enough'));
    await expect(aborted.exited).rejects.toThrow('enough');
  });

  test('a refused command fails before it runs', async () => {
    const streams = { stdout: sink().stream, stderr: sink().stream };
    await expect(client.exec('still', { command: ['true'], ...streams })).rejects.toMatchObject({ status: 400 });
    await expect(client.exec('absent', { command: ['true'], ...streams })).rejects.toMatchObject({ status: 404 });
    await expect(client.exec('c1', { command: [], ...streams })).rejects.toMatchObject({ status: 400 });
  });

  test('a console is attached until it is closed, or its container stops', async () => {
    const out = sink();
    const stdin = new PassThrough();
    const session = await client.console('c1', { size: { columns: 80, rows: 24 }, stdin, stdout: out.stream });
    stdin.write('echo seen\r');
    await until(() => out.text().split('seen\r\n').length >= 3);
    session.close();
    await session.ended;
    const again = await client.console('c1', { stdin: new PassThrough(), stdout: out.stream });
    await setState(daemon, 'c1', 'stop', { force: true });
    await again.ended;
    await setState(daemon, 'c1', 'start');
  });
});

describe('the command line', () => {
  const host = (): Record<string, string> => ({ GANTRY_HOST: `unix://${daemon.socketPath}` });

  test('exec prints the output of the command and exits with its code', async () => {
    const run = await cli(['exec', 'c1', '--env', 'A=b c', '--', 'sh', '-c', 'echo $A; echo no >&2; exit 9'], {
      env: host(),
    });
    expect(run).toEqual({ code: 9, stdout: 'b c\n', stderr: 'no\n' });
    expect((await cli(['exec', 'c1', 'no-such-program'], { env: host() })).code).toBe(127);
  });

  test.each([
    [127, 'command not found'],
    [126, 'it cannot be executed'],
  ])('exit code %i without output is reported as a command that did not run', async (code, why) => {
    const silent = await cli(['exec', 'c1', '--', 'sh', '-c', `exit ${code}`], { env: host() });
    expect(silent).toEqual({ code, stdout: '', stderr: expect.stringContaining(`sh in c1: ${why}`) });
    const ran = await cli(['exec', 'c1', '--', 'sh', '-c', `echo why >&2; exit ${code}`], { env: host() });
    expect(ran).toEqual({ code, stdout: '', stderr: 'why\n' });
  });

  test('the terminal is restored before an error is printed, so that the prompt begins a line', async () => {
    const seen: string[] = [];
    await cli(['exec', '-t', 'c1', '--', 'sh', '-c', 'exit 127'], {
      env: host(),
      onRaw: (isRaw) => seen.push(isRaw ? 'raw' : 'restored'),
      onStderr: (text) => seen.push(text.trim().split(' (', 1)[0] ?? ''),
    });
    expect(seen).toEqual(['raw', 'restored', 'Error: sh in c1: command not found']);
  });

  test('exec -t gives a terminal, and flags behind -- are the command’s', async () => {
    const run = await cli(['exec', '-t', 'c1', '--', 'tty'], { env: host() });
    expect(run).toMatchObject({ code: 0, stdout: '/dev/pts/0\r\n' });
    expect((await cli(['exec', 'c1', '--', 'echo', '-t', '--json', '-target'], { env: host() })).stdout).toBe(
      '-t --json -target\n',
    );
  });

  test('-it, -e, -u and -w mean what they mean to docker', async () => {
    const command = ['sh', '-c', 'tty; echo $A; pwd'];
    const run = await cli(['exec', '-it', '-e', 'A=1', '-u', '0', '-w', '/tmp', 'c1', ...command], { env: host() });
    expect(run).toMatchObject({ code: 0, stdout: '/dev/pts/0\r\n1\r\n/tmp\r\n' });
    expect((await cli(['exec', 'c1', '-i', '--', 'echo', '-it'], { env: host() })).stdout).toBe('-it\n');
  });

  // Before the session exists, while it opens, while the command runs.
  test.each([0, 5, 20, 200])('an interrupt after %i ms ends the command', async (afterMs) => {
    const run = await cli(['exec', 'c1', '--', 'sleep', '600'], {
      env: host(),
      interrupts: (interrupt) => setTimeout(interrupt, afterMs),
    });
    expect(run.code, run.stderr).toBe(130);
  });

  test.each([
    [['exec'], 64, /name command/],
    [['exec', 'c1'], 64, /COMMAND/],
    [['exec', 'c1', '--env', 'nonsense', '--', 'true'], 64, /--env/],
    [['exec', 'c1', '--user', 'root', '--', 'true'], 64, /--user/],
    [['exec', 'still', '--', 'true'], 1, /container\/still is stopped: gantry start still starts it/],
    [['exec', 'absent', '--', 'true'], 1, /container\/absent does not exist: gantry list shows/],
    [['console'], 64, /name/],
    [['console', 'still'], 1, /container\/still is stopped: gantry start still starts it/],
  ])('the command %j exits with %i', async (argv, code, text) => {
    const run = await cli(argv, { env: host() });
    expect([run.code, run.stdout]).toEqual([code, '']);
    expect(run.stderr).toMatch(text);
  });
});

test('Ctrl-a q detaches from a console; other uses of Ctrl-a reach the container', async () => {
  const stdin = new PassThrough();
  let left = 0;
  const { passed, release } = detachable(stdin, () => (left += 1));
  let seen = '';
  passed.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  stdin.write('a\u0001b\u0001');
  stdin.write('\u0001c\u0001');
  await until(() => seen === 'a\u0001b\u0001c');
  expect(left).toBe(0);
  stdin.write('q');
  await until(() => left === 1);
  release();
  stdin.write('later');
  expect(seen).toBe('a\u0001b\u0001c');
});

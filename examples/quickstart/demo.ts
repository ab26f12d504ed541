// The quickstart as one command: it starts a daemon in a temporary directory, applies the stack, changes a container without gantry,
// applies again to heal it, and destroys the stack. Every step is a command a user would type; each is printed before it runs.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = findRoot(here);
const example = join(root, 'examples', 'quickstart');
const bin = join(root, 'dist', 'bin');

interface Ready {
  readonly socket: string;
  readonly runtime: 'lxc' | 'sim';
  readonly reason: string;
}

async function demo(): Promise<number> {
  const startedAt = performance.now();
  const work = mkdtempSync(join(tmpdir(), 'gantry-demo-'));
  const stack = join(work, 'stack');
  mkdirSync(stack);
  cpSync(join(example, 'stack.yaml'), join(stack, 'stack.yaml'));
  const isBootable = buildImage(join(stack, 'busybox.tar.gz'), work);
  const state = join(work, 'state');
  const { child, ready } = await startDaemon(state, isBootable ? 'auto' : 'sim');
  // The journals of the runs are removed too.
  process.env['XDG_STATE_HOME'] = join(work, 'journals');
  process.env['GANTRY_HOST'] = `unix://${ready.socket}`;
  let isUp = false;
  try {
    say(`gantryd runs on the ${ready.runtime} runtime: ${ready.reason}`);
    isUp = true;
    gantry(['apply', '-f', stack, '--auto-approve'], 0);
    gantry(['status', '-f', stack], 0);
    proveLife(ready);
    say('A second plan has nothing to do:');
    gantry(['plan', '-f', stack, '--detailed-exitcode'], 0);
    say('Somebody changes the memory limit of the profile behind our back:');
    await patch(ready.socket, '/1.0/profiles/quick', { config: { 'limits.memory': '999MiB' } });
    gantry(['plan', '-f', stack, '--detailed-exitcode'], 2);
    say('Applying heals it:');
    gantry(['apply', '-f', stack, '--auto-approve'], 0);
    gantry(['plan', '-f', stack, '--detailed-exitcode'], 0);
    gantry(['destroy', '-f', stack, '--auto-approve'], 0);
    isUp = false;
    say(`Done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
    return 0;
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    if (isUp)
      spawnSync(process.execPath, [join(bin, 'gantry.js'), 'destroy', '-f', stack, '--auto-approve'], {
        stdio: 'inherit',
      });
    return 1;
  } finally {
    await stopDaemon(child);
    rmSync(work, { recursive: true, force: true });
  }
}

function findRoot(from: string): string {
  for (let dir = from; dir !== dirname(dir); dir = dirname(dir)) {
    if (existsSync(join(dir, 'package.json')) && existsSync(join(dir, 'examples', 'quickstart', 'stack.yaml')))
      return dir;
  }
  throw new Error(`the repository root was not found above ${from}`);
}

function say(text: string): void {
  process.stdout.write(`\n# ${text}\n`);
}

/** True: an image that boots. Without busybox the simulation still needs an image, which then holds one file. */
function buildImage(out: string, work: string): boolean {
  const built = spawnSync('sh', [join(example, 'build-image.sh'), out], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (built.status === 0) return true;
  say('Without busybox there is nothing to boot: the demo continues with an empty image on the simulated runtime.');
  const content = join(work, 'content');
  mkdirSync(join(content, 'rootfs', 'etc'), { recursive: true });
  writeFileSync(join(content, 'rootfs', 'etc', 'hostname'), 'quick\n');
  writeFileSync(join(content, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  const packed = spawnSync('tar', ['-czf', out, '-C', content, 'metadata.yaml', 'rootfs'], { stdio: 'inherit' });
  if (packed.status !== 0) throw new Error('tar could not pack the image');
  return false;
}

async function startDaemon(
  state: string,
  runtime: string,
): Promise<{ readonly child: ChildProcess; readonly ready: Ready }> {
  const args = [join(bin, 'gantryd.js'), '--state-dir', state, '--runtime', runtime, '--log-level', 'warn'];
  process.stdout.write(`$ gantryd --state-dir ${state} --runtime ${runtime}\n`);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) return { child, ready: JSON.parse(line) as Ready };
  throw new Error('gantryd ended before it was ready');
}

async function stopDaemon(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
}

function gantry(args: readonly string[], expected: number): void {
  process.stdout.write(`\n$ gantry ${args.join(' ')}\n`);
  const { status } = spawnSync(process.execPath, [join(bin, 'gantry.js'), ...args], { stdio: 'inherit' });
  if (status !== expected) throw new Error(`gantry ${args[0] ?? ''} exited with ${status}, expected ${expected}`);
}

/** Each container describes itself. The simulation knows a few commands, too. */
function proveLife(ready: Ready): void {
  const isReal = ready.runtime === 'lxc';
  say(
    isReal
      ? 'The containers are real: each looks at itself.'
      : 'The containers are simulated: they know a few commands.',
  );
  for (const name of ['web', 'db'])
    gantry(['exec', name, '--', 'sh', '-c', isReal ? lookAround : 'echo "I am"; hostname'], 0);
}

const lookAround = 'echo "I am $(hostname), process 1 is $(cat /proc/1/comm)"; ip -4 -o addr show eth0';

async function patch(socketPath: string, path: string, body: unknown): Promise<void> {
  process.stdout.write(
    `\n$ curl --unix-socket ${resolve(socketPath)} -X PATCH http://gantry${path} -d '${JSON.stringify(body)}'\n`,
  );
  await call(socketPath, 'PATCH', path, body);
}

function call(socketPath: string, method: string, path: string, body?: unknown): Promise<unknown> {
  return new Promise((done, fail) => {
    const outgoing = request({ socketPath, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        if (response.statusCode === 200) done(JSON.parse(text));
        else fail(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`));
      });
    });
    outgoing.on('error', fail);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

process.exitCode = await demo();

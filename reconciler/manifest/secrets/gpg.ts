// Decrypts messages of GPG with the program gpg, which Debian has anyway: the one library that is kept up, openpgp, is under the LGPL and may not be bundled.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { confined } from '../../../server/lib/confined.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export class GpgError extends Error {
  override readonly name = 'GpgError';
}

export type DecryptGpg = (message: string) => Promise<Buffer>;

const runMs = 30_000;
const maxBytes = 64 * 1024;

/** Uses the keys and the agent of the user who runs this process. */
export const withOwnKeys =
  (env: Readonly<Record<string, string | undefined>>, signal: AbortSignal | undefined): DecryptGpg =>
  (message) =>
    run(['gpg', ...quiet, '--decrypt'], message, env, signal);

/** Uses only this secret key, which has no passphrase, in a keyring that is deleted when `work` ends. */
export async function withSecretKey<T>(
  secretKey: string,
  signal: AbortSignal | undefined,
  work: (decrypt: DecryptGpg) => Promise<T>,
): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'gty-gpg-'));
  const env = { PATH: process.env['PATH'], HOME: home, GNUPGHOME: home, LC_ALL: 'C' };
  // gpg parses files that anybody who may push writes, so it is confined; it needs sockets for its agent.
  const gpg = (args: readonly string[], input: string): Promise<Buffer> =>
    run(
      confined({ argv: ['gpg', ...quiet, ...args], confinement: { writes: [home], isServer: true } }),
      input,
      env,
      signal,
    );
  try {
    await gpg(['--import'], secretKey).catch((error: unknown) => {
      throw new GpgError('the file holds no secret key without a passphrase, as gpg --export-secret-keys writes it', {
        cause: error,
      });
    });
    return await work((message) => gpg(['--decrypt'], message));
  } finally {
    await run(['gpgconf', '--kill', 'all'], '', env, undefined).catch(() => undefined);
    await rm(home, { recursive: true, force: true });
  }
}

const quiet = ['--batch', '--no-tty', '--quiet', '--pinentry-mode', 'error'];

export interface GpgRun {
  readonly code: number;
  readonly out: Buffer;
  /** The end of its messages. */
  readonly said: string;
}

/** Throws GpgError if the program is missing. */
export async function runGpg(
  [program = '', ...args]: readonly string[],
  input: string | Buffer,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal | undefined,
): Promise<GpgRun> {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env,
    timeout: runMs,
    killSignal: 'SIGKILL',
    ...withoutUndefined({ signal }),
  });
  const out: Buffer[] = [];
  let bytes = 0;
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) out.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-2000)));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const missing = (cause: unknown): GpgError =>
    new GpgError('the program gpg cannot be started: install the package gnupg', { cause });
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? -1));
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw missing(error);
  });
  // The wrappers exit with 127 if they do not find gpg.
  if (code === 127) throw missing(new Error(said));
  if (bytes > maxBytes) throw new GpgError(`gpg: its output has more than ${maxBytes} bytes`);
  return { code, out: Buffer.concat(out), said: said.trim() };
}

/** The output of a run that succeeds. */
async function run(...command: Parameters<typeof runGpg>): Promise<Buffer> {
  const { code, out, said } = await runGpg(...command);
  if (code === 0) return out;
  const last = said
    .split('\n')
    .at(-1)
    ?.replace(/^gpg: /, '');
  throw new GpgError(`gpg: ${last ?? `it ended with ${code}`}`);
}

// Imports a public key for signatures into the keyring of its source.
import { spawn } from 'node:child_process';
import { confined } from '../../../../server/lib/confined.ts';
import { SourceError } from '../source.ts';

/** `home`: the keyring of one source. gpg parses an untrusted file, so it is confined; it needs sockets for its agent. */
export async function importKey(
  key: Buffer,
  home: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const args = ['--homedir', home, '--batch', '--no-tty', '--quiet', '--no-autostart', '--import'];
  const [program = 'gpg', ...rest] = confined({
    argv: ['gpg', ...args],
    confinement: { writes: [home], isServer: true },
  });
  const child = spawn(program, rest, {
    stdio: ['pipe', 'ignore', 'pipe'],
    env,
    timeout: 30_000,
    killSignal: 'SIGKILL',
    ...(signal === undefined ? {} : { signal }),
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(0, 2000)));
  child.stdin.on('error', () => undefined);
  child.stdin.end(key);
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? -1));
  }).catch((error: unknown) => {
    throw notStarted(error);
  });
  // The wrappers exit with 127 if they do not find gpg.
  if (code === 127) throw notStarted(new Error(said));
  if (code !== 0)
    throw new SourceError(
      'unavailable',
      `a file of verify.gpg holds no public key that gpg can import: ${said.trim().split('\n')[0] ?? ''}`,
    );
}

const notStarted = (cause: unknown): SourceError =>
  new SourceError(
    'unavailable',
    'the program gpg, which checks signatures, cannot be started; install the package gnupg',
    { cause },
  );

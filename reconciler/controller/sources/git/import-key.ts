// Imports a public key for signatures into the keyring of its source.
import { confined } from '../../../../server/lib/confined.ts';
import { GpgError, runGpg } from '../../../manifest/secrets/gpg.ts';
import { type SourceError, sourceErrors } from '../source.ts';

/** `home`: the keyring of one source. gpg parses an untrusted file, so it is confined; it needs sockets for its agent. */
export async function importKey(
  key: Buffer,
  home: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const argv = confined({
    argv: ['gpg', '--homedir', home, '--batch', '--no-tty', '--quiet', '--no-autostart', '--import'],
    confinement: { writes: [home], isServer: true },
  });
  const { code, said } = await runGpg(argv, key, env, signal).catch((error: unknown) => {
    throw error instanceof GpgError ? notStarted(error) : error;
  });
  if (code !== 0)
    throw sourceErrors.unavailable(
      `a file of verify.gpg holds no public key that gpg can import: ${said.split('\n')[0] ?? ''}`,
    );
}

const notStarted = (cause: unknown): SourceError =>
  sourceErrors.unavailable('the program gpg, which checks signatures, cannot be started; install the package gnupg', {
    cause,
  });

// Checks who signed a commit or a tag, with the keys of the source only: its own keyring and list of allowed signers.
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Verification, sourceErrors } from '../source.ts';
import type { GitSettings } from '../source-schema.ts';
import { importKey } from './import-key.ts';
import type { FetchResult, Mirror } from './mirror.ts';
import { readGpgStatus, readSshOutput } from './read-signature.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';

type Keys = NonNullable<GitSettings['verify']>;

export interface SignatureContext {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly absolute: (path: string) => string;
  /** Names the revision in messages. */
  readonly what: string;
}

/** Requires a signature of the commit, or of the annotated tag `tagName` on it. Throws `unverified`. */
export async function verifySignature(
  mirror: Mirror,
  fetched: FetchResult,
  tagName: string | undefined,
  keys: Keys,
  context: SignatureContext,
  signal?: AbortSignal,
): Promise<Verification> {
  const prepared = await prepareKeys(keys, context, signal);
  const ofCommit = await verifyObject(mirror, 'verify-commit', fetched.commit, prepared, signal);
  if ('by' in ofCommit) return ofCommit;
  if (fetched.tag !== undefined && tagName !== undefined) {
    const ofTag = await verifyObject(mirror, 'verify-tag', fetched.tag, prepared, signal);
    // The name is part of what was signed: an old signed tag under a new name is refused.
    if ('by' in ofTag && (await nameOfTag(mirror, fetched.tag, signal)) === tagName) return ofTag;
  }
  throw sourceErrors.unverified(`${context.what} is not used: ${ofCommit.why}`);
}

interface KeyFiles {
  readonly gnupgHome: string;
  readonly signersFile: string;
}

async function verifyObject(
  mirror: Mirror,
  verb: 'verify-commit' | 'verify-tag',
  object: string,
  { gnupgHome, signersFile }: KeyFiles,
  signal: AbortSignal | undefined,
): Promise<Verification | { readonly why: string }> {
  const settings = [
    'gpg.program=gpg',
    'gpg.x509.program=false',
    'gpg.ssh.program=ssh-keygen',
    `gpg.ssh.allowedSignersFile=${signersFile}`,
  ];
  const args = [...settings.flatMap((text) => ['-c', text]), verb, '--raw', object];
  const { code, stderr } = await mirror.git({ args, okCodes: [0, 1, 128], env: { GNUPGHOME: gnupgHome } }, signal);
  if (/cannot run gpg|cannot run ssh-keygen|could not run/i.test(stderr))
    return { why: 'the program gpg or ssh-keygen, which checks signatures, is not installed' };
  const found = /^\[GNUPG:\]/m.test(stderr) ? readGpgStatus(stderr) : readSshOutput(stderr);
  // Both the exit code of git and the output of the program must agree.
  if (!('by' in found)) return found;
  return code === 0 ? found : { why: 'its signature is not valid' };
}

async function nameOfTag(mirror: Mirror, tag: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  const { stdout } = await mirror.git({ args: ['cat-file', 'tag', tag], maxBytes: 64 * 1024, cuts: true }, signal);
  const [head = ''] = stdout.toString('utf8').split('\n\n');
  return /^tag (.+)$/m.exec(head)?.[1];
}

/** Keys are imported again when their files change. */
async function prepareKeys(keys: Keys, context: SignatureContext, signal: AbortSignal | undefined): Promise<KeyFiles> {
  const read = (what: string, files: readonly string[]): Promise<readonly Buffer[]> =>
    Promise.all(files.map((file) => readKeys(what, context.absolute(file))));
  const gpg = await read('verify.gpg', keys.gpg ?? []);
  const ssh = await read('verify.ssh', keys.ssh ?? []);
  if (gpg.length + ssh.length === 0)
    throw sourceErrors.unverified(`${context.what} is not used: verify names no keys; write gpg or ssh`);
  const hash = createHash('sha256');
  for (const key of [...gpg, Buffer.from('\0'), ...ssh]) hash.update(createHash('sha256').update(key).digest());
  const folder = join(context.home, `keys-${hash.digest('hex').slice(0, 16)}`);
  const prepared = { gnupgHome: join(folder, 'gnupg'), signersFile: join(folder, 'allowed-signers') };
  const signers = Buffer.concat(ssh.flatMap((part) => [part, Buffer.from('\n')]));
  // A kill or a full disk leaves a part of the file, which is written last.
  if ((await readFile(prepared.signersFile).catch(() => undefined))?.equals(signers) === true) return prepared;
  await rm(folder, { recursive: true, force: true });
  await makeFolder(prepared.gnupgHome, 0o700);
  for (const key of gpg) await importKey(key, prepared.gnupgHome, context.env, signal);
  await writeFile(prepared.signersFile, signers, { mode: 0o600 });
  return prepared;
}

const readKeys = async (what: string, file: string): Promise<Buffer> =>
  readFile(file).catch((error: unknown) => {
    throw sourceErrors.unavailable(`cannot read ${what}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  });

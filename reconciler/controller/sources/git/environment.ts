// The environment of git for one source: ignores configuration of the host and its users, reads credentials from files.
import { chmod, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { sourceErrors } from '../source.ts';
import type { Credentials } from '../source-schema.ts';
import { readSecret } from '../files/secret.ts';
import type { GitUrl } from './git-url.ts';

export interface GitEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Texts that messages must not quote. */
  readonly secrets: readonly string[];
}

const inherited = ['https_proxy', 'http_proxy', 'no_proxy', 'all_proxy', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];

/** `home`: a private folder of the source; `absolute` makes paths of the configuration absolute. */
export async function gitEnvironment(
  url: GitUrl,
  credentials: Credentials | undefined,
  home: string,
  absolute: (path: string) => string,
): Promise<GitEnvironment> {
  await makeFolder(home, 0o700);
  const passed = inherited.flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  const base = {
    ...Object.fromEntries(passed),
    PATH: `${process.env['PATH'] ?? '/usr/bin:/bin'}:${dirname(process.execPath)}`,
    HOME: home,
    // The only folder that git may write.
    TMPDIR: home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: url.protocol,
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    // A damaged mirror is no repository: one that holds the state directory must not take its place.
    GIT_CEILING_DIRECTORIES: dirname(home),
    GNUPGHOME: join(home, 'gnupg'),
  };
  if (url.protocol === 'ssh')
    return { env: { ...base, ...(await sshVariables(credentials, home, absolute)) }, secrets: [] };
  if (url.protocol === 'file') return { env: base, secrets: [] };
  return httpVariables(base, credentials, absolute);
}

async function httpVariables(
  base: Readonly<Record<string, string>>,
  credentials: Credentials | undefined,
  absolute: (path: string) => string,
): Promise<GitEnvironment> {
  const settings: (readonly [string, string])[] = [];
  const secrets: string[] = [];
  if (credentials?.caFile !== undefined) settings.push(['http.sslCAInfo', absolute(credentials.caFile)]);
  if (credentials?.passwordFile !== undefined) {
    const password = await readSecret('credentials.passwordFile', absolute(credentials.passwordFile));
    const basic = Buffer.from(`${credentials.username ?? 'git'}:${password}`).toString('base64');
    secrets.push(password, basic);
    settings.push(['http.extraHeader', `Authorization: Basic ${basic}`], ['http.followRedirects', 'false']);
  }
  return { env: { ...base, ...configVariables(settings) }, secrets };
}

/** Passes settings in the environment, since the process list shows arguments. */
const configVariables = (settings: readonly (readonly [string, string])[]): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([key, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
});

/** git starts GIT_SSH without a shell but passes no options, so this wrapper adds them. */
const wrapper = `#!/usr/bin/env node
import { spawn } from 'node:child_process';
const options = JSON.parse(process.env.GANTRY_SSH_OPTIONS ?? '[]');
const child = spawn('ssh', [...options, ...process.argv.slice(2)], { stdio: 'inherit' });
child.on('error', (error) => { process.stderr.write('ssh: ' + error.message + '\\n'); process.exitCode = 127; });
child.on('close', (code) => { process.exitCode = code ?? 255; });
`;

async function sshVariables(
  credentials: Credentials | undefined,
  home: string,
  absolute: (path: string) => string,
): Promise<Record<string, string>> {
  const file = join(home, 'ssh-with-options.mjs');
  await writeFile(file, wrapper, { mode: 0o700 });
  await chmod(file, 0o700);
  const option = (name: string, path: string): string[] => ['-o', `${name}=${quoted(absolute(path))}`];
  const key = credentials?.sshKeyFile;
  if (key !== undefined) await refuseLooseKey(absolute(key));
  const known = credentials?.knownHostsFile;
  const settings =
    'BatchMode StrictHostKeyChecking ForwardAgent=no ForwardX11=no PermitLocalCommand=no ClearAllForwardings UpdateHostKeys=no';
  const limits = 'ConnectTimeout=20 ServerAliveInterval=15';
  const options = `${settings} ${limits}`
    .split(' ')
    .flatMap((text) => ['-o', text.includes('=') ? text : `${text}=yes`]);
  if (key !== undefined)
    options.push(...option('IdentityFile', key), '-o', 'IdentitiesOnly=yes', '-o', 'IdentityAgent=none');
  if (known !== undefined) options.push(...option('UserKnownHostsFile', known), '-o', 'GlobalKnownHostsFile=/dev/null');
  // Without -F none, a Match exec in the file of a user would run through a shell.
  const all = ['-F', 'none', ...options];
  return { GIT_SSH: file, GIT_SSH_VARIANT: 'ssh', GANTRY_SSH_OPTIONS: JSON.stringify(all) };
}

/** ssh ignores a loose key almost silently, and does not check keys of other users at all. */
async function refuseLooseKey(file: string): Promise<void> {
  const { mode } = await stat(file).catch((error: unknown) => {
    throw sourceErrors.unavailable(
      `cannot read credentials.sshKeyFile: ${reasonOf(error)}; write the file, or name another one`,
      { cause: error },
    );
  });
  if ((mode & 0o077) === 0) return;
  const shown = (mode & 0o777).toString(8);
  throw sourceErrors.denied(
    `credentials.sshKeyFile: ${file} has the mode ${shown}, so others may read the key; run chmod 600 ${file}`,
  );
}

/** Quotes a path for an ssh option, where %% is a percent sign. */
function quoted(path: string): string {
  if (/["\n\r\\]/.test(path))
    throw sourceErrors.refused(`the path ${JSON.stringify(path)} holds a quote or a backslash, which ssh cannot read`);
  return `"${path.replaceAll('%', '%%')}"`;
}

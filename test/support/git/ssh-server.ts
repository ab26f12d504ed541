// A real sshd on loopback that serves git repositories: its own configuration, host key, port and keys of users in one folder.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../hosts/free-port.ts';
import { until } from '../until.ts';

const sshd = ['/usr/sbin/sshd', '/usr/bin/sshd', '/usr/local/sbin/sshd'].find((file) => existsSync(file));
/** Root's sshd needs this folder, which the package only creates for a running service. */
const emptyFolder = '/run/sshd';

/** Why no server can run here. */
export function whyNoSshServer(): string | undefined {
  if (sshd === undefined) return 'sshd is not installed (package openssh-server)';
  try {
    for (const program of ['ssh', 'ssh-keygen']) execFileSync('sh', ['-c', `command -v ${program}`]);
    accessSync(userInfo().shell ?? '');
    return undefined;
  } catch {
    return 'ssh, ssh-keygen or a shell of this user is missing';
  }
}

export interface SshServer {
  /** `ssh://USER@127.0.0.1:PORT`, to which the absolute path of a repository is added. */
  readonly url: string;
  /** A file of known hosts that holds the server's own key. */
  readonly knownHosts: string;
  /** A key pair that the server accepts; the file of the private key has mode 0600. */
  readonly key: string;
  /** The requested commands, in order. */
  commands(): readonly string[];
  close(): Promise<void>;
}

export async function startSshServer(folder: string): Promise<SshServer> {
  if (sshd === undefined) throw new Error(whyNoSshServer());
  const own = join(folder, 'sshd');
  mkdirSync(own, { mode: 0o700 });
  const isFolderOurs = process.getuid?.() === 0 && !existsSync(emptyFolder);
  if (isFolderOurs) mkdirSync(emptyFolder, { mode: 0o755 });
  const key = newKey(own, 'user');
  const hostKey = newKey(own, 'host');
  const port = await freePort();
  const runner = join(own, 'run');
  // Records the request, then runs it in git-shell, which only allows git's commands.
  writeFileSync(
    runner,
    `#!/bin/sh\nprintf '%s\\n' "$SSH_ORIGINAL_COMMAND" >> '${own}/commands'\nexec git shell -c "$SSH_ORIGINAL_COMMAND"\n`,
    { mode: 0o700 },
  );
  writeFileSync(join(own, 'commands'), '');
  writeFileSync(join(own, 'authorized'), `restrict ${readFileSync(`${key}.pub`, 'utf8')}`, { mode: 0o600 });
  writeFileSync(
    join(own, 'config'),
    `ListenAddress 127.0.0.1:${port}
HostKey ${hostKey}
PidFile none
AuthorizedKeysFile ${own}/authorized
AuthenticationMethods publickey
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
ForceCommand ${runner}
`,
  );
  const child = spawn(sshd, ['-D', '-e', '-f', join(own, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`sshd ended: ${said}`);
    return await answers(port);
  });
  const knownHosts = join(own, 'known_hosts');
  writeFileSync(knownHosts, knownHost(port, `${hostKey}.pub`));
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    knownHosts,
    key,
    commands: () => readFileSync(join(own, 'commands'), 'utf8').split('\n').filter(Boolean),
    async close() {
      await ended(child);
      if (isFolderOurs) rmSync(emptyFolder, { recursive: true, force: true });
    },
  };
}

/** A new key pair `NAME`, `NAME.pub` without a passphrase. */
export function newKey(folder: string, name: string): string {
  const file = join(folder, name);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file]);
  return file;
}

/** The known_hosts line for a loopback server with this port and public key. */
export function knownHost(port: number | string, publicKeyFile: string): string {
  return `[127.0.0.1]:${port} ${readFileSync(publicKeyFile, 'utf8')}`;
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

// An image of a small Debian with systemd, made by debootstrap from the mirror of this host; cached for the next run. Starts nothing.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const suite = 'bookworm';
/** Increased when the generated image changes. */
const revision = 1;
const packages = ['systemd-sysv', 'dbus', 'udev', 'iproute2'];
const usualMirror = 'http://deb.debian.org/debian';
const makeTimeoutMs = 300_000;

const cacheDir = (): string => process.env['GANTRY_TEST_CACHE'] ?? join(tmpdir(), 'gantry-test-cache');
const imageFile = (): string => join(cacheDir(), `debian-${suite}-${process.arch}-${revision}.tar.zst`);

export interface DebianImage {
  /** The file of a unified image. */
  readonly file?: string;
  /** The reason why there is none. */
  readonly missing?: string;
}

/** Takes a minute the first time: the download is 60 MB. */
export function debianImage(): DebianImage {
  const reason = whyNot();
  if (reason !== undefined) return { missing: reason };
  try {
    return { file: existsSync(imageFile()) ? imageFile() : makeImage(imageFile()) };
  } catch (error) {
    const { stdout, message } = error as Error & { readonly stdout?: Buffer };
    const said = stdout?.toString('utf8').trimEnd().split('\n').at(-1);
    return { missing: `no Debian could be made: ${said ?? message}` };
  }
}

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'making a Debian image needs root';
  if (existsSync(imageFile())) return undefined;
  for (const program of ['debootstrap', 'wget', 'zstd']) {
    if (spawnSync('which', [program]).status !== 0) return `${program} is not installed`;
  }
  const release = `${mirror()}/dists/${suite}/Release`;
  const reached = spawnSync('wget', ['--spider', '--quiet', '--timeout=10', '--tries=1', release]);
  return reached.status === 0 ? undefined : `the mirror does not answer (${release})`;
}

/** The first official mirror in this host's sources. */
function mirror(): string {
  const dir = '/etc/apt/sources.list.d';
  const files = ['/etc/apt/sources.list', ...(existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [])];
  for (const file of files.filter((name) => existsSync(name))) {
    const found = /^(?:deb\s+(?:\[[^\]]*\]\s+)?|URIs:\s*)(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(
      readFileSync(file, 'utf8'),
    );
    if (found?.[1] !== undefined) return found[1].replace(/\/$/, '');
  }
  return usualMirror;
}

function makeImage(file: string): string {
  mkdirSync(cacheDir(), { recursive: true });
  const work = mkdtempSync(join(cacheDir(), 'making-'));
  try {
    const root = join(work, 'rootfs');
    const options = ['--variant=minbase', `--include=${packages.join(',')}`];
    execFileSync('debootstrap', [...options, suite, root, mirror()], { stdio: 'pipe', timeout: makeTimeoutMs });
    settle(root);
    writeFileSync(join(work, 'metadata.yaml'), metadata());
    mkdirSync(join(work, 'templates'));
    writeFileSync(join(work, 'templates', 'hostname.tpl'), '{{ container.name }}\n');
    const packed = join(work, 'image');
    const keep = ['--numeric-owner', '--xattrs', '--xattrs-include=*', '--acls', '--exclude=./rootfs/dev/*'];
    const compress = '--use-compress-program=zstd -q -1';
    const parts = ['./metadata.yaml', './templates', './rootfs'];
    execFileSync('tar', [...keep, compress, '-cf', packed, ...parts], { cwd: work, stdio: 'pipe' });
    renameSync(packed, file);
    return file;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Configures DHCP on eth0, a persistent journal, and a unique machine id. */
function settle(root: string): void {
  writeFileSync(join(root, 'etc/systemd/network/eth0.network'), '[Match]\nName=eth0\n\n[Network]\nDHCP=ipv4\n');
  const wants = join(root, 'etc/systemd/system/multi-user.target.wants');
  mkdirSync(wants, { recursive: true });
  symlinkSync('/lib/systemd/system/systemd-networkd.service', join(wants, 'systemd-networkd.service'));
  mkdirSync(join(root, 'var/log/journal'), { recursive: true });
  writeFileSync(join(root, 'etc/machine-id'), '');
  writeFileSync(join(root, 'etc/fstab'), '');
  for (const dir of ['var/cache/apt/archives', 'var/lib/apt/lists']) {
    for (const name of readdirSync(join(root, dir))) rmSync(join(root, dir, name), { recursive: true });
  }
}

const metadata = (): string => `architecture: ${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}
creation_date: 1700000000
properties:
  os: debian
  release: ${suite}
  description: Debian with systemd, for tests
templates:
  /etc/hostname:
    when: [create, copy]
    template: hostname.tpl
`;

// Attaches mounts inside a running container's mount namespace, and removes them. A helper process enters it: Node's threads cannot.
import { closeSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { driverErrors } from '../../driver-error.ts';
import { findProgram } from '../host/programs.ts';
import { programEnv } from '../../../lib/program-env.ts';

/** setns(2) and umount2(2) by architecture; move_mount(2) has one number everywhere. */
const numbers: Readonly<Record<string, { readonly setns: number; readonly umount2: number }>> = {
  x64: { setns: 308, umount2: 166 },
  arm64: { setns: 268, umount2: 39 },
  riscv64: { setns: 268, umount2: 39 },
  s390x: { setns: 339, umount2: 52 },
  ppc64: { setns: 350, umount2: 52 },
};

/** Makes mount points as the container's root, in its own user namespace, so that no link inside leads further than that user may go. The
 *  mount itself needs the host's privileges: descriptor 3 is the tree to mount. */
const helper = `
use strict; use warnings;
my ($setns, $umount2, $pid, $what, $kind, $target) = @ARGV;
sub fail { print STDERR "$_[0]: $!\\n"; exit 1 }
sub refuse { print STDERR "$_[0]\\n"; exit 1 }
sub enter { my ($file, $flag) = @_; syscall($setns + 0, fileno($file), $flag) == 0 or fail("entering the container") }
open(my $mnt, '<', "/proc/$pid/ns/mnt") or fail("opening the mount namespace of the container");
open(my $user, '<', "/proc/$pid/ns/user") or fail("opening the user namespace of the container");
sub inside {
  my ($work) = @_;
  my $child = fork();
  defined $child or fail("fork");
  if ($child == 0) {
    enter($user, 0x10000000) if readlink("/proc/$pid/ns/user") ne readlink("/proc/self/ns/user");
    enter($mnt, 0x20000);
    $) = "0 0"; $( = 0; $> = 0; $< = 0;
    chdir('/') or fail("chdir");
    $work->();
    exit 0;
  }
  waitpid($child, 0);
  exit 1 if $? != 0;
}
if ($what eq 'mount') {
  inside(sub {
    my @parts = grep { $_ ne '' } split(m{/}, $target);
    my $last = $kind eq 'dir' ? undef : pop @parts;
    my $path = '';
    for my $part (@parts) {
      $path .= "/$part";
      refuse("$path is a link to " . readlink($path) . ": name the place itself, as a start follows no links") if -l $path;
      next if -d $path;
      refuse("$path is a file, and the source is a directory") if !defined $last && -e $path && $path eq "/" . join('/', @parts);
      mkdir($path, 0755) or fail("making the directory $path");
    }
    if (defined $last) {
      $path .= "/$last";
      refuse("$path is a link to " . readlink($path) . ": name the place itself, as a start follows no links") if -l $path;
      refuse("$path is a directory, and the source is a file") if -d $path;
      if (!-e $path) { open(my $made, '>>', $path) or fail("making the file $path") }
    }
  });
  enter($mnt, 0x20000);
  my $none = '';
  syscall(429, 3, $none, -100, $target, 4) == 0 or fail("mounting at $target");
} else {
  my $me = fork();
  defined $me or fail("fork");
  if ($me == 0) {
    enter($mnt, 0x20000);
    # Not mounted (any more) and gone are as good.
    syscall($umount2 + 0, $target, 10) == 0 or $!{EINVAL} or $!{ENOENT} or fail("unmounting $target");
    exit 0;
  }
  waitpid($me, 0);
  exit 1 if $? != 0;
  inside(sub { unlink($target) if -f $target && -z $target }) if $what eq 'remove';
}
`;

const timeoutMs = 10_000;

/** Mounts a detached tree at `target`, made if absent. Closes `tree`. */
export async function mountInside(
  pid: number,
  tree: number,
  place: { readonly kind: 'dir' | 'file'; readonly target: string },
): Promise<void> {
  try {
    await run(pid, ['mount', place.kind, place.target], tree);
  } finally {
    closeSync(tree);
  }
}

/** Idempotent. `remove`: also removes the empty file made as the mount point. */
export async function unmountInside(pid: number, target: string, remove: boolean): Promise<void> {
  await run(pid, [remove ? 'remove' : 'unmount', 'file', target], undefined);
}

async function run(pid: number, args: readonly string[], tree: number | undefined): Promise<void> {
  const perl = findProgram('perl');
  const calls = numbers[process.arch];
  if (perl === undefined || calls === undefined) {
    const what = perl === undefined ? 'the program perl (package perl-base)' : `another processor than ${process.arch}`;
    throw driverErrors.notSupported(`Changing mounts of a running container needs ${what}`);
  }
  const argv = ['-e', helper, '--', `${calls.setns}`, `${calls.umount2}`, `${pid}`, ...args];
  const child = spawn(perl, argv, {
    env: programEnv,
    cwd: '/',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe', ...(tree === undefined ? [] : [tree])],
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 4096) said += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exit) => resolve(exit));
  });
  if (code !== 0) {
    const why = code === null ? `it did not end in ${timeoutMs} ms` : said.trim();
    throw driverErrors.failed(
      `Cannot ${args[0] === 'mount' ? 'mount' : 'unmount'} ${args[2]} in the container`,
      new Error(why),
    );
  }
}

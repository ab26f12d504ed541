// Builds the first program of a confined command line: a perl program that removes access to sockets and most of the file system before it
// starts the next. Its rules are permanent: no later program can lift them. confined.ts decides who gets which.

export interface Fence {
  /** Files and folders that may be read besides programs and libraries. Undefined: all that its user may read. */
  readonly reads?: readonly string[];
  /** Folders in which it may write; everything else is immutable, attributes included. */
  readonly writes: readonly string[];
  /** It serves a network, or runs long: sockets and the host's mounts stay, so attributes of files elsewhere can change. */
  readonly isServer?: boolean;
  /** Its file system must not be mounted twice: it may change attributes in all mounts that contain its folders. */
  readonly isAtHome?: boolean;
  /** It belongs to a user who may not change mounts: the host's stay. */
  readonly isOfUser?: boolean;
}

/** unshare(2), prctl(2), socket(2) and the kernel's name of the ABI (AUDIT_ARCH_*). Calls from 424 on have one number everywhere. */
const calls: Readonly<Record<string, readonly [unshare: number, prctl: number, socket: number, abi: number]>> = {
  x64: [272, 157, 41, 0xc000_003e],
  arm64: [97, 167, 198, 0xc000_00b7],
};

/** Exit status on a kernel without a fence; every other failure may be temporary. */
export const noFenceHere = 124;

/** Folders that programs need to start. */
const programs = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/opt', '/nix', '/proc'];
/** All other devices, such as disks, and shared memory stay closed. */
const devices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'];
const startFiles = ['/etc/ld.so.cache', '/etc/ld.so.preload', '/etc/alternatives', '/etc/localtime'];

/** Arguments before a command line; undefined on processors with unknown call numbers. */
export function fenced(
  { reads, writes, isServer, isAtHome, isOfUser }: Fence,
  arch: string = process.arch,
): readonly string[] | undefined {
  const numbers = calls[arch];
  if (numbers === undefined) return undefined;
  const mayRead =
    reads === undefined ? [] : [...programs, ...devices, ...startFiles, ...reads].map((path) => `r=${path}`);
  const mounts = isOfUser === true ? [] : [isAtHome === true ? 'places' : 'mounts'];
  const parts = isServer === true ? [] : [...mounts, 'sockets'];
  return [
    'perl',
    '-e',
    script,
    '--',
    numbers.join(','),
    `parts=${parts.join(',')}`,
    ...mayRead,
    ...writes.map((path) => `w=${path}`),
    '--',
  ];
}

/** Mounts: a namespace in which all is read-only but the folders to write. Places: one in which all is read-only but the mounts that
 *  contain them, and only /dev has devices. Landlock (ABI 2, Linux 5.19): the same for files, also restricts reading, and forbids mounts.
 *  seccomp: no sockets, which reach through paths whatever the network, and no other ABI that has them. */
const script = `
use strict; use warnings;
my ($unshare, $prctl, $socket, $abi) = map { $_ + 0 } split(/,/, shift @ARGV);
my %may = (r => [], w => [], parts => []);
while (defined(my $word = shift @ARGV)) {
  last if $word eq '--';
  my ($how, $path) = split(/=/, $word, 2);
  push @{$may{$how}}, $path;
}
sub must { my ($ok, $what) = @_; return if $ok; print STDERR "confining: $what: $!\\n"; exit 125 }
my $parts = join(',', @{$may{parts}});
my ($here, $empty, $root) = (-100, '', '/');
if ($parts =~ /mounts/) {
  my $folder = readlink('/proc/self/cwd');
  must(syscall($unshare, 0x08020000) == 0, 'a name space of mounts');
  my $readOnly = pack('QQQQ', 1, 0, 1 << 19, 0);
  must(syscall(442, $here, $root, 0x8000, $readOnly, 32) == 0, 'a view that is read-only');
  for my $path (@{$may{w}}) {
    my $tree = syscall(428, $here, $path, 0x8001);
    must($tree >= 0, $path);
    # Device nodes can be made there, and none can be opened.
    my $writable = pack('QQQQ', 4, 1, 0, 0);
    must(syscall(442, $tree, $empty, 0x1000, $writable, 32) == 0, "$path writable");
    must(syscall(429, $tree, $empty, $here, $path, 0x14) == 0, "a mount at $path");
  }
  # The folder as it is mounted now; one that was removed is nowhere.
  chdir($folder) or must(chdir($root), 'the working folder');
}
if ($parts =~ /places/) {
  must(syscall($unshare, 0x08020000) == 0, 'a name space of mounts');
  my $closed = pack('QQQQ', 1 | 4, 0, 1 << 19, 0);
  must(syscall(442, $here, $root, 0x8000, $closed, 32) == 0, 'a view that is read-only and without devices');
  my ($open, $dev) = (pack('QQQQ', 0, 4, 0, 0), '/dev');
  syscall(442, $here, $dev, 0, $open, 32) == 0 or syscall(442, $here, $root, 0, $open, 32);
  my $writable = pack('QQQQ', 0, 1, 0, 0);
  for my $path (@{$may{w}}) {
    # The nearest folder above it at which something is mounted.
    my $place = $path;
    while (syscall(442, $here, $place, 0, $writable, 32) != 0) {
      must($place ne '/', "$path writable");
      $place =~ s{/[^/]*\\z}{};
      $place = '/' if $place eq '';
    }
  }
}
my $version = syscall(444, 0, 0, 1);
exit ${noFenceHere} if $version < 2;
my $write = 0x3ff2 | ($version >= 3 ? 0x4000 : 0);
my $read = @{$may{r}} ? 0x000c : 0;
my $handled = pack('Q', $write | $read);
my $rules = syscall(444, $handled, 8, 0);
must($rules >= 0, 'the rules of Landlock');
sub allow {
  my ($path, $rights, $isNeeded) = @_;
  my $is = -e $path;
  return if !$is && !$isNeeded;
  sysopen(my $place, $path, 0x200000) or must(0, $path);
  $rights &= 0x4006 if !-d $path;
  my $rule = pack('Ql', $rights, fileno($place));
  must(syscall(445, $rules, 1, $rule, 0) == 0, "the rule for $path");
}
allow($_, $read, 0) for @{$may{r}};
allow($_, $read | $write, 1) for @{$may{w}};
allow('/dev/null', $read | $write & 0x2, 0);
must(syscall($prctl, 38, 1, 0, 0, 0) == 0, 'no new privileges');
must(syscall(446, $rules, 0) == 0, 'Landlock');
if ($parts =~ /sockets/) {
  my ($load, $same, $from, $done) = (0x20, 0x15, 0x35, 0x06);
  my $refused = 0x00050001;
  my @filter = (
    [$load, 0, 0, 4], [$same, 1, 0, $abi], [$done, 0, 0, $refused],
    [$load, 0, 0, 0], [$from, 2, 0, 0x40000000], [$same, 1, 0, $socket], [$same, 0, 1, 425],
    [$done, 0, 0, $refused], [$done, 0, 0, 0x7fff0000],
  );
  my $program = join('', map { pack('SCCL', @$_) } @filter);
  my $fprog = pack('Sx6P', scalar(@filter), $program);
  must(syscall($prctl, 22, 2, $fprog, 0, 0) == 0, 'a filter of system calls');
}
exec { $ARGV[0] } @ARGV or must(0, $ARGV[0]);
`;

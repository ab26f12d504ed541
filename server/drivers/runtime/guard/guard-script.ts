// The guard's program: kills containers if the daemon has not fed it in time, whatever happened to the daemon. In perl: small, on every
// host, and independent of the daemon. It reads lines from standard input and repeats each one's number.

/** Numbers of mlockall(2): locked memory stays when the host runs out of it. */
const lockMemory: Readonly<Record<string, number>> = { x64: 151, arm64: 230 };

/** A line: NUMBER, TAB, deadline in seconds since the host's boot, TAB, paths separated by TAB. A path is a cgroup, whose processes are
 *  killed, or the file of a simulated container, which is removed. The clock includes suspension, and cannot be set. `quit` ends the guard;
 *  the end of its input does not, while it guards anything. */
export const guardScript = (arch: string): string => `
use strict; use Time::HiRes qw(clock_gettime);
my $note = shift; my ($dir) = $note =~ m{^(.*)/}; my ($until, @paths); my ($buffer, $open, $fired, $empty) = ('', 1, 0, 0);
$SIG{$_} = 'IGNORE' for qw(HUP INT TERM QUIT PIPE USR1 USR2);
if (open(my $oom, '>', '/proc/self/oom_score_adj')) { print $oom "-1000"; close $oom }
${lockMemory[arch] === undefined ? '' : `syscall(${lockMemory[arch]}, 3);`}
sub now { clock_gettime(7) }
sub put { my ($file, $text) = @_; open(my $out, '>', $file) or return; print $out $text; close $out }
sub pids { my ($dir) = @_; my @found;
  if (open(my $in, '<', "$dir/cgroup.procs")) { while (<$in>) { chomp; push @found, $_ if /^[1-9]/ } close $in }
  if (opendir(my $entries, $dir)) {
    for (readdir $entries) { push @found, pids("$dir/$_") if !/^\\.\\.?$/ && -d "$dir/$_" && !-l "$dir/$_" }
    closedir $entries }
  return @found }
sub end_all { my $left = 0;
  for my $path (@paths) {
    if (-f $path) { unlink $path; $left++; next }
    my @found = pids($path) or next; $left += @found;
    put("$path/cgroup.kill", "1") if -e "$path/cgroup.kill";
    kill 'KILL', @found;
    put("$path/freezer.state", "THAWED") if -e "$path/freezer.state";
    put("$path/cgroup.freeze", "0") if -e "$path/cgroup.freeze" }
  return $left }
while (1) {
  my $in = ''; vec($in, 0, 1) = 1 if $open;
  my $wait = defined $until ? $until - now() : 0.25; $wait = 0.05 if $wait < 0.05; $wait = 0.25 if $wait > 0.25;
  my $ready = select($in, undef, undef, $wait);
  if ($open && $ready > 0) {
    my $count = sysread(STDIN, $buffer, 65536, length $buffer);
    if (!$count) { $open = 0 }
    while ($buffer =~ s/^([^\\n]*)\\n//) {
      exit 0 if $1 eq 'quit';
      my ($number, $end, @given) = split /\\t/, $1;
      ($until, @paths) = ($end, @given); $fired = 0;
      syswrite(STDOUT, "$number\\n") }
  }
  exit 0 if !$open && (!defined $until || !@paths || !-d $dir);
  next if !defined $until || now() < $until;
  my $left = end_all();
  if ($left && !$fired) { $fired = 1; put($note, time()) }
  $empty = $left || $open ? now() : $empty || now();
  # A start that was under way when the daemon died may still come up.
  exit 0 if !$open && now() - $empty > 90;
}
`;

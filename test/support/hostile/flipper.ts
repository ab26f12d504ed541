// Exchanges two directory entries as fast as the kernel allows, over and over, as a hostile program in a container would.
import { spawn, spawnSync } from 'node:child_process';

/** Why it cannot run here; undefined if it can. */
export function flipperMissing(): string | undefined {
  if (process.platform !== 'linux' || !(process.arch in exchangeCall)) return 'renameat2 is not known here';
  return spawnSync('perl', ['-e', '1']).status === 0 ? undefined : 'perl is not installed';
}

const exchangeCall: Readonly<Record<string, number>> = { x64: 316, arm64: 276 };

const script = `
my ($call, $one, $two) = @ARGV; my $n = 0;
$SIG{TERM} = sub { print "$n\\n"; exit 0 };
$| = 1; print "ready\\n";
while (1) { syscall($call + 0, -100, $one, -100, $two, 2) == 0 and $n++; }
`;

export interface Flipper {
  /** Number of exchanges. */
  stop(): Promise<number>;
}

export async function flip(one: string, two: string): Promise<Flipper> {
  const child = spawn('perl', ['-e', script, String(exchangeCall[process.arch]), one, two], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('ready')) resolve();
    });
  });
  return {
    async stop() {
      child.kill('SIGTERM');
      await ended;
      return Number(text.split('\n')[1] ?? '0');
    },
  };
}

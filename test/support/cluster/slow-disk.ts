// A disk that is slow for one process: each of its syncs takes longer. Uses strace, which stops doing so when it ends.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export interface SlowDisk {
  /** The disk is as fast as before. */
  end(): Promise<void>;
}

export function slowDiskMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'slowing down the disk of a process needs root';
  return spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0 ? undefined : 'strace is not installed';
}

export async function slowDisk(pid: number, delayMs: number): Promise<SlowDisk> {
  const calls = 'fsync,fdatasync';
  const inject = `inject=${calls}:delay_exit=${delayMs * 1000}`;
  const child = spawn('strace', ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', inject, '-o', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const gone = once(child, 'exit');
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('attached')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`strace ended with ${code}: ${said}`)));
  });
  return {
    async end() {
      child.kill('SIGINT');
      await gone;
      process.off('exit', kill);
    },
  };
}

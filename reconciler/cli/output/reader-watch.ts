// Detects that the reader of a pipe has gone while nothing is written. Node has no call for this, so GNU tail watches.
import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * Calls `gone` at most once, when `fd` is a pipe that lost its last reader. Returns a function that ends the watch. Without GNU
 * tail only the next write detects it.
 */
export function watchReader(fd: number, pid: number, gone: () => void): () => void {
  if (!isPipe(fd)) return () => {};
  // tail follows a file that never grows; it exits when its standard output breaks or when this process ends, even by SIGKILL.
  const tail = spawn('tail', [`--pid=${pid}`, '-f', '/dev/null'], { stdio: ['ignore', fd, 'ignore'] });
  let isOver = false;
  tail.on('error', () => {});
  tail.on('exit', (_code, signal) => {
    if (signal === 'SIGPIPE' && !isOver) gone();
  });
  tail.unref();
  return () => {
    isOver = true;
    tail.kill();
  };
}

function isPipe(fd: number): boolean {
  try {
    return fstatSync(fd).isFIFO();
  } catch {
    return false;
  }
}

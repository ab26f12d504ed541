// Notices that the reader of a pipe has gone while nothing is written: node cannot ask, GNU tail can.
import { spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';

/**
 * `gone` is called at most once, when `fd` is a pipe that has lost its last reader. Returns what ends the watch. Without GNU tail
 * nothing is noticed before the next write.
 */
export function watchReader(fd: number, pid: number, gone: () => void): () => void {
  if (!isPipe(fd)) return () => {};
  // It follows a file that never grows, and ends with its own standard output or with us, also when we are killed.
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

// Makes pseudo-terminals, which Node cannot, through libc.
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { ReadStream } from 'node:tty';
import { driverErrors } from '../../driver-error.ts';
import type { TerminalSize } from '../command.ts';
import type { Libc } from '../host/syscalls.ts';

export interface Terminal {
  /** The daemon's end: reads the program's output. Node would write to it in a loop that blocks the daemon while the program reads nothing. */
  readonly socket: Socket;
  /** Writes the program's input piece by piece, as it has room. `isOver`: nobody will read it any more. */
  readonly write: (this: void, bytes: Buffer, isOver: () => boolean, done: (error?: Error) => void) => void;
  /** The child's streams; the caller closes it once the output was read. */
  readonly farSide: number;
  readonly path: string;
  readonly resize: (this: void, size: TerminalSize) => void;
  /** Whether a program has set its own mode, which discards earlier input. */
  readonly isTaken: () => boolean;
  /** Unread data from the far side, at once; undefined if there is none: the kernel was asked. */
  readonly rest: () => Buffer | undefined;
}

/** The same on all architectures but MIPS, PowerPC and SPARC. */
const setWindowSize = 0x5414;
const now = 0;
/** How long a full terminal is left alone. */
const fullMs = 10;

/** Raw from the start: input before a program sets its own mode must not be echoed. */
export function openTerminal(libc: Libc, size: TerminalSize): Terminal {
  const flags = constants.O_RDWR | constants.O_NOCTTY;
  const near = openSync('/dev/ptmx', flags | constants.O_NONBLOCK);
  let far: number | undefined;
  try {
    const name = new Uint8Array(64);
    if (libc.unlockpt(near) !== 0 || libc.ptsname_r(near, name, name.length) !== 0) {
      throw driverErrors.failed('Cannot make a terminal: the kernel gave none');
    }
    const path = Buffer.from(name.subarray(0, name.indexOf(0))).toString('utf8');
    far = openSync(path, flags);
    const settings = new Uint8Array(256);
    libc.tcgetattr(far, settings);
    libc.cfmakeraw(settings);
    libc.tcsetattr(far, now, settings);
    setSize(libc, near, size);
    const socket = new ReadStream(near);
    socket.pause();
    return {
      socket,
      write: (bytes, isOver, done) => writeAsRoom(near, bytes, () => socket.destroyed || isOver(), done),
      farSide: far,
      path,
      resize: (to) => setSize(libc, near, to),
      isTaken: () => isCooking(libc, near),
      rest: () => readNow(near),
    };
  } catch (error) {
    closeSync(near);
    if (far !== undefined) closeSync(far);
    throw error;
  }
}

function readNow(fd: number): Buffer | undefined {
  const chunk = Buffer.allocUnsafe(16 * 1024);
  try {
    const length = readSync(fd, chunk);
    return length === 0 ? undefined : chunk.subarray(0, length);
  } catch {
    return undefined;
  }
}

function writeAsRoom(fd: number, bytes: Buffer, isOver: () => boolean, done: (error?: Error) => void): void {
  if (isOver()) return done(new Error('the terminal is closed'));
  let written = 0;
  try {
    written = writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return done(error as Error);
  }
  if (written === bytes.length) done();
  else setTimeout(writeAsRoom, fullMs, fd, bytes.subarray(written), isOver, done);
}

function setSize(libc: Libc, fd: number, size: TerminalSize): void {
  libc.ioctl(fd, setWindowSize, new Uint8Array(new Uint16Array([size.rows, size.columns, 0, 0]).buffer));
}

/** LXC's programs enable output processing, which raw mode disables. */
function isCooking(libc: Libc, fd: number): boolean {
  const settings = new Uint8Array(256);
  libc.tcgetattr(fd, settings);
  return ((new Uint32Array(settings.buffer)[outputFlags] ?? 0) & processOutput) !== 0;
}

const outputFlags = 1;
const processOutput = 1;

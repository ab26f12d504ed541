// Reads a command's output and ends it itself: other processes may keep the pipe open after the command is gone.
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';

/** Poll interval for the output of an ended command. */
const lookMs = 20;

export interface OutputOptions {
  readonly filter?: OutputFilter;
  /** Data still in the kernel, or undefined. For a source that only the command writes to: it is read to its end, however long that takes. */
  readonly rest?: () => Buffer | undefined;
}

export class CommandOutput extends Readable {
  readonly #source: Socket;
  readonly #filter: OutputFilter | undefined;
  readonly #rest: OutputOptions['rest'];
  #received = 0;
  #over = false;
  #isEmptying = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Socket, { filter, rest }: OutputOptions = {}) {
    super({ highWaterMark: 64 * 1024 });
    this.#source = source;
    this.#filter = filter;
    this.#rest = rest;
    source.on('data', this.#listen);
    // A terminal whose other side is closed reads as an input/output error.
    source.on('error', () => this.#end());
    source.on('end', () => this.#end());
    source.on('close', () => this.#end());
  }

  /** The command has ended: reads what is in the pipe, but does not wait for later output of other processes. */
  drain(): void {
    if (this.#over || this.#timer !== undefined || this.#isEmptying) return;
    if (this.#rest !== undefined) {
      this.#isEmptying = true;
      this.#source.off('data', this.#listen).pause();
      this.#empty(this.#rest);
      return;
    }
    let before = -1;
    this.#timer = setInterval(() => {
      const isWaiting = !this.#source.isPaused() && this.#received === before;
      before = this.#received;
      if (isWaiting) this.#end();
    }, lookMs);
  }

  /** Pushes Node's buffered data first. At least one piece: a caller that asks for more has not yet consumed the buffer. */
  #empty(rest: () => Buffer | undefined): void {
    let isGiven = false;
    do {
      const chunk = (this.#source.read() as Buffer | null) ?? rest();
      if (chunk === undefined) this.#end();
      else isGiven = this.#take(chunk) || isGiven;
    } while (!this.#over && (!isGiven || this.readableLength < this.readableHighWaterMark));
  }

  override _read(): void {
    if (this.#isEmptying && this.#rest !== undefined) this.#empty(this.#rest);
    else this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#over = true;
    clearInterval(this.#timer);
    this.#source.destroy();
    done(error);
  }

  readonly #listen = (chunk: Buffer): void => void this.#take(chunk);

  #take(chunk: Buffer): boolean {
    this.#received += chunk.length;
    const filter = this.#filter;
    return this.#give(filter === undefined ? chunk : filter.pass(chunk, (late) => this.#give(late)));
  }

  /** Whether there was anything to push. */
  #give(chunk: Buffer): boolean {
    if (this.#over || chunk.length === 0) return false;
    if (!this.push(chunk)) this.#source.pause();
    return true;
  }

  #end(): void {
    if (this.#over) return;
    if (this.#filter !== undefined) this.#give(this.#filter.rest());
    this.#over = true;
    clearInterval(this.#timer);
    this.#source.destroy();
    this.push(null);
  }
}

export interface OutputFilter {
  /** The part of the chunk to push now. A held part comes through `late` if nothing follows soon. */
  pass(chunk: Buffer, late: (chunk: Buffer) => void): Buffer;
  rest(): Buffer;
}

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const holdMs = 10;

/** Removes the `count` carriage returns that nested terminals add before each line feed. */
export function carriageReturnFilter(count: number): OutputFilter {
  let heldBack = 0;
  let timer: NodeJS.Timeout | undefined;
  const release = (): Buffer => {
    clearTimeout(timer);
    const rest = Buffer.alloc(heldBack, carriageReturn);
    heldBack = 0;
    return rest;
  };
  return {
    pass(chunk, late) {
      const { bytes, trailing } = dropCarriageReturns(Buffer.concat([release(), chunk]), count);
      heldBack = trailing;
      // A program that returns to the start of its line must not wait for its next output.
      if (heldBack > 0) timer = setTimeout(() => late(release()), holdMs);
      return bytes;
    },
    rest: release,
  };
}

/** Carriage returns at the end may precede a line feed that has not arrived: counts them, and holds them back. Pure. */
export function dropCarriageReturns(
  input: Buffer,
  count: number,
): { readonly bytes: Buffer; readonly trailing: number } {
  const output = Buffer.allocUnsafe(input.length);
  let length = 0;
  let pending = 0;
  for (const byte of input) {
    if (byte === carriageReturn) {
      pending += 1;
      continue;
    }
    const kept = byte === lineFeed ? Math.max(pending - count, 0) : pending;
    output.fill(carriageReturn, length, length + kept);
    length += kept;
    pending = 0;
    output[length] = byte;
    length += 1;
  }
  return { bytes: output.subarray(0, length), trailing: pending };
}

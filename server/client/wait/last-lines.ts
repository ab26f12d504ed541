// The last lines of an output, fit for a terminal.
import { Writable } from 'node:stream';

const keptBytes = 2048;

/** The end of a command's output, however long it is. */
export class Tail extends Writable {
  readonly #bytes: number;
  #kept = Buffer.alloc(0);

  constructor(bytes = keptBytes) {
    super();
    this.#bytes = bytes;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#kept = Buffer.concat([this.#kept, chunk]).subarray(-this.#bytes);
    done();
  }

  text(): string {
    return this.#kept.toString('utf8');
  }

  lastLine(): string {
    return lastLines(this.text(), 1)[0] ?? '';
  }
}

const longestLine = 200;

/** Lines that are not empty, fit for a terminal. */
export const lastLines = (text: string, count: number): readonly string[] =>
  text
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .split(/[\r\n]+/)
    // oxlint-disable-next-line no-control-regex
    .map((line) => line.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ').trim())
    .filter((line) => line !== '')
    .slice(-count)
    .map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)}...` : line));

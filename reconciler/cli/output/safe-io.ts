// Standard output and error as commands see them: text from servers cannot steer the terminal, and a lost reader stops the command.
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { guardOutput } from '../../../server/lib/shared/output-stream.ts';
import { terminalText, type MarkedColor } from '../../core/text/terminal-text.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { hasColor, type CliIo } from './process-io.ts';
import { CliError } from '../errors/usage-error.ts';

export interface ShownIo extends CliIo {
  /** For unfiltered bytes: output of commands in containers, files, and our own cursor movements. */
  readonly raw: { readonly stdout: Writable; readonly stderr: Writable };
  /** Aborted with a CliError when a stream cannot be written. Commands then stop as after Ctrl-C. */
  readonly lost: AbortSignal;
  /** Replaces the escape character in our own colours. It is random per run, so that no text of a server can contain it. */
  readonly paintMark: string;
  /** For commands that write rarely: aborts `lost` as soon as the reader has gone. Returns a function that ends the watch. */
  watchReader(): () => void;
  /** Waits until everything is written, so that `lost` covers it. */
  flush(): Promise<void>;
}

export const colorOf = (io: ShownIo, stream: { readonly isTTY?: boolean }, isWanted: boolean): MarkedColor =>
  hasColor(io.env, stream, isWanted) && io.paintMark;

export function openIo(io: CliIo): ShownIo {
  const lost = new AbortController();
  // It starts with a noncharacter, which few texts contain, so that the search is fast.
  const paintMark = `\uFDD0${randomBytes(8).toString('hex')}`;
  const raw = { stdout: io.stdout, stderr: io.stderr };
  const open = (stream: CliIo['stdout'], name: string): Writable => {
    const output = guardOutput(stream, (loss, error) => {
      const message = `Cannot write to ${name}: ${error.message}`;
      lost.abort(new CliError(message, loss === 'reader-gone' ? exitCodes.readerGone : exitCodes.error, error));
    });
    return textStream(stream, (text) => output.write(terminalText(text, paintMark)));
  };
  return {
    ...io,
    raw,
    paintMark,
    lost: lost.signal,
    stdout: open(io.stdout, 'standard output'),
    stderr: open(io.stderr, 'standard error'),
    watchReader: () =>
      io.onReaderGone?.(() =>
        lost.abort(new CliError('Cannot write to standard output: its reader has gone', exitCodes.readerGone)),
      ) ?? (() => {}),
    async flush() {
      for (const stream of [raw.stdout, raw.stderr]) {
        if (!lost.signal.aborted) await new Promise<void>((written) => stream.write('', () => written()));
      }
    },
  };
}

/** Follows the size of the terminal below it. */
function textStream(stream: CliIo['stdout'], write: (text: string) => void): Writable {
  const text = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      write(chunk.toString());
      done();
    },
    // One write for all corked text: each write wakes the reader.
    writev(chunks, done) {
      write(chunks.map(({ chunk }) => String(chunk)).join(''));
      done();
    },
  });
  return Object.defineProperties(text, {
    isTTY: { get: () => stream.isTTY },
    columns: { get: () => stream.columns },
    rows: { get: () => stream.rows },
  });
}

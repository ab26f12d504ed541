// Takes the body of an answer to its end, or says that it was cut off.
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FileError } from '../../../server/lib/shared/error-code.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { CliError, commandError } from '../errors/usage-error.ts';

/** `to`: a stream that stays open, or what takes the chunks. `what` names the body in messages. */
export async function download(
  { stop }: { readonly stop: AbortSignal },
  what: string,
  body: Readable,
  to: Writable | ((chunks: AsyncIterable<Buffer>) => Promise<void>),
): Promise<void> {
  let taken: Promise<void> | undefined;
  try {
    if (typeof to === 'function') await pipeline(body, (chunks) => (taken = to(chunks)), { signal: stop });
    else await pipeline(body, to, { signal: stop, end: false });
  } catch (error) {
    // `pipeline` does not wait for it: it has a file to clear away.
    await taken?.catch(() => undefined);
    if (stop.aborted) throw stop.reason;
    if (error instanceof CliError || error instanceof FileError) throw error;
    throw commandError(`${what} was cut off: ${reasonOf(error)}`, error);
  }
}

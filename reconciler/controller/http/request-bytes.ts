// Reads the body of a request up to a limit.
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

export interface BodyLimit {
  /** Max bytes of one. */
  readonly each: number;
  /** How many bytes those that arrive at once may still have. */
  left: number;
}

/** Throws Refusal for a larger one, before it is read whole, and for one without room beside the others. */
export async function readBytes(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> {
  const tooLarge = () => new Refusal('too-large', `The body of the request has more than ${limit.each} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit.each) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  // `for await` would close the connection with the loop, before the answer.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (part: Buffer) => {
      size += part.length;
      limit.left -= part.length;
      if (size <= limit.each && limit.left >= 0) {
        parts.push(part);
        return;
      }
      request.pause();
      request.removeAllListeners('data');
      reject(
        size > limit.each ? tooLarge() : new Refusal('too-many-requests', 'Too much arrives at once: send it again'),
      );
    });
    request.once('end', resolve);
    request.once('error', reject);
    request.once('close', () => reject(new Refusal('bad-request', 'The connection ended before the body did')));
  }).finally(() => (limit.left += size));
  return Buffer.concat(parts);
}

// Reads the body of a request up to a limit.
import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.ts';

/** Throws Refusal for a larger one, before it is read whole. */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = () => new Refusal('too-large', `The body of the request has more than ${limit} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  // `for await` would close the connection with the loop, before the answer.
  await new Promise<void>((resolve, reject) => {
    request.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= limit) {
        parts.push(part);
        return;
      }
      request.pause();
      request.removeAllListeners('data');
      reject(tooLarge());
    });
    request.once('end', resolve);
    request.once('error', reject);
    request.once('close', () => reject(new Refusal('bad-request', 'The connection ended before the body did')));
  });
  return Buffer.concat(parts);
}

// Writes a download to a file, counts its bytes and compares its digest.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileError, FileError } from '../../../../server/lib/shared/error-code.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { makeFolder } from '../../../../server/lib/shared/make-folder.ts';
import { tooLarge, type TreeLimits } from '../files/limits.ts';
import { SourceError, sourceErrors } from '../source.ts';

export interface KeepRequest {
  readonly what: string;
  readonly limits: TreeLimits;
  /** The expected digest, if it is known. */
  readonly digest: string | undefined;
}

/** The digest, sha256:<hex>. */
export async function keep(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  file: string,
  request: KeepRequest,
): Promise<string> {
  const { what, limits, digest: wanted } = request;
  await makeFolder(dirname(file), 0o700);
  const hash = createHash('sha256');
  const handle = await open(file, 'w', 0o600);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > limits.bytes) throw tooLarge(what, limits);
      hash.update(chunk);
      // `write` may write a part only.
      await handle.writeFile(chunk).catch((error: unknown) => {
        throw fileError(`cannot write ${file}`, error);
      });
    }
  } catch (error) {
    if (error instanceof SourceError || error instanceof FileError || (error as Error).name === 'AbortError')
      throw error;
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new SourceError(isAbsent ? 'not-found' : 'unreachable', `${what} cannot be read: ${reasonOf(error)}`, {
      cause: error,
    });
  } finally {
    await handle.close();
  }
  const digest = `sha256:${hash.digest('hex')}`;
  if (wanted !== undefined && digest !== wanted) {
    throw sourceErrors.unverified(`${what} is not used: its digest is ${digest}, and ${wanted} is wanted`);
  }
  return digest;
}

// Writes one plain file as a member of a tar archive, for archives assembled from several sources.
import { driverErrors } from '../driver-error.ts';
import { withContent } from '../../lib/shared/tar-headers.ts';
import { blockSize } from './tar-header.ts';

/** Two blocks of zeros. */
export const tarEnd = Buffer.alloc(2 * blockSize);

/** Header, content, padding; owned by 0:0, mode 0644. `name`: at most 100 bytes; `mtime` in seconds. */
export function tarFile(name: string, content: Buffer, mtime: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw driverErrors.invalid(`${name} is too long a name for an archive`);
  const header = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, width: number): void => {
    header.write(
      `${Math.max(0, value)
        .toString(8)
        .padStart(width - 1, '0')}\0`,
      at,
      'latin1',
    );
  };
  header.write(name, 0, 'utf8');
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(mtime, 136, 12);
  header.write('0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  return withContent(header, content);
}

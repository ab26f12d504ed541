// Places the plugin's unix socket in a private directory, at a path short enough for the kernel.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The kernel cuts longer paths silently: 104 bytes on macOS, 108 on Linux, with the final zero. */
const maxPathBytes = 103;
const name = 's';

export interface SocketPlace {
  readonly path: string;
  remove(): void;
}

export function makeSocketPlace(folder = tmpdir()): SocketPlace {
  const fits = Buffer.byteLength(join(folder, 'gantry-tf-XXXXXX', name)) <= maxPathBytes;
  const dir = mkdtempSync(join(fits ? folder : '/tmp', 'gantry-tf-'));
  return { path: join(dir, name), remove: () => rmSync(dir, { recursive: true, force: true }) };
}

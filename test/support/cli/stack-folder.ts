// A folder with a small image and one stack that tests rewrite before each command.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cli, type CliRun } from './io.ts';
import { packImage } from './daemon-with-manifests.ts';

export class StackFolder {
  readonly dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtsf-'));

  /** The image is `image.tar.gz`. */
  constructor() {
    packImage(this.dir, 'image.tar.gz', 'one');
  }

  /** `gantry VERB -f STACK --host SOCKET`, where `parts` are the documents of the stack. */
  async gantry(
    socketPath: string,
    verb: string,
    parts: readonly string[],
    ...more: readonly string[]
  ): Promise<CliRun> {
    const file = join(this.dir, 'stack.yaml');
    writeFileSync(file, parts.join('---\n'));
    return cli([verb, '-f', file, '--host', `unix://${socketPath}`, ...more]);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

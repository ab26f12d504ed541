// The image of the quickstart, made by its own script, once for a run: the same input gives the same bytes.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../build-daemon.ts';
import { copyBuilt, keepBuilt } from '../built-once.ts';

export function writeQuickstartImage(file: string): void {
  const work = mkdtempSync(join(tmpdir(), 'gtqi-'));
  try {
    const made = join(work, 'busybox.tar.gz');
    if (!copyBuilt('quickstart-image', work)) {
      const script = join(repositoryRoot, 'examples/quickstart/build-image.sh');
      execFileSync('sh', [script, made], { stdio: ['ignore', 'ignore', 'inherit'] });
      keepBuilt('quickstart-image', work);
    }
    copyFileSync(made, file);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

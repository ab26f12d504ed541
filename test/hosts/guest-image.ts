// The image of a container with systemd for checks: made once by the users' script, and cached.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from './base-disk.ts';
import { program } from './program.ts';
import { mirror, type Release } from './releases.ts';

const script = 'examples/quickstart/build-debian.sh';

/** The path of an image of the same Debian suite as the host. */
export async function guestImage({ name, suite }: Release, say: (text: string) => void): Promise<string> {
  const hash = createHash('sha256').update(await readFile(script));
  const file = join(cacheFolder, `guest-${suite}-${hash.digest('hex').slice(0, 12)}.tar.gz`);
  if (existsSync(file)) return file;
  say(`${name}: making the image of a container with systemd (kept as ${file})`);
  for (const old of await readdir(cacheFolder)) if (old.startsWith(`guest-${suite}-`)) await rm(join(cacheFolder, old));
  const made = `${file}.${process.pid}`;
  await program('sh', [script, made], { env: { ...process.env, SUITE: suite, MIRROR: mirror } });
  await rename(made, file);
  return file;
}

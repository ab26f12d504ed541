// The entry at a path inside a container, in one line: mode, owner and content of a file, names in a directory, target of a link.
import type { Files } from '../../../server/client/files/container-files.ts';

export async function contentOf(files: Files, path: string): Promise<string> {
  const entry = await files.read(path);
  if (entry.type === 'symlink') return `-> ${entry.target}`;
  if (entry.type === 'directory') return entry.names.toSorted().join(' ');
  const chunks: Buffer[] = [];
  for await (const chunk of entry.body as AsyncIterable<Buffer>) chunks.push(chunk);
  return `${(entry.mode & 0o777).toString(8)} ${entry.uid}:${entry.gid} ${Buffer.concat(chunks).toString()}`;
}

// The contents of all files below a path, to search them for a secret.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const textsBelow = (path: string): readonly string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => textsBelow(join(path, name)))
    : [readFileSync(path, 'utf8')];

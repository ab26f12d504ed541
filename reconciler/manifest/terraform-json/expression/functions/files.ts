// Functions of files and paths, as Terraform on Unix has them.
import { createHash } from 'node:crypto';
import { posix, resolve } from 'node:path';
import { setOf } from '../unify.ts';
import { ConversionError, isMap, typeName, type Value } from '../values.ts';
import { text } from './arguments.ts';
import type { FileReader } from './file-reader.ts';
import type { FunctionContext, FunctionRow } from './function-row.ts';

function filesOf({ files }: FunctionContext): FileReader {
  if (files === undefined) throw new ConversionError('files cannot be read here');
  return files;
}

const ofPath = (run: (path: string) => string): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args) => run(text(args, 0)),
});

const ofFile = (run: (bytes: Buffer) => string): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args, context) => run(filesOf(context).read(expanded(text(args, 0), context))),
});

const digest = (algorithm: string, encoding: 'hex' | 'base64'): FunctionRow =>
  ofFile((bytes) => createHash(algorithm).update(bytes).digest(encoding));

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ConversionError('the file is no UTF-8 text; filebase64() reads any file');
  }
}

/** `~/x` is in the home of the user who runs gantry. */
function expanded(path: string, context: FunctionContext): string {
  if (!path.startsWith('~')) return path;
  if (path !== '~' && !path.startsWith('~/')) throw new ConversionError('the home of another user is not known');
  return `${filesOf(context).home}${path.slice(1)}`;
}

/** Removes `.`, `..` and doubled slashes. */
function cleaned(path: string): string {
  const normal = posix.normalize(path === '' ? '.' : path);
  return normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

function baseOf(path: string): string {
  if (path === '') return '.';
  const bare = path.replace(/\/+$/, '');
  return bare === '' ? '/' : bare.slice(bare.lastIndexOf('/') + 1);
}

/** Folders before the first sign of the pattern belong to the path: `../shared/*` leads out of the folder. */
function fileSet(args: readonly Value[], context: FunctionContext): Value {
  const folder = resolve(filesOf(context).cwd, expanded(text(args, 0), context));
  const steps = cleaned(text(args, 1).replace(/^\/+/, '')).split('/');
  const at = steps.findIndex((step) => /[*?[{\\]/.test(step));
  const fixed = at < 0 ? steps.length - 1 : at;
  const root = resolve(folder, ...steps.slice(0, fixed));
  const isWanted = globPattern(steps.slice(fixed).join('/'));
  const found = filesOf(context).below(root).filter(isWanted);
  return setOf(found.map((path) => posix.relative(folder, `${root}/${path}`)));
}

function rendered(source: string, vars: Value, context: FunctionContext): Value {
  if (!isMap(vars)) throw new ConversionError(`the variables of a template are an object, not ${typeName(vars)}`);
  const invalid = Object.keys(vars).find((name) => !/^[\p{ID_Start}_][\p{ID_Continue}-]*$/u.test(name));
  if (invalid !== undefined) throw new ConversionError(`${JSON.stringify(invalid)} is no name of a variable`);
  return context.render(source, vars);
}

export const files: Readonly<Record<string, FunctionRow>> = {
  file: ofFile(utf8),
  filebase64: ofFile((bytes) => bytes.toString('base64')),
  fileexists: { least: 1, max: 1, run: (args, context) => filesOf(context).exists(expanded(text(args, 0), context)) },
  fileset: { least: 2, max: 2, run: fileSet },
  filemd5: digest('md5', 'hex'),
  filesha1: digest('sha1', 'hex'),
  filesha256: digest('sha256', 'hex'),
  filesha512: digest('sha512', 'hex'),
  filebase64sha256: digest('sha256', 'base64'),
  filebase64sha512: digest('sha512', 'base64'),
  templatefile: {
    least: 2,
    max: 2,
    run: (args, context) =>
      rendered(utf8(filesOf(context).read(expanded(text(args, 0), context))), args[1] ?? null, context),
  },
  templatestring: { least: 2, max: 2, run: (args, context) => rendered(text(args, 0), args[1] ?? null, context) },
  abspath: { least: 1, max: 1, run: (args, context) => resolve(filesOf(context).cwd, text(args, 0)) },
  pathexpand: { least: 1, max: 1, run: (args, context) => expanded(text(args, 0), context) },
  basename: ofPath(baseOf),
  dirname: ofPath((path) => cleaned(path.slice(0, path.lastIndexOf('/') + 1))),
};

/** Throws ConversionError for a pattern that does not end. */
function globPattern(pattern: string): (path: string) => boolean {
  const test = new RegExp(`^${translated(pattern)}$`, 'su');
  return (path) => test.test(path);
}

function translated(pattern: string): string {
  let out = '';
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? '';
    if (char === '*') {
      const isDeep = /^\*\*(?:\/|$)/.test(pattern.slice(at)) && (at === 0 || pattern[at - 1] === '/');
      if (!isDeep) out += '[^/]*';
      else if (pattern[at + 2] === '/') out += '(?:[^/]+/)*';
      else out += '.*';
      while (pattern[at + 1] === '*') at++;
      if (isDeep && pattern[at + 1] === '/') at++;
    } else if (char === '?') out += '[^/]';
    else if (char === '[') {
      const end = pattern.indexOf(']', at + 2);
      if (end < 0) throw invalid(pattern);
      out += `[${pattern
        .slice(at + 1, end)

        .replaceAll('\\', '\\\\')}]`;
      at = end;
    } else if (char === '{') {
      depth++;
      out += '(?:';
    } else if (char === '}' && depth > 0) {
      depth--;
      out += ')';
    } else if (char === ',' && depth > 0) out += '|';
    else if (char === '\\' && at + 1 < pattern.length) out += escaped(pattern[++at] ?? '');
    else out += escaped(char);
  }
  if (depth > 0) throw invalid(pattern);
  return out;
}

const escaped = (char: string): string => char.replace(/[$()*+.?[\\\]^{|}/]/, String.raw`\$&`);
const invalid = (pattern: string): ConversionError =>
  new ConversionError(`the pattern ${JSON.stringify(pattern)} does not end`);

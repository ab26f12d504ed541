// Terraform's files of variable values: terraform.tfvars and *.auto.tfvars in HCL and in JSON. Finds the files, orders them by
// precedence, and reports their problems.
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { inFence } from '../text/fence.ts';
import { limits } from '../text/parse-yaml.ts';
import { evaluate, type Scope } from '../terraform-json/expression/evaluate.ts';
import { toPlain } from '../terraform-json/expression/json-text.ts';
import { ExpressionError, type Expression } from '../terraform-json/expression/syntax.ts';
import { Parser } from '../terraform-json/expression/parse.ts';

/** Values of files have types; texts of the command line and the environment are converted later. */
export interface GivenValues {
  readonly file: string;
  readonly values: ReadonlyMap<string, Json>;
}

const isAutomatic = (name: string): boolean =>
  /^terraform\.tfvars(?:\.json)?$/.test(name) || /\.auto\.tfvars(?:\.json)?$/.test(name);

/** The files of a folder, weakest first: terraform.tfvars, terraform.tfvars.json, then the others by their names. */
export async function automaticFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter(isAutomatic).sort();
  const rank = (name: string): number => (name === 'terraform.tfvars' ? 0 : name === 'terraform.tfvars.json' ? 1 : 2);
  return names.toSorted((a, b) => rank(a) - rank(b)).map((name) => join(folder, name));
}

/** A text that cannot be read is reported with its place, and has no values. */
export async function readTfvars(file: string, diagnostics: Diagnostic[]): Promise<GivenValues> {
  const refuse = (message: string, line = 1, column = 1): GivenValues => {
    diagnostics.push({ severity: 'error', code: 'unreadable', path: '', message, file, line, column });
    return { file, values: new Map() };
  };
  let text: string;
  try {
    const { size } = await stat(inFence(file));
    if (size > limits.fileBytes) return refuse(`${file} has ${size} bytes; ${limits.fileBytes} may be read`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    return refuse(`${file} cannot be read: ${(error as Error).message}`);
  }
  try {
    return { file, values: file.endsWith('.json') ? jsonValues(text) : hclValues(text) };
  } catch (error) {
    if (!(error instanceof ExpressionError)) return refuse(`${file} cannot be read: ${(error as Error).message}`);
    const before = text.slice(0, error.span.start).split('\n');
    return refuse(`${basename(file)}: ${error.message}`, before.length, (before.at(-1) ?? '').length + 1);
  }
}

function jsonValues(text: string): ReadonlyMap<string, Json> {
  const parsed = JSON.parse(text) as Json;
  if (!isMap(parsed)) throw new Error('it must hold an object');
  return new Map(Object.entries(parsed));
}

/** Values are literals: without references and function calls. */
const written: Scope = { resolve: () => undefined, isConstant: true };

function hclValues(text: string): ReadonlyMap<string, Json> {
  return new Map(
    parseAssignments(text).map(({ name, value }) => [name, toPlain(evaluate(value, written)) as Json] as const),
  );
}

interface Assignment {
  readonly name: string;
  readonly value: Expression;
}

/**
 * Reads a file of `name = value` lines, the syntax of *.tfvars.
 * Throws ExpressionError, also for a name that is given twice, and for blocks.
 */
function parseAssignments(text: string): readonly Assignment[] {
  const parser = new Parser(text.replace(/^\uFEFF/, ''));
  const found = new Map<string, Assignment>();
  for (;;) {
    const token = parser.next();
    if (token.type === 'end') return [...found.values()];
    if (token.type !== 'name') throw new ExpressionError('E_SYNTAX', 'the name of a variable is expected here', token);
    const { text: name } = token;
    if (found.has(name)) throw new ExpressionError('E_SYNTAX', `${name} is given twice`, token);
    const sign = parser.next();
    if (sign.type !== 'sign' || sign.text !== '=')
      throw new ExpressionError('E_SYNTAX', `= is expected after ${name}; files of values cannot contain blocks`, sign);
    found.set(name, { name, value: parser.expression() });
    const next = parser.peek();
    if (next.type !== 'end' && !/[\r\n]/.test(parser.text.slice(parser.at, next.start)))
      throw new ExpressionError('E_SYNTAX', 'the next name must begin a new line', next);
  }
}

// Problems of a text that is not YAML or not plain YAML. They name the place of the mistake, not the place where the parser noticed it.
import { isCollection, isScalar, visit, type Document as YamlDocument, type Node } from 'yaml';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** A problem at an offset of the text. */
export interface TextProblem {
  readonly code: string;
  readonly message: string;
  readonly remedy?: string;
  readonly offset: number;
  readonly length: number;
}

interface ParserError {
  readonly code: string;
  readonly message: string;
  readonly pos: readonly [number, number];
}

const friendly: Readonly<Record<string, { readonly message: string; readonly remedy: string }>> = {
  TAB_AS_INDENT: { message: 'a tab is used for indentation', remedy: 'indent with spaces' },
  DUPLICATE_KEY: { message: 'this key is written twice in one map', remedy: 'keep one of the two' },
  BAD_INDENT: { message: 'the indentation does not fit the lines above', remedy: 'line it up with its neighbours' },
  MULTILINE_IMPLICIT_KEY: { message: 'a key must fit on one line', remedy: 'is a colon or a quote missing?' },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'the value on the line of this key holds another key',
    remedy: 'put the whole value into quotes, or write the inner key on a line of its own',
  },
  BLOCK_IN_FLOW: {
    message: 'a comma is missing between these entries',
    remedy: 'write it, or put the value into quotes',
  },
  BAD_SCALAR_START: {
    message: 'a text without quotes cannot begin with this character',
    remedy: 'put the whole value into quotes',
  },
  BAD_DQ_ESCAPE: {
    message: 'there is no such escape in double quotes',
    remedy: 'write the backslash twice, or put the value into single quotes',
  },
  NON_STRING_KEY: { message: 'a key must be plain text', remedy: 'put the key into quotes' },
};

export const quoteTheKey = friendly['NON_STRING_KEY']?.remedy;

/** Conflict markers that git leaves in a file. One problem for the whole text; undefined when there are none. */
export function conflictMarkers(text: string): TextProblem | undefined {
  if (!text.includes('<<<<<<< ') || !text.includes('>>>>>>> ')) return undefined;
  const markers = [...text.matchAll(/^(?:<{7} .*|\|{7} .*|={7}|>{7} .*)\r?$/gm)];
  const [first] = markers;
  const isConflict = first?.[0].startsWith('<') === true && markers.some(([line]) => line.startsWith('>'));
  if (first === undefined || !isConflict) return undefined;
  const lines = markers.map(({ index }) => lineNumber(text, index));
  return {
    code: 'merge-conflict',
    message: `git left an unresolved merge conflict here: its markers are in the lines ${lines.join(', ')}`,
    remedy: 'keep one side of each conflict, and delete the marker lines',
    offset: first.index,
    length: first[0].trimEnd().length,
  };
}

const lineNumber = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Finds without the parser the place where the text exceeds `depth`. */
export function tooDeep(text: string, depth: number): TextProblem {
  const offset = offsetBeyond(text, depth);
  return {
    code: 'too-deep',
    message: `values are nested more than ${depth} deep`,
    remedy: 'is a bracket or a brace written too often, or a closing one missing?',
    offset,
    length: 1,
  };
}

/** Counts brackets and indentation together and ignores quotes, which is enough for a text that is refused anyway. */
function offsetBeyond(text: string, depth: number): number {
  const indents: number[] = [];
  let brackets = 0;
  let offset = 0;
  for (const line of text.split('\n')) {
    const indent = line.search(/[^ ]/);
    if (indent >= 0 && brackets === 0) {
      while ((indents.at(-1) ?? -1) >= indent) indents.pop();
      indents.push(indent);
    }
    for (let index = Math.max(0, indent); index < line.length; index += 1) {
      if (line[index] === '[' || line[index] === '{') brackets += 1;
      else if (line[index] === ']' || line[index] === '}') brackets = Math.max(0, brackets - 1);
      if (brackets + indents.length > depth + 1) return offset + index;
    }
    offset += line.length + 1;
  }
  return 0;
}

export const isStackOverflow = ({ code, message }: { readonly code: string; readonly message: string }): boolean =>
  code === 'RESOURCE_EXHAUSTION' || message.includes('call stack');

/** An error of the parser as a problem in plain words. */
export const parserProblem = (error: ParserError, document: YamlDocument.Parsed, text: string): TextProblem =>
  openQuote(error, document) ??
  openBracket(error, document, text) ??
  deeperLine(error, text) ??
  afterValue(error) ??
  keyWithoutColon(error) ??
  textProblem(error, text);

/** The parser reports the line above, whose value the deeper line would continue. */
function deeperLine({ code, pos }: ParserError, text: string): TextProblem | undefined {
  if (code !== 'MULTILINE_IMPLICIT_KEY' && code !== 'BLOCK_AS_IMPLICIT_KEY') return undefined;
  const next = text.indexOf('\n', pos[0]) + 1;
  const indent = (line: string): number => line.search(/[^ ]/);
  const deep = next === 0 ? -1 : indent(lineAt(text, next));
  if (deep <= indent(lineAt(text, pos[0]))) return undefined;
  return {
    code: 'malformed-yaml',
    message: 'this line is indented further than the one above, as if it continued its value',
    remedy: 'line it up with its neighbours',
    offset: next + deep,
    length: 1,
  };
}

const malformedAt = ([start, end]: ParserError['pos'], message: string, remedy: string): TextProblem => ({
  code: 'malformed-yaml',
  message,
  remedy,
  offset: start,
  length: Math.max(1, end - start),
});

function afterValue({ code, message, pos }: ParserError): TextProblem | undefined {
  if (code !== 'UNEXPECTED_TOKEN' || !message.startsWith('Unexpected scalar at node end')) return undefined;
  return malformedAt(
    pos,
    'text follows the end of this value',
    'put all of it into quotes of the other kind, or take the rest out',
  );
}

function keyWithoutColon({ code, message, pos }: ParserError): TextProblem | undefined {
  if (code !== 'MISSING_CHAR' || !message.startsWith('Implicit map keys')) return undefined;
  return malformedAt(
    pos,
    'this line has no `key: value`',
    'write the colon and a space; indent text that belongs to the key above it further than that key',
  );
}

/** The parser reports an unclosed quote at the end of the text; the problem names its beginning. */
function openQuote(error: ParserError, document: YamlDocument.Parsed): TextProblem | undefined {
  if (error.code !== 'MISSING_CHAR' || !/quote/.test(error.message)) return undefined;
  const offset = startOf(document, error.pos[0], isScalar);
  if (offset === undefined) return undefined;
  return { code: 'malformed-yaml', message: 'this quote is never closed', remedy: 'close it', offset, length: 1 };
}

/** The parser reports the first line after an unclosed bracket; the problem names the bracket. */
function openBracket(error: ParserError, document: YamlDocument.Parsed, text: string): TextProblem | undefined {
  const kind = /^Flow (map|sequence) in block collection/.exec(error.message)?.[1];
  if (kind === undefined) return undefined;
  const [opening, closing, what] = kind === 'map' ? ['{', '}', 'brace'] : ['[', ']', 'bracket'];
  const offset = startOf(document, error.pos[0], (node) => isCollection(node) && node.flow === true);
  if (offset === undefined || text[offset] !== opening) return undefined;
  const isClosed = text[error.pos[0]] === closing;
  return {
    code: 'malformed-yaml',
    message: isClosed
      ? `the ${closing} that closes this ${what} is too far to the left`
      : `this ${what} ${opening} is never closed`,
    remedy: isClosed ? `indent the ${closing} more than the line that opens it` : `write ${closing} where it ends`,
    offset,
    length: 1,
  };
}

/** The beginning of the innermost matching node that contains the error or ends at it. */
function startOf(document: YamlDocument.Parsed, at: number, isSort: (node: Node) => boolean): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Node(_key, node) {
      const { range } = node;
      if (isSort(node) && range !== undefined && range !== null && range[0] < at && at <= range[2]) offset = range[0];
    },
  });
  return offset;
}

function textProblem(error: ParserError, text: string): TextProblem {
  const known = friendly[error.code];
  const [offset, end] = error.pos;
  const isTab = error.code !== 'TAB_AS_INDENT' && /^[ ]*\t/.test(lineAt(text, offset));
  const surplus = error.code === 'UNEXPECTED_TOKEN' ? /"([\]}])"/.exec(error.message)?.[1] : undefined;
  if (surplus !== undefined) {
    const message = `this ${surplus} closes nothing`;
    return { code: 'malformed-yaml', message, remedy: 'take it out, or write what it closes', offset, length: 1 };
  }
  const { message, remedy } = isTab ? (friendly['TAB_AS_INDENT'] ?? {}) : (known ?? {});
  return {
    code: error.code === 'DUPLICATE_KEY' ? 'duplicate-key' : 'malformed-yaml',
    message: message ?? `this is not valid YAML: ${error.message.split('\n')[0] ?? ''}`,
    ...withoutUndefined({ remedy }),
    offset,
    length: Math.max(1, end - offset, isTab ? 1 : (/^[\w.$-]+/.exec(text.slice(offset, offset + 80))?.[0].length ?? 1)),
  };
}

export const duplicateKey = (offset: number, text: string): TextProblem =>
  textProblem({ code: 'DUPLICATE_KEY', message: '', pos: [offset, offset + 1] }, text);

const lineAt = (text: string, offset: number): string => {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? undefined : end);
};

const plainTags = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** Why the tag of a value is refused; undefined: the value has none, or one of plain YAML. */
export function foreignTag(tag: string | undefined): { readonly message: string; readonly remedy: string } | undefined {
  if (tag === undefined || plainTags.has(tag)) return undefined;
  const shown = tag.replace('tag:yaml.org,2002:', '!!');
  return {
    message: `the YAML tag ${shown} has no meaning here: the value would be read as plain text`,
    remedy: /vault|secret|sops|encrypt/i.test(shown)
      ? 'take a secret from elsewhere: {from_env: NAME}, {from_file: PATH}, {from_sops: FILE#KEY} or {from_vault: MOUNT/PATH#FIELD}'
      : 'take the tag out, and write the value itself',
  };
}

// Parses a whole template: pieces -> statements, with matched blocks.
import { cutPieces, type Piece } from './tokenize.ts';
import { TokenReader } from './parse-expression.ts';
import { TemplateError, type Expression, type Statement } from './syntax.ts';

const maxNesting = 50;

/** Throws TemplateError with the line. */
export function parseTemplate(source: string): readonly Statement[] {
  const parser = new Parser(cutPieces(source));
  const { statements, ender } = parser.block([]);
  if (ender !== undefined) throw new TemplateError(ender.line, `{% ${ender.word} %} has no beginning`);
  return statements;
}

interface Ender {
  readonly word: string;
  readonly reader: TokenReader;
  readonly line: number;
}

class Parser {
  readonly #pieces: readonly Piece[];
  #at = 0;
  #nesting = 0;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  /** Up to one of the words that end this block, which is consumed; undefined: up to the end of the template. */
  block(enders: readonly string[]): { readonly statements: readonly Statement[]; readonly ender: Ender | undefined } {
    const statements: Statement[] = [];
    for (let piece = this.#pieces[this.#at]; piece !== undefined; piece = this.#pieces[this.#at]) {
      this.#at += 1;
      if (piece.kind === 'text') {
        statements.push(piece);
        continue;
      }
      const reader = new TokenReader(piece.tokens);
      if (piece.kind === 'output') {
        statements.push({ kind: 'output', value: whole(reader) });
        continue;
      }
      const word = reader.name();
      if (enders.includes(word)) return { statements, ender: { word, reader, line: piece.line } };
      statements.push(...this.#statement(word, reader, piece.line));
    }
    return { statements, ender: undefined };
  }

  #statement(word: string, reader: TokenReader, line: number): readonly Statement[] {
    this.#nesting += 1;
    if (this.#nesting > maxNesting) throw new TemplateError(line, 'blocks are nested too deeply');
    try {
      switch (word) {
        case 'if':
          return [this.#if(reader, line)];
        case 'for':
          return [this.#for(reader, line)];
        case 'set':
          return [readSet(reader)];
        // Nothing is ever escaped.
        case 'autoescape':
          return this.#until(['endautoescape'], word, line).statements;
        default:
          throw new TemplateError(line, `there is no statement {% ${word} %} here`);
      }
    } finally {
      this.#nesting -= 1;
    }
  }

  #if(reader: TokenReader, line: number): Statement {
    const branches: { condition: Expression; body: readonly Statement[] }[] = [];
    let condition = whole(reader);
    for (;;) {
      const { statements, ender } = this.#until(['elif', 'elseif', 'else', 'endif'], 'if', line);
      branches.push({ condition, body: statements });
      if (ender.word === 'endif') return { kind: 'if', branches, otherwise: [] };
      if (ender.word === 'else') {
        return { kind: 'if', branches, otherwise: this.#until(['endif'], 'if', line).statements };
      }
      condition = whole(ender.reader);
    }
  }

  #for(reader: TokenReader, line: number): Statement {
    const names = [reader.name()];
    if (reader.accept(',')) names.push(reader.name());
    reader.expect('in');
    const over = whole(reader);
    const { statements: body, ender } = this.#until(['else', 'empty', 'endfor'], 'for', line);
    const otherwise = ender.word === 'endfor' ? [] : this.#until(['endfor'], 'for', line).statements;
    return { kind: 'for', line, names, over, body, otherwise };
  }

  #until(enders: readonly string[], word: string, line: number): { statements: readonly Statement[]; ender: Ender } {
    const { statements, ender } = this.block(enders);
    if (ender === undefined) throw new TemplateError(line, `{% ${word} %} has no {% end${word} %}`);
    return { statements, ender };
  }
}

function whole(reader: TokenReader): Expression {
  const value = reader.expression();
  reader.end();
  return value;
}

function readSet(reader: TokenReader): Statement {
  const name = reader.name();
  reader.expect('=');
  return { kind: 'set', name, value: whole(reader) };
}

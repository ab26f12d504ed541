// Checks that YAML text is small enough to parse: its depth and number of values, counted on its tokens. Parsing a megabyte of brackets
// takes ten seconds, counting them a fraction of one.
import { CST, Lexer } from 'yaml';

export interface YamlShape {
  /** Levels of lists and maps. */
  readonly maxDepth: number;
  readonly maxValues: number;
}

type TokenType = ReturnType<typeof CST.tokenType>;

const opening = new Set<TokenType>(['flow-map-start', 'flow-seq-start']);
const closing = new Set<TokenType>(['flow-map-end', 'flow-seq-end']);
const beginning = new Set<TokenType>(['seq-item-ind', 'explicit-key-ind', 'map-value-ind']);
const scalar = new Set<TokenType>(['scalar', 'single-quoted-scalar', 'double-quoted-scalar']);

/** The broken rule as the end of a sentence ("is nested ..."), undefined if the text seems within the limits: it does not count block
 *  levels of several lines, nor what aliases repeat. Does not check whether it is YAML. */
export function yamlShapeProblem(text: string, { maxDepth, maxValues }: YamlShape): string | undefined {
  let brackets = 0;
  // Lists and maps that begin on one line, as in `- - - a`.
  let begunOnLine = 0;
  let scalars = 0;
  let isScalarText = false;
  for (const token of new Lexer().lex(text)) {
    // After the mark of a scalar comes its text, whatever it looks like.
    const type: TokenType = isScalarText ? null : CST.tokenType(token);
    isScalarText = type === 'scalar';
    if (opening.has(type)) brackets += 1;
    else if (closing.has(type)) brackets -= 1;
    else if (beginning.has(type)) begunOnLine += brackets === 0 ? 1 : 0;
    else if (type === 'newline') begunOnLine = 0;
    else if (scalar.has(type)) scalars += 1;
    if (Math.max(brackets, begunOnLine) > maxDepth) return `is nested deeper than ${maxDepth} levels`;
    // Each scalar is a value or the name of one.
    if (scalars > 2 * maxValues) return `has more than ${maxValues} values`;
  }
  return undefined;
}

// Reads the tokens of a text one by one, and reports which token is expected.
import { ExpressionError, type Span } from './syntax.ts';
import { tokenAt, type Token } from './tokens.ts';

export class TokenReader {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  expectEnd(): void {
    const token = this.next();
    if (token.type !== 'end') throw this.error('nothing may follow the expression', token);
  }

  expectName(): string {
    const token = this.next();
    if (token.type !== 'name') throw this.error('a name is expected here', token);
    return token.text;
  }

  expectSign(text: string): Token {
    const token = this.next();
    if (token.type === 'sign' && token.text === text) return token;
    throw this.error(`${text} is expected here`, token);
  }

  takeSign(text: string): Token | undefined {
    const token = this.peek();
    if (token.type !== 'sign' || token.text !== text) return undefined;
    this.at = token.end;
    return token;
  }

  peek(): Token {
    return tokenAt(this.text, this.at);
  }

  next(): Token {
    const token = this.peek();
    this.at = token.end;
    return token;
  }

  span(start: number, length: number): Span {
    return { start, end: Math.min(start + length, this.text.length) };
  }

  error(message: string, { start, end }: Span): ExpressionError {
    return new ExpressionError('E_SYNTAX', message, { start, end });
  }
}

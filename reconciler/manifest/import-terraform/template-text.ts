// Converts a JSON string with a Terraform template into quoted HCL text. Pure.
import { parseTemplate } from '../terraform-json/expression/parse.ts';

/** A lone interpolation becomes its expression. Throws ExpressionError. */
export function templateText(text: string): string {
  const tree = parseTemplate(text);
  if (
    tree.type === 'template' &&
    tree.isText !== true &&
    tree.parts.length === 1 &&
    typeof tree.parts[0] === 'object'
  ) {
    const { start, end } = tree.parts[0];
    if (text.startsWith('${') && text.slice(end).trim() === '}') return text.slice(start, end);
  }
  let result = '"';
  for (let at = 0; at < text.length;) {
    const opens = /^[$%]\{/.test(text.slice(at, at + 2)) && !escaped(text, at);
    const end = opens ? closing(text, at + 2) : at + 1;
    result += opens ? text.slice(at, end) : escapedText(text.slice(at, end));
    at = end;
  }
  return `${result}"`;
}

/** `$${` is a dollar and a brace. */
const escaped = (text: string, at: number): boolean => at > 0 && text[at - 1] === text[at] && !escaped(text, at - 1);

const escapedText = (char: string): string =>
  JSON.stringify(char).slice(1, -1).replace('\\b', '\\u0008').replace('\\f', '\\u000c');

/** The offset after the brace that ends an interpolation, which may contain texts with braces. */
function closing(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = closingQuote(text, at + 1);
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return text.length;
}

function closingQuote(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '\\') at++;
    else if (char === '"') return at;
    else if ((char === '$' || char === '%') && text[at + 1] === '{' && !escaped(text, at))
      at = closing(text, at + 2) - 1;
  }
  return text.length;
}

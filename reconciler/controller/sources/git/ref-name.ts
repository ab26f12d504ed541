// Checks names of branches and tags: the rules of git check-ref-format, no leading dash, and no character that
// reorders text beside it. Pure.
import { isSteering } from '../../../core/text/terminal-text.ts';
import { sourceErrors } from '../source.ts';

// eslint-disable-next-line no-control-regex
const forbidden = /[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|\.lock(\/|$)|(^|\/)\./;
const maxLength = 250;

/** Undefined when the name may be used. */
export function problemOfRefName(name: string): string | undefined {
  if (name === '' || name === '@') return 'it is no name';
  if (name.startsWith('-')) return 'it begins with -';
  if (name.length > maxLength) return `it is longer than ${maxLength} characters`;
  if (forbidden.test(name) || isSteering(name))
    return 'it holds a character or a sequence that is not accepted in names of references';
  return undefined;
}

export function checkedRefName(what: 'branch' | 'tag' | 'reference', name: string): string {
  const problem = problemOfRefName(name);
  if (problem !== undefined) throw sourceErrors.refused(`the ${what} ${JSON.stringify(name)} is not used: ${problem}`);
  return name;
}

export const isObjectId = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

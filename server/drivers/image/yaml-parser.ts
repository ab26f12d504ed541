// The YAML parser behind a separate module, loaded only when an image is read.
import { isScalar, parseDocument, stringify, visit } from 'yaml';
import { errorText } from '../../lib/shared/reason.ts';

/** Throws an error whose message says what is wrong and where, as "it is ...". Takes time linear in the length of the text: the parser's
 *  own check of keys compares each with all before it. */
export function parseYaml(text: string): unknown {
  try {
    return parsed(text);
  } catch (error) {
    const why = errorText(error);
    const problem = /call stack/.test(why) ? 'it is nested too deep' : `it is not YAML: ${why.split('\n')[0] ?? ''}`;
    throw new Error(problem, { cause: error });
  }
}

function parsed(text: string): unknown {
  const document = parseDocument(text, { uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  visit(document, {
    Map(_key, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) throw new Error(`the key ${String(name).slice(0, 80)} is there twice in one map`);
        seen.add(name);
      }
    },
  });
  return document.toJS() as unknown;
}

export const renderYaml = (value: unknown): string => stringify(value);

/** Parsing longer texts would block the event loop. */
const [smallLength, smallMarks] = [8192, 1000];
const marks = /[\n{}[\],:?&*!|>'"#]|- /g;

/** Parsing it takes a few milliseconds at most. */
export const isSmallYaml = (text: string): boolean =>
  text.length <= smallLength && (text.match(marks)?.length ?? 0) <= smallMarks;

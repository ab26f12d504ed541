// YAML as Terraform reads it: words such as `yes` are bools, dates become timestamps, of equal keys the last wins.
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Alias,
  type Document,
  type Node,
  type YAMLMap,
} from 'yaml';
import { ConversionError, isMap as isObject, mapFrom, numberText, tidy, type Value, type ValueMap } from '../values.ts';

/** Throws ConversionError. */
export function readYaml(source: string): Value {
  const document = parseDocument(source, { schema: 'failsafe', uniqueKeys: false });
  const [error] = document.errors;
  if (error !== undefined) throw new ConversionError(`it is no YAML: ${error.message.split('\n')[0] ?? ''}`);
  if (document.contents === null) throw new ConversionError('it holds no value');
  return valueOf(document.contents, document, 0);
}

const maxDepth = 200;

function valueOf(node: unknown, document: Document.Parsed, depth: number): Value {
  if (depth > maxDepth) throw new ConversionError('it is nested too deeply');
  if (isAlias(node)) return valueOf(resolved(node, document), document, depth + 1);
  const tag = (node as Node | null | undefined)?.tag;
  if (tag !== undefined && !known.has(tag)) throw new ConversionError(`the tag ${tag} is not evaluated`);
  if (isSeq(node)) return node.items.map((item) => valueOf(item, document, depth + 1));
  if (isMap(node)) return mapOf(node, document, depth);
  if (!isScalar(node) || node.value === null) return null;
  const text = typeof node.value === 'string' ? node.value : JSON.stringify(node.value);
  return node.type === 'PLAIN' && tag !== 'tag:yaml.org,2002:str' ? plain(text) : text;
}

/** Tags of the failsafe schema, and of texts that are tagged as texts. */
const known: ReadonlySet<string> = new Set(['map', 'seq', 'str'].map((name) => `tag:yaml.org,2002:${name}`));

function resolved(alias: Alias, document: Document.Parsed): Node {
  const node = alias.resolve(document);
  if (node === undefined) throw new ConversionError(`there is no anchor ${alias.source}`);
  return node;
}

function mapOf(node: YAMLMap, document: Document.Parsed, depth: number): ValueMap {
  const merged: (readonly [string, Value])[] = [];
  const own: (readonly [string, Value])[] = [];
  for (const { key, value } of node.items) {
    if (isScalar(key) && key.type === 'PLAIN' && key.value === '<<') {
      const from = valueOf(value, document, depth + 1);
      if (!isObject(from)) throw new ConversionError('only a map can be merged into a map');
      merged.push(...Object.entries(from));
    } else own.push([keyOf(valueOf(key, document, depth + 1)), valueOf(value, document, depth + 1)]);
  }
  return mapFrom([...merged, ...own]);
}

function keyOf(key: Value): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'number') return numberText(key);
  if (typeof key === 'boolean') return String(key);
  throw new ConversionError('a key of a map must be a text');
}

const spellings = (words: string): readonly string[] =>
  words.split(' ').flatMap((word) => [word, word[0]?.toUpperCase() + word.slice(1), word.toUpperCase()]);
const yes = new Set(spellings('y yes true on'));
const no = new Set(spellings('n no false off'));
const nothing = new Set(['', '~', ...spellings('null')]);

function plain(text: string): Value {
  if (nothing.has(text)) return null;
  if (yes.has(text) || no.has(text)) return yes.has(text);
  if (/^0x[0-9a-fA-F]+$|^0o[0-7]+$/.test(text)) return tidy(Number(text));
  if (/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(text)) return tidy(Number(text) + 0);
  if (/^[-+]?\.inf$|^\.nan$/i.test(text)) throw new ConversionError(`${text} is no number that can be kept`);
  return timestamp(text) ?? text;
}

const date =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** Reads a date or a time, without fractions of a second. */
function timestamp(text: string): string | undefined {
  const match = date.exec(text);
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', zone = 'Z'] = match;
  const isBlank = text.includes(' ');
  // A time after a blank has no zone, one after a T must have one.
  if (match[4] !== undefined && isBlank !== (match[7] === undefined)) return undefined;
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const isThere = Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= days;
  if (!isThere || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const two = (part: string): string => part.padStart(2, '0');
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${zone === '+00:00' ? 'Z' : zone}`;
}

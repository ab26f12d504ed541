// Writes a value as YAML that is safe for a terminal: YAML escapes replace control characters, so that it reads back as the same value.
import {
  Document,
  isMap,
  isScalar,
  stringify,
  visit,
  type CreateNodeOptions,
  type DocumentOptions,
  type ToStringOptions,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isSteering, printable } from '../../core/text/terminal-text.ts';

/** Double quotes over several lines would lose a line of one space: the library (2.9.1) escapes that space, and readers join the lines. */
const exactQuotes = { doubleQuotedMinMultiLineLength: Infinity } as const;

type Options = DocumentOptions & CreateNodeOptions & ToStringOptions;

/** A value as YAML that programs read. */
export const exactYaml = (value: unknown, wanted: Options = {}): string =>
  stringify(value, { ...exactQuotes, ...wanted });

export function yamlText(value: unknown, wanted: Options = {}): string {
  const options = { ...exactQuotes, ...wanted };
  const text = stringify(value, options);
  return isSteering(text) ? quotedText(new Document(value, options), options) : text;
}

/** Scalars with control characters become double-quoted, the only style with escapes. */
function quotedText(document: Document, options: ToStringOptions): string {
  quoteSteering(document);
  return printable(document.toString(options));
}

export function quotedManifestText(document: Document): string {
  quoteSteering(document);
  return printable(manifestText(document));
}

function quoteSteering(document: Document): void {
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === 'string' && isSteering(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
}

/** The text of a manifest as `gantry fmt` writes it: `{ type: disk }`, `[web]`, and lines of any length. Changes the document. */
export function manifestText(document: Document): string {
  visit(document, {
    Collection(_key, node) {
      padOnlyMaps(node);
    },
  });
  return document.toString({ ...exactQuotes, lineWidth: 0, indent: 2, flowCollectionPadding: true, indentSeq: true });
}

/** The library has one setting for the spaces inside `{ }` and `[ ]`. */
function padOnlyMaps(node: YAMLMap | YAMLSeq): void {
  const write = node.toString.bind(node);
  const flowCollectionPadding = isMap(node) ? ' ' : '';
  node.toString = (context, ...rest) =>
    write(context === undefined ? context : { ...context, flowCollectionPadding }, ...rest);
}

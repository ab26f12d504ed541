// Writes a value as YAML that is safe for a terminal: YAML escapes replace control characters, so that it reads back as the same value.
import { Document, isScalar, stringify, visit, type CreateNodeOptions, type ToStringOptions } from 'yaml';
import { isSteering, printable } from '../../core/text/terminal-text.ts';

type Options = CreateNodeOptions & ToStringOptions;

export function yamlText(value: unknown, options: Options = {}): string {
  const text = stringify(value, options);
  return isSteering(text) ? quotedText(new Document(value, options), options) : text;
}

/** Changes the document: scalars with control characters become double-quoted, the only style with escapes. */
export function quotedText(document: Document, options: ToStringOptions = {}): string {
  visit(document, {
    Scalar(_key, node) {
      if (isScalar(node) && typeof node.value === 'string' && isSteering(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return printable(document.toString(options));
}

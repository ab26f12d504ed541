// Collects the variables of a load: `kind: vars` documents of all files, which the command line overrides.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { varsSchema } from '../../../server/api/documents/manifest-schema.ts';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap } from '../../core/documents/json-values.ts';
import { wrong } from '../text/finding.ts';
import { placedDiagnostic, type PlacedText } from '../text/locate-diagnostics.ts';
import type { RawDocument } from '../text/parse-yaml.ts';
import type { Variables } from './variables.ts';

interface Part {
  readonly source: PlacedText;
  readonly raw: RawDocument;
}

export const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function readVariables(
  parts: readonly Part[],
  given: Readonly<Record<string, string>>,
  diagnostics: Diagnostic[],
  /** Declared variables that may have no value. */
  names: readonly string[] = [],
): Variables {
  const variables = new Map<string, string | undefined>(names.map((name) => [name, undefined]));
  const declared = new Map<string, Part>();
  // Overlays come last.
  const isPatch = ({ raw }: Part): boolean => isMap(raw.value) && raw.value['patch'] === true;
  for (const part of [...parts.filter((one) => !isPatch(one)), ...parts.filter(isPatch)]) {
    const value = part.raw.value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    const document = value as JsonObject;
    if (document['kind'] !== 'vars') continue;
    const problems = validateBody(varsSchema, value, { unknownKeys: 'report' });
    for (const { path, message } of problems) {
      diagnostics.push(placedDiagnostic(wrong('bad-variables', path, `${path} ${message}`), part.source, part.raw));
    }
    if (problems.length > 0) continue;
    for (const [name, item] of Object.entries(document['vars'] as JsonObject)) {
      if (document['patch'] === true) redeclare(name, item, part, { variables, declared, diagnostics });
      else declare(name, item, part, { variables, declared, diagnostics });
    }
  }
  for (const [name, value] of Object.entries(given)) variables.set(name, value);
  return variables;
}

interface VariableTable {
  readonly variables: Map<string, string | undefined>;
  readonly declared: Map<string, Part>;
  readonly diagnostics: Diagnostic[];
}

/** A document with `patch: true` gives declared variables another value. */
function redeclare(name: string, value: Json, part: Part, { variables, declared, diagnostics }: VariableTable): void {
  if (declared.has(name)) {
    variables.set(name, value === null ? undefined : asText(value));
    return;
  }
  const message = `there is no variable ${name} to give another value${hint(name, declared.keys())}`;
  const finding = wrong('bad-overlay', `vars.${name}`, message, 'correct the name, or leave patch out to declare it');
  diagnostics.push(placedDiagnostic(finding, part.source, part.raw, 'key'));
}

function declare(name: string, value: Json, part: Part, { variables, declared, diagnostics }: VariableTable): void {
  const path = `vars.${name}`;
  if (!variableName.test(name)) {
    const message = `the variable name ${name} must be letters, digits and underscores, not beginning with a digit`;
    diagnostics.push(placedDiagnostic(wrong('bad-name', path, message), part.source, part.raw, 'key'));
    return;
  }
  const other = declared.get(name);
  if (other !== undefined) {
    const message = `the variable ${name} is declared twice`;
    const place = other.source.placeAt(other.raw.placeOf(path, 'key').offset);
    const found = placedDiagnostic(
      wrong('duplicate', path, message, 'keep one of the two'),
      part.source,
      part.raw,
      'key',
    );
    diagnostics.push({ ...found, related: [{ message: 'the first is here', ...place }] });
    return;
  }
  declared.set(name, part);
  variables.set(name, value === null ? undefined : asText(value));
}

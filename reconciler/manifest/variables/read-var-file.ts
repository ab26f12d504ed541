// Reads a variable file of --var-file or an environment: `NAME: value` lines in YAML or JSON.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { asText, isMap } from '../../core/documents/json-values.ts';
import { wrong } from '../text/finding.ts';
import { PlacedText, placedDiagnostic } from '../text/locate-diagnostics.ts';
import { parseYaml } from '../text/parse-yaml.ts';
import { variableName } from './read-variables.ts';
import { readSources } from '../text/sources.ts';

export interface VarFile {
  readonly vars: Readonly<Record<string, string>>;
  readonly diagnostics: readonly Diagnostic[];
}

export async function readVarFile(file: string, signal?: AbortSignal): Promise<VarFile> {
  const { texts, diagnostics: unreadable } = await readSources({ paths: [file] }, signal);
  const diagnostics: Diagnostic[] = [...unreadable];
  const vars: Record<string, string> = {};
  for (const text of texts) {
    const source = new PlacedText(text);
    const parsed = parseYaml(text.text);
    diagnostics.push(...parsed.problems.map((problem) => source.diagnosticOf(problem)));
    for (const raw of parsed.documents) {
      const report = (path: string, message: string, remedy?: string): void =>
        void diagnostics.push(placedDiagnostic(wrong('bad-variables', path, message, remedy), source, raw));
      if (!isMap(raw.value)) report('', 'a file of variables must be a map', 'write NAME: value, one a line');
      else if ('kind' in raw.value)
        report('kind', 'this is a manifest and no file of variables', 'read it with -f or -k, or write NAME: value');
      else
        for (const [name, value] of Object.entries(raw.value)) {
          if (!variableName.test(name)) report(name, `${name} is no name of a variable: letters, digits and _`);
          else if (typeof value === 'object')
            report(name, `the variable ${name} must be a text, a number or a boolean`);
          else vars[name] = asText(value);
        }
    }
  }
  return { vars, diagnostics };
}

// The values of a configuration's variables in rising precedence: TF_VAR_NAME, files of the folder, files of --var-file, the command
// line.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Json } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import type { VariableSetting } from '../terraform-json/evaluation/variables.ts';
import type { TerraformInput } from './terraform-input.ts';
import { automaticFiles, readTfvars } from './tfvars.ts';

export interface Values {
  readonly given: ReadonlyMap<string, VariableSetting>;
  readonly notices: readonly string[];
  readonly files: readonly string[];
}

export const declaredIn = (value: Json): readonly string[] => {
  const variables = isMap(value) ? value['variable'] : undefined;
  const blocks = Array.isArray(variables) ? (variables as readonly Json[]) : [variables ?? null];
  return blocks.flatMap((block) => (isMap(block) ? Object.keys(block) : []));
};

type Texts = Readonly<Record<string, string>>;

/** `hasOthers`: the load has other manifests, which may use the other names. */
export async function givenValues(
  folder: string,
  declared: ReadonlySet<string>,
  { vars, env, offered = {}, valueFiles = [], hasOthers }: TerraformInput & { readonly hasOthers: boolean },
  diagnostics: Diagnostic[],
): Promise<Values> {
  const given = new Map<string, VariableSetting>();
  const notices: string[] = [];
  const put = (values: Texts): void => {
    for (const [name, text] of Object.entries(values)) given.set(name, { text });
  };
  const only = (values: Texts): Texts =>
    Object.fromEntries(Object.entries(values).filter(([name]) => declared.has(name)));
  for (const name of declared) {
    const text = env[`TF_VAR_${name}`];
    if (text !== undefined) given.set(name, { text });
  }
  const found = await automaticFiles(folder);
  const read = async (file: string): Promise<void> => {
    for (const [name, json] of (await readTfvars(file, diagnostics)).values) {
      if (declared.has(name)) given.set(name, { json });
      else if (!hasOthers) notices.push(`${file} has a value for ${name}, and there is no such variable`);
    }
  };
  for (const file of found) await read(file);
  put(only(offered));
  for (const file of valueFiles) await read(file);
  put(hasOthers ? only(vars) : vars);
  return { given, notices, files: [...found, ...valueFiles] };
}

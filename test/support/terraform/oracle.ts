// Evaluates expressions with the real Terraform: all of them are outputs of one configuration without providers.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Value } from '../../../reconciler/manifest/terraform-json/expression/values.ts';
import { tempFolder } from '../temp-folder.ts';

const quiet = { CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', TF_CLI_CONFIG_FILE: '/dev/null' };

/** Prints skipped expressions with the reason. */
export function oracleMissing(what: string): string | undefined {
  const { status } = spawnSync('terraform', ['version'], { env: { ...process.env, ...quiet } });
  if (status === 0) return undefined;
  console.log(`skipped: ${what}: terraform is not on the PATH`);
  return 'terraform is not on the PATH';
}

/** The outputs of an apply in a folder, from its state: Terraform needs a second to print them. */
export function outputsOf(dir: string): Readonly<Record<string, { readonly value: unknown }>> {
  const state = JSON.parse(readFileSync(join(dir, 'terraform.tfstate'), 'utf8')) as {
    readonly outputs: Readonly<Record<string, { readonly value: unknown }>>;
  };
  return state.outputs;
}

const refused = '(refused)';
export type Answer = { readonly value: unknown } | undefined;

export class TerraformOracle {
  readonly dir = tempFolder('gantry-oracle-');
  readonly #locals: Readonly<Record<string, Value>>;

  constructor(locals: Readonly<Record<string, Value>>) {
    this.#locals = locals;
  }

  /** The value of each `${expression}`, or undefined where Terraform refuses. One apply for the valid ones, found by bisection. */
  answers(templates: readonly string[]): readonly Answer[] {
    const answers: Answer[] = templates.map(() => undefined);
    // try() turns an error of evaluation into a marker; only errors of syntax and static types are left.
    const outputOf = (index: number): readonly [string, object] => {
      const value = `\${try(${templates[index]?.slice(2, -1) ?? ''}, "${refused}")}`;
      return [`o${index}`, { value }];
    };
    this.#solve(
      templates.map((_, index) => index),
      outputOf,
      (index, value) => {
        if (value !== refused) answers[index] = { value };
      },
    );
    return answers;
  }

  /** The same for whole templates, which try() cannot wrap. */
  texts(templates: readonly string[]): readonly Answer[] {
    const answers: Answer[] = templates.map(() => undefined);
    this.#solve(
      templates.map((_, index) => index),
      (index) => [`o${index}`, { value: templates[index] }],
      (index, value) => (answers[index] = { value }),
    );
    return answers;
  }

  #solve(
    indexes: readonly number[],
    outputOf: (index: number) => readonly [string, object],
    take: (index: number, value: unknown) => void,
  ): void {
    if (indexes.length === 0) return;
    const output = Object.fromEntries(indexes.map(outputOf));
    writeFileSync(join(this.dir, 'main.tf.json'), JSON.stringify({ locals: [this.#locals], output }));
    rmSync(join(this.dir, 'terraform.tfstate'), { force: true });
    const env = { ...process.env, ...quiet };
    const argv = ['apply', '-auto-approve', '-input=false', '-no-color'];
    const run = spawnSync('terraform', argv, { cwd: this.dir, env });
    if (run.status === 0) {
      const outputs = outputsOf(this.dir);
      for (const index of indexes) take(index, outputs[`o${index}`]?.value ?? null);
      return;
    }
    if (indexes.length === 1) return;
    const blamed = new Set(
      [...run.stderr.toString().matchAll(/\bin output\.o(\d+)\b/g)].map((match) => Number(match[1])),
    );
    const rest = indexes.filter((index) => !blamed.has(index));
    if (blamed.size > 0 && rest.length < indexes.length) this.#solve(rest, outputOf, take);
    else {
      const half = Math.ceil(indexes.length / 2);
      this.#solve(indexes.slice(0, half), outputOf, take);
      this.#solve(indexes.slice(half), outputOf, take);
    }
  }
}

// A folder with a configuration, loaded by gantry like the command line does, and applied by the real Terraform: outputs of both.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Diagnostic } from '../../../reconciler/core/documents/diagnostic.ts';
import type { Json } from '../../../reconciler/core/documents/document.ts';
import { parseJson } from '../../../reconciler/manifest/text/parse-json.ts';
import { readSources } from '../../../reconciler/manifest/text/sources.ts';
import type { TerraformLoad } from '../../../reconciler/manifest/terraform-json/load-terraform.ts';
import { readModuleFiles } from '../../../reconciler/manifest/terraform/module-files.ts';
import { loadWithData, type LiveData } from '../../../reconciler/manifest/terraform/load-with-data.ts';
import { declaredIn, givenValues } from '../../../reconciler/manifest/terraform/variable-values.ts';
import { tempFolder } from '../temp-folder.ts';
import { outputsOf } from './oracle.ts';

const quiet = { CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', TF_CLI_CONFIG_FILE: '/dev/null' };

export interface FolderLoad extends TerraformLoad {
  readonly diagnostics: readonly Diagnostic[];
  /** Notices about values and data sources. */
  readonly said: readonly string[];
}

interface Asked {
  readonly env?: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
  readonly live?: LiveData;
}

export class TerraformFolder {
  readonly dir = tempFolder('gantry-folder-');

  /** Objects are written as JSON. */
  write(files: Readonly<Record<string, Json>>): void {
    for (const name of readdirSync(this.dir)) rmSync(join(this.dir, name), { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.dir, name)), { recursive: true });
      writeFileSync(join(this.dir, name), typeof content === 'string' ? content : JSON.stringify(content, null, 1));
    }
  }

  async ours({ env = {}, vars = {}, live }: Asked = {}): Promise<FolderLoad> {
    const { texts } = await readSources({ paths: [this.dir] });
    const files = texts.map(({ file, folder, text }) => {
      const [document] = parseJson(text).documents;
      return { file, folder, value: document?.value ?? null };
    });
    const { modules, diagnostics: unread } = await readModuleFiles(files, this.dir);
    const diagnostics = [...unread];
    const declared = new Set(files.flatMap(({ value }) => declaredIn(value)));
    const values = await givenValues(this.dir, declared, { vars, env, hasOthers: false }, diagnostics);
    const configuration = { files, given: values.given, modules };
    const { loaded, unread: open } = await loadWithData(configuration, live === undefined ? {} : { live });
    return { ...loaded, diagnostics, said: [...values.notices, ...open] };
  }

  /** Undefined: Terraform refuses; `text` is its message. */
  theirs({ env = {}, vars = {} }: Asked = {}): {
    readonly outputs?: Readonly<Record<string, unknown>>;
    readonly text: string;
  } {
    const options = { cwd: this.dir, env: { ...process.env, ...quiet, ...env }, encoding: 'utf8' } as const;
    for (const name of ['terraform.tfstate', '.terraform'])
      rmSync(join(this.dir, name), { recursive: true, force: true });
    // Without a module Terraform needs no `init` here.
    const hasModules = readFileSync(join(this.dir, 'main.tf.json'), 'utf8').includes('"module"');
    const init = hasModules ? spawnSync('terraform', ['init', '-input=false', '-no-color'], options) : undefined;
    if (init !== undefined && init.status !== 0) return { text: init.stdout + init.stderr };
    const given = Object.entries(vars).map(([name, value]) => `-var=${name}=${value}`);
    const argv = ['apply', '-auto-approve', '-input=false', '-no-color', ...given];
    const run = spawnSync('terraform', argv, options);
    const text = run.stdout + run.stderr;
    if (run.status !== 0) return { text };
    const entries = Object.entries(outputsOf(this.dir));
    return { outputs: Object.fromEntries(entries.map(([name, { value }]) => [name, value])), text };
  }
}

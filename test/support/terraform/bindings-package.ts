// The package as in the node_modules of an app: compiled bindings and examples with package.json, and the CDKs next to it.
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Flavour } from '../../../provider/bindings/generate.ts';
import { repository, runProcess, type Ran } from '../cli/programs.ts';
import { tempFolder } from '../temp-folder.ts';

export type { Flavour };

export interface BindingsPackage {
  /** A directory for apps: the packages that they import are in its node_modules. */
  readonly root: string;
  /** Runs the example in a new directory of this name; returns the directory of its output. */
  synthExample(flavour: Flavour, name: string, env: Readonly<Record<string, string>>): Promise<string>;
  /** Compiles with our compiler and the arguments `argv`. */
  compile(...argv: string[]): Promise<Ran>;
}

export async function installBindings(): Promise<BindingsPackage> {
  const root = tempFolder('gtb-');
  const compile = (...argv: string[]): Promise<Ran> =>
    runProcess([process.execPath, join(repository, 'node_modules/typescript/bin/tsc'), ...argv], { cwd: root });
  const modules = join(root, 'node_modules');
  const dist = join(modules, 'gantry/dist');
  mkdirSync(dist, { recursive: true });
  for (const name of ['cdktf', 'cdktn', 'constructs', '@types']) {
    symlinkSync(join(repository, 'node_modules', name), join(modules, name));
  }
  cpSync(join(repository, 'package.json'), join(modules, 'gantry/package.json'));
  const project = join(repository, 'provider/bindings/tsconfig.json');
  const built = await compile('-p', project, '--noEmit', 'false', '--outDir', dist);
  expect(built.stdout + built.stderr).toBe('');
  for (const flavour of ['cdktf', 'cdktn']) {
    const target = join(dist, 'provider/bindings', flavour, 'package.json');
    cpSync(join(repository, 'provider/bindings/cdktn/package.json'), target);
  }
  return {
    root,
    compile,
    async synthExample(flavour, name, env) {
      const cwd = join(root, name);
      mkdirSync(cwd);
      const ran = await runProcess([process.execPath, join(dist, 'examples', flavour, 'main.js')], { cwd, env });
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      return join(cwd, 'cdktf.out');
    },
  };
}
